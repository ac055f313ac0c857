// The registry of live streams on this node: opens, finds, ends and counts them. Owns the feeds and the wheel; knows no
// socket. Keeps promise P39.

import { type Budgets, createBudgets } from '../../admission/byte-budgets.ts';
import { callerNames, type LimitedCaller } from '../../admission/caller-name.ts';
import { ShortStreams } from '../../admission/short-streams.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
import { hourMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import {
  type Audience,
  agentsOf,
  type Control,
  environmentIn,
  hostedAgentsOf,
  isHosted,
  tenantOfEvents,
} from '../../shared/frame.ts';
import type { Broadcast } from '../../shared/ports/broadcast.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { EventSource, StreamHandlers } from '../contract/stream.ts';
import type { StreamFrames } from './announcer.ts';
import { Endings, endReason } from './endings.ts';
import { Feeds, type StreamCount } from './feeds.ts';
import { joinByHistory, StreamJoin } from './join.ts';
import { createMissed, resumedMs } from './missed-events.ts';
import { createReannouncer } from './reannouncer.ts';
import { createRecheck } from './recheck.ts';
import type { Session } from './session.ts';
import { createSocketMessages } from './socket-messages.ts';
import { type EndReason, type LiveCaller, type Opening, Stream, type StreamHome } from './stream.ts';
import { StreamEndLog } from './stream-end-log.ts';
import { Wheel } from './wheel.ts';

/** The wheel turns once in 15 s: that is the time between two keepalives. */
const slots = 60;
const slotMs = 250;
const maxAgeMs = hourMs;
const ageJitter = 0.1;
const joinMs = 30_000;
const maxBlockedMs = 30_000;
const keepaliveComment = Buffer.from(': keepalive\n\n');
/** Clients of the hosted API look for this very comment. */
const hostedKeepalive = Buffer.from(':keepalive\n\n');

export interface LiveCounts {
  readonly streams: number;
  readonly agentStreams: number;
  readonly dashboardStreams: number;
  readonly byKind: readonly StreamCount[];
  readonly blocked: number;
  /** Bytes of frames that wait for blocked connections. */
  readonly unsentBytes: number;
  readonly audiences: number;
  /** Streams on the wheel of keepalives and ages. */
  readonly scheduled: number;
  /** Ended streams since the start, by reason. */
  readonly ended: { readonly [R in EndReason]?: number };
}

export interface Live {
  /** To be taken before the caller is identified: a revocation that comes in between then still ends the stream. */
  revocationSequence(): number;
  /** Before a WebSocket of this caller opens. @throws HubError rate_limited after too many messages that were wrong */
  admit(caller: LimitedCaller): void;
  /** @throws HubError rate_limited for an agent that opens streams and loses them at once */
  checkReopening(caller: LimitedCaller): void;
  /** @throws HubError shutting_down, and what the broadcast throws */
  open(opening: Opening): Promise<Session>;
  /**
   * Takes revocations, sign-outs and requests for the roster, of any node; when some may have been missed, asks the
   * store about every caller and announces every agent stream.
   */
  control(message: Control): void;
  /** The audiences that have a stream on this node. */
  audiences(): readonly Audience[];
  /** Agents with an open stream on this node, over all environments. */
  connectedAgents(): number;
  counts(): LiveCounts;
  /** Refuses new streams and ends the open ones, spread evenly over `ms`. Resolves when none is left. */
  drain(ms: number): Promise<void>;
  /** Ends all streams and the timers now. */
  close(): void;
  /** Every open stream, by audience: for tests that compare views. */
  inspect(): { readonly audience: Audience; readonly streams: number; readonly indexed: number }[];
}

export interface LiveOptions {
  readonly broadcast: Pick<Broadcast, 'follow' | 'since'>;
  /** Where decision events come from; default: nobody can follow them. */
  readonly events?: EventSource;
  /** The frames of the APIs whose streams these are. */
  readonly api: StreamFrames;
  readonly handlers: Pick<StreamHandlers, 'message'>;
  /** Shared with the node's requests; default: its own. */
  readonly budgets?: Pick<Budgets, 'received'>;
  readonly clock: Clock;
  readonly log: Log;
  /** True if the store still knows the caller's key or login. @throws if the store cannot be reached */
  readonly isStillValid: (caller: LiveCaller) => Promise<boolean>;
  /** A frame of a deployment was written to an agent's socket. @param acceptedAt epoch milliseconds */
  readonly pushed?: (acceptedAt: number) => void;
  /** After every turn of the wheel: keepalives and ends are on time. */
  readonly turned?: () => void;
}

export function createLive(options: LiveOptions): Live {
  const { broadcast, api, handlers, clock, log, isStillValid, turned } = options;
  const { received } = options.budgets ?? createBudgets();
  const feeds = new Feeds((audience) => api.resync(audience));
  const joins = new StreamJoin({ broadcast, api });
  const reannounce = createReannouncer(clock, log);
  const messages = createSocketMessages({ handlers, received, turns, clock, log });
  const wheel = new Wheel<Stream>(slots);
  const blocked = new Set<Stream>();
  const shortStreams = new ShortStreams();
  const missed = createMissed(options);
  const endedBy: { [R in EndReason]?: number } = {};
  const endings = new Endings();
  const endLog = new StreamEndLog(clock, log);
  let open = 0;
  let draining: { left: number; readonly done: (() => void)[] } | null = null;

  const home: StreamHome = {
    attached(stream) {
      // Its caller was identified before: a revocation since then must not let it through.
      const reason = endings.missedBy(stream.caller, stream.revocationSequence);
      if (reason || draining) {
        stream.end(reason ?? 'draining');
        return;
      }
      if (stream.codec === 'sse') greet(stream, clock);
      if (stream.joining) void start(stream);
      else stream.writeWaiting();
    },
    blocked(stream) {
      stream.blockedSince = clock.monotonic();
      blocked.add(stream);
    },
    unblocked(stream) {
      stream.blockedSince = -1;
      blocked.delete(stream);
    },
    ended(stream, reason) {
      stream.feed.remove(stream);
      wheel.remove(stream);
      blocked.delete(stream);
      messages.closed(stream);
      const { caller, feed, admitted } = stream;
      const env = environmentIn(feed.audience)?.split('/').at(1) ?? null;
      endLog.add({ tenantId: caller.tenantId, env, agentId: admitted.agentId, reason });
      open--;
      const name = nameOf(stream.caller);
      if (name !== null) shortStreams.ended(name, stream.openedAt, clock.monotonic());
      endedBy[reason] = (endedBy[reason] ?? 0) + 1;
      feeds.release(stream.feed);
      stream.prepared?.();
      try {
        stream.admitted.closed();
      } catch (error) {
        log.error({ err: error }, 'cannot announce the end of a stream');
      }
      if (draining && open === 0) for (const done of draining.done.splice(0)) done();
    },
    received: messages.received,
    pinged: messages.pinged,
    pushed: options.pushed ?? (() => {}),
  };

  /** Joins it within its time; a failure ends it. Calls `prepared` then. Never rejects. */
  async function start(stream: Stream): Promise<void> {
    stream.endsAt = clock.monotonic() + joinMs;
    wheel.add(stream, clock.random());
    try {
      await (stream.admitted.history ? beginFrom(stream) : begin(stream));
      const age = maxAgeMs * (1 - ageJitter + 2 * ageJitter * clock.random());
      stream.endsAt = clock.monotonic() + Math.min(age, keyLifeMs(stream.caller, clock.now()));
    } catch (error) {
      if (!stream.ended) log.warn({ err: error, audience: stream.feed.audience }, 'cannot join a stream');
      stream.end('failed');
    }
    stream.prepared?.();
  }

  /** Resolves when it is joined or ended. */
  function prepare(stream: Stream): Promise<void> {
    return new Promise((resolve) => {
      stream.prepared = resolve;
      void start(stream);
    });
  }

  function begin(stream: Stream): Promise<void> {
    missed.begin(stream);
    stream.feed.add(stream);
    const joined = joins.join(stream);
    return stream.missed ? joined.then(() => void missed.send(stream)) : joined;
  }

  /** For streams whose frames are stored. */
  async function beginFrom(stream: Stream): Promise<void> {
    await joinByHistory(stream, api, () => {
      stream.endsAt = clock.monotonic() + joinMs;
    });
    stream.resumedUntil = clock.monotonic() + resumedMs;
  }

  function sourceOf(audience: Audience): EventSource {
    if (tenantOfEvents(audience) === null) return broadcast;
    if (!options.events) throw new HubError('unavailable', 'This stream cannot follow decision events.');
    return options.events;
  }

  function tick(): void {
    const now = clock.monotonic();
    for (const stream of blocked) if (now - stream.blockedSince >= maxBlockedMs) stream.end('slow');
    wheel.turn((stream) => {
      if (!stream.joining && now >= stream.resumedUntil) stream.resumed = null;
      if (now >= stream.endsAt) stream.end(stream.joining ? 'failed' : 'aged');
      else stream.keepalive(isHosted(stream.feed.audience) ? hostedKeepalive : keepaliveComment);
    });
    turned?.();
    if (!draining) return;
    const share = Math.ceil(wheel.size / Math.max(1, draining.left));
    draining.left--;
    for (const stream of wheel.some(share)) stream.end('draining');
  }

  function endAll(control: Control): void {
    endings.add(control);
    feeds.end(({ caller }) => endReason(control, caller));
  }

  function* callers(): Iterable<LiveCaller> {
    for (const { caller } of feeds.streams()) yield caller;
  }

  const recheck = createRecheck({ callers, isStillValid, ended: endAll, clock, log });
  const timer = clock.every(slotMs, tick);
  return {
    revocationSequence: () => endings.sequence,
    admit: messages.admit,
    checkReopening(caller) {
      const name = nameOf(caller);
      if (name !== null) shortStreams.check(name, clock.monotonic());
    },
    async open(opening) {
      const { admitted } = opening;
      const feed = feeds.hold(admitted.audience);
      open++;
      const stream = new Stream(home, feed, opening, clock.monotonic());
      try {
        if (draining)
          throw new HubError('shutting_down', 'This node is shutting down. Connect again.', {
            retryAfter: 1,
          });
        if (!feed.isFollowing) await feed.follow(sourceOf(feed.audience));
        if (admitted.decisions && options.events) {
          const { audience, toFrame } = admitted.decisions;
          await feed.followAside(options.events, audience, toFrame);
        }
        // The first frames are sent with the head of the answer, in one system call. Replayed frames can be many, so
        // they are written as the client reads them. A WebSocket has no such answer.
        if (stream.codec === 'sse' && stream.lastEventId === null && !admitted.history) {
          await prepare(stream);
          stream.prepared = null;
        }
        return stream;
      } catch (error) {
        // The next one follows anew. A feed that others have streams of stays where revocations find them.
        if (feed.streams.length === 0) feeds.forget(feed);
        stream.end('failed');
        throw error;
      }
    },
    control(message) {
      if (message.kind === 'roster_wanted') {
        for (const audience of [agentsOf, hostedAgentsOf]) {
          const feed = feeds.get(audience(message.tenantId, message.env));
          if (feed) void reannounce.all(feed);
        }
      } else if (message.kind === 'missed') {
        recheck.now();
        // A request for a roster may be among what was missed.
        void reannounce.each(feeds.all().filter(({ audience }) => environmentIn(audience) !== null));
      } else if (message.kind !== 'shards_moved') endAll(message);
    },
    audiences: () => feeds.all().map(({ audience }) => audience),
    connectedAgents() {
      return feeds.all().reduce((sum, { agentCount }) => sum + agentCount, 0);
    },
    counts() {
      const { agentStreams, dashboardStreams } = feeds.counts();
      const streams = agentStreams + dashboardStreams;
      return {
        streams,
        agentStreams,
        dashboardStreams,
        byKind: feeds.byKind(),
        blocked: blocked.size,
        unsentBytes: [...blocked].reduce((sum, stream) => sum + stream.unsentBytes, 0),
        audiences: feeds.size,
        scheduled: wheel.size,
        ended: { ...endedBy },
      };
    },
    drain(ms) {
      return new Promise((resolve) => {
        draining ??= { left: Math.max(1, Math.floor(ms / slotMs)), done: [] };
        if (open === 0) resolve();
        else draining.done.push(resolve);
      });
    },
    close() {
      draining ??= { left: 1, done: [] };
      for (const stream of wheel.some(wheel.size)) stream.end('draining');
      timer.cancel();
      endLog.flush();
      recheck.close();
    },
    inspect: () =>
      feeds.all().map((feed) => ({
        audience: feed.audience,
        streams: feed.streams.length,
        indexed: feed.indexed(),
      })),
  };
}

/** Dashboards wait before they reconnect. */
const nameOf = (caller: LimitedCaller): string | null =>
  caller.kind === 'key' || caller.kind === 'hostedKey' ? callerNames.streamsOf(caller) : null;

/** How long the caller's API key or token still lives. */
const keyLifeMs = (caller: LiveCaller, now: number): number =>
  (expiryOf(caller) ?? Number.POSITIVE_INFINITY) - now;

const expiryOf = (caller: LiveCaller): number | null =>
  caller.kind === 'user' ? (caller.service?.expiresAt ?? null) : caller.expiresAt;

/** The start of an SSE stream: a comment, so that proxies pass the headers on, and a reconnection time with jitter. */
function greet(stream: Stream, clock: Clock): void {
  const retry = Math.round(1000 + 2000 * clock.random());
  if (stream.sink && !stream.sink.write(`: connected\nretry: ${retry}\n\n`)) stream.home.blocked(stream);
}

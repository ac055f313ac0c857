// The registry of live streams on this node: opens, finds, ends and counts them. Owns the feeds and the wheel; knows no
// socket. Keeps promise P39.

import type { Admission } from '../../admission/admission.ts';
import { type Budgets, createBudgets } from '../../admission/byte-budgets.ts';
import { callerNames, type LimitedCaller } from '../../admission/caller-name.ts';
import { outageOf } from '../../admission/outages.ts';
import { ShortStreams } from '../../admission/short-streams.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
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
import type { Clock, Timer } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { EventSource, StreamHandlers } from '../contract/stream.ts';
import type { StreamFrames } from './announcer.ts';
import { Endings, type EndReason, endReason } from './endings.ts';
import { Feeds, type StreamCount } from './feeds.ts';
import { joinByHistory, StreamJoin } from './join.ts';
import { lifeMs } from './life.ts';
import { createMissed, resumedMs } from './missed-events.ts';
import { createReannouncer } from './reannouncer.ts';
import { createRecheck } from './recheck.ts';
import type { Session } from './session.ts';
import { createSocketMessages, type SocketMessages } from './socket-messages.ts';
import { type LiveCaller, type Opening, Stream, type StreamHome } from './stream.ts';
import { StreamEndLog } from './stream-end-log.ts';
import { Wheel } from './wheel.ts';

/** The wheel turns once in 15 s: that is the time between two keepalives. */
const slots = 60;
const slotMs = 250;
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
   * Takes revocations, sign-outs and requests for the roster, of any node. When some may have been missed, asks the
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
  /** Source of decision events; default: nobody can follow them. */
  readonly events?: EventSource;
  /** The frames of the APIs whose streams these are. */
  readonly api: StreamFrames;
  readonly handlers: Pick<StreamHandlers, 'message'>;
  /** Shared with the node's requests; default: its own. */
  readonly budgets?: Pick<Budgets, 'received'>;
  /** Shared with all of the node; default: its own. */
  readonly admission?: Admission;
  readonly clock: Clock;
  readonly log: Log;
  /** True if the store still knows the caller's key or login. @throws if the store cannot be reached */
  readonly isStillValid: (caller: LiveCaller) => Promise<boolean>;
  /** A frame of a deployment was written to an agent's socket. @param acceptedAt epoch milliseconds */
  readonly pushed?: (acceptedAt: number) => void;
  /** After every turn of the wheel: keepalives and ends are on time. */
  readonly turned?: () => void;
}

export const createLive = (options: LiveOptions): Live => new LiveStreams(options);

class LiveStreams implements Live, StreamHome {
  readonly #options: LiveOptions;
  readonly #feeds: Feeds;
  readonly #joins: StreamJoin;
  readonly #reannounce: ReturnType<typeof createReannouncer>;
  readonly #messages: SocketMessages;
  readonly #missed: ReturnType<typeof createMissed>;
  readonly #recheck: ReturnType<typeof createRecheck>;
  readonly #timer: Timer;
  readonly #wheel = new Wheel<Stream>(slots);
  readonly #blocked = new Set<Stream>();
  /** Streams that read their history, which no feed has yet, and the ends of their lives. */
  readonly #reading = new Map<Stream, number>();
  readonly #shortStreams = new ShortStreams();
  readonly #endedBy: { [R in EndReason]?: number } = {};
  readonly #endings = new Endings();
  readonly #endLog: StreamEndLog;
  #open = 0;
  #draining: { left: number; readonly done: (() => void)[] } | null = null;

  constructor(options: LiveOptions) {
    const { broadcast, api, handlers, clock, log, isStillValid } = options;
    const { received } = options.budgets ?? createBudgets();
    const feeds = new Feeds((audience) => api.resync(audience));
    this.#options = options;
    this.#feeds = feeds;
    this.#joins = new StreamJoin({ broadcast, api });
    this.#reannounce = createReannouncer(clock, log);
    this.#messages = createSocketMessages({ handlers, received, turns, clock, log });
    this.#missed = createMissed(options);
    this.#endLog = new StreamEndLog(clock, log);
    const ended = (control: Control): void => this.#endAll(control);
    const callers = (): Iterable<LiveCaller> => callersOf(feeds.streams(), this.#reading.keys());
    this.#recheck = createRecheck({ callers, isStillValid, ended, clock, log });
    this.#timer = clock.every(slotMs, () => this.#tick());
  }

  revocationSequence(): number {
    return this.#endings.sequence;
  }

  admit(caller: LimitedCaller): void {
    this.#messages.admit(caller);
  }

  checkReopening(caller: LimitedCaller): void {
    const name = nameOf(caller);
    if (name !== null) this.#shortStreams.check(name, this.#options.clock.monotonic());
  }

  async open(opening: Opening): Promise<Session> {
    const { admitted } = opening;
    const { clock, events } = this.#options;
    const feed = this.#feeds.hold(admitted.audience);
    this.#open++;
    const stream = new Stream(this, feed, opening, clock.monotonic());
    try {
      if (this.#draining) throw outageOf('streamsClosed');
      if (!feed.isFollowing) await feed.follow(this.#sourceOf(feed.audience));
      if (admitted.decisions && events) {
        const { audience, toFrame } = admitted.decisions;
        await feed.followAside(events, audience, toFrame);
      }
      // The first frames are sent with the head of the answer, in one system call. Replayed frames can be many, so
      // they are written as the client reads them. A WebSocket has no such answer.
      if (stream.codec === 'sse' && stream.lastEventId === null && !admitted.history) {
        await this.#prepare(stream);
        stream.prepared = null;
      }
      return stream;
    } catch (error) {
      // The next stream follows again. A feed that others have streams of stays where revocations find them.
      if (feed.streams.length === 0) this.#feeds.forget(feed);
      stream.end('failed');
      throw error;
    }
  }

  attached(stream: Stream): void {
    // Its caller was identified before: a revocation since then must not let it through.
    const reason = this.#endings.missedBy(stream.caller, stream.revocationSequence);
    if (reason || this.#draining) {
      stream.end(reason ?? 'draining');
      return;
    }
    if (stream.codec === 'sse') greet(stream, this.#options.clock);
    if (stream.joining) void this.#start(stream);
    else stream.writeWaiting();
  }

  blocked(stream: Stream): void {
    stream.blockedSince = this.#options.clock.monotonic();
    this.#blocked.add(stream);
  }

  unblocked(stream: Stream): void {
    stream.blockedSince = -1;
    this.#blocked.delete(stream);
  }

  ended(stream: Stream, reason: EndReason): void {
    stream.feed.remove(stream);
    this.#wheel.remove(stream);
    this.#blocked.delete(stream);
    this.#messages.closed(stream);
    const { caller, feed, admitted } = stream;
    const { clock, log } = this.#options;
    const env = environmentIn(feed.audience)?.split('/').at(1) ?? null;
    this.#endLog.add({ tenantId: caller.tenantId, env, agentId: admitted.agentId, reason });
    this.#open--;
    const name = nameOf(caller);
    if (name !== null) this.#shortStreams.ended(name, stream.openedAt, clock.monotonic());
    this.#endedBy[reason] = (this.#endedBy[reason] ?? 0) + 1;
    this.#feeds.release(feed);
    stream.prepared?.();
    try {
      admitted.closed();
    } catch (error) {
      log.error({ err: error }, 'cannot announce the end of a stream');
    }
    if (this.#draining && this.#open === 0) for (const done of this.#draining.done.splice(0)) done();
  }

  received(stream: Stream, message: Uint8Array, binary: boolean): void {
    this.#messages.received(stream, message, binary);
  }

  pinged(stream: Stream, unread: boolean): void {
    this.#messages.pinged(stream, unread);
  }

  pushed(acceptedAt: number): void {
    this.#options.pushed?.(acceptedAt);
  }

  control(message: Control): void {
    if (message.kind === 'roster_wanted') {
      for (const audience of [agentsOf, hostedAgentsOf]) {
        const feed = this.#feeds.get(audience(message.tenantId, message.env));
        if (feed) void this.#reannounce.all(feed);
      }
    } else if (message.kind === 'missed' || message.kind === 'interruption') {
      this.#recheck.now();
      // A request for a roster may be among what was missed.
      const feeds = message.kind === 'missed' ? this.#feeds.all() : [];
      void this.#reannounce.each(feeds.filter(({ audience }) => environmentIn(audience) !== null));
    } else if (message.kind !== 'shards_moved') this.#endAll(message);
  }

  audiences(): readonly Audience[] {
    return this.#feeds.all().map(({ audience }) => audience);
  }

  connectedAgents(): number {
    return this.#feeds.all().reduce((sum, { agentCount }) => sum + agentCount, 0);
  }

  counts(): LiveCounts {
    const { agentStreams, dashboardStreams } = this.#feeds.counts();
    return {
      streams: agentStreams + dashboardStreams,
      agentStreams,
      dashboardStreams,
      byKind: this.#feeds.byKind(),
      blocked: this.#blocked.size,
      unsentBytes: [...this.#blocked].reduce((sum, stream) => sum + stream.unsentBytes, 0),
      audiences: this.#feeds.size,
      scheduled: this.#wheel.size,
      ended: { ...this.#endedBy },
    };
  }

  drain(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#draining ??= { left: Math.max(1, Math.floor(ms / slotMs)), done: [] };
      if (this.#open === 0) resolve();
      else this.#draining.done.push(resolve);
    });
  }

  close(): void {
    this.#draining ??= { left: 1, done: [] };
    for (const stream of this.#wheel.some(this.#wheel.size)) stream.end('draining');
    this.#timer.cancel();
    this.#endLog.flush();
    this.#recheck.close();
  }

  inspect(): ReturnType<Live['inspect']> {
    return this.#feeds.all().map((feed) => ({
      audience: feed.audience,
      streams: feed.streams.length,
      indexed: feed.indexed(),
    }));
  }

  /** Joins it within its time; a failure ends it. Calls `prepared` then. Never rejects. */
  async #start(stream: Stream): Promise<void> {
    const { clock, log } = this.#options;
    const began = clock.monotonic();
    stream.endsAt = began + joinMs;
    this.#wheel.add(stream, clock.random());
    const endsAt = began + lifeMs(stream.caller, clock);
    try {
      await (stream.admitted.history ? this.#beginFrom(stream, endsAt) : this.#begin(stream));
      stream.endsAt = endsAt;
    } catch (error) {
      if (!stream.ended) log.warn({ err: error, audience: stream.feed.audience }, 'cannot join a stream');
      stream.end('failed');
    }
    stream.prepared?.();
  }

  /** Resolves when it is joined or ended. */
  #prepare(stream: Stream): Promise<void> {
    return new Promise((resolve) => {
      stream.prepared = resolve;
      void this.#start(stream);
    });
  }

  #begin(stream: Stream): Promise<void> {
    this.#missed.begin(stream);
    stream.feed.add(stream);
    const joined = this.#joins.join(stream);
    return stream.missed ? joined.then(() => void this.#missed.send(stream)) : joined;
  }

  /** For streams whose frames are stored. @param endsAt its latest end, however slowly it reads */
  async #beginFrom(stream: Stream, endsAt: number): Promise<void> {
    const { api, clock } = this.#options;
    this.#reading.set(stream, endsAt);
    try {
      await joinByHistory(stream, api, () => {
        stream.endsAt = Math.min(clock.monotonic() + joinMs, endsAt);
      });
    } finally {
      this.#reading.delete(stream);
    }
    stream.resumedUntil = clock.monotonic() + resumedMs;
  }

  #sourceOf(audience: Audience): EventSource {
    const { broadcast, events } = this.#options;
    if (tenantOfEvents(audience) === null) return broadcast;
    if (!events) throw new HubError('unavailable', 'This stream cannot follow decision events.');
    return events;
  }

  #tick(): void {
    const now = this.#options.clock.monotonic();
    for (const stream of this.#blocked) if (now - stream.blockedSince >= maxBlockedMs) stream.end('slow');
    this.#wheel.turn((stream) => {
      if (!stream.joining && now >= stream.resumedUntil) stream.resumed = null;
      const isAged = !stream.joining || now >= (this.#reading.get(stream) ?? Number.POSITIVE_INFINITY);
      if (now >= stream.endsAt) stream.end(isAged ? 'aged' : 'failed');
      else stream.keepalive(isHosted(stream.feed.audience) ? hostedKeepalive : keepaliveComment);
    });
    this.#options.turned?.();
    if (!this.#draining) return;
    const share = Math.ceil(this.#wheel.size / Math.max(1, this.#draining.left));
    this.#draining.left--;
    for (const stream of this.#wheel.some(share)) stream.end('draining');
  }

  #endAll(control: Control): void {
    this.#endings.add(control);
    this.#feeds.end(({ caller }) => endReason(control, caller));
    for (const stream of [...this.#reading.keys()]) {
      const reason = endReason(control, stream.caller);
      if (reason) stream.end(reason);
    }
  }
}

function* callersOf(...groups: readonly Iterable<Stream>[]): Iterable<LiveCaller> {
  for (const streams of groups) for (const { caller } of streams) yield caller;
}

/** Dashboards wait before they reconnect. */
const nameOf = (caller: LimitedCaller): string | null =>
  caller.kind === 'key' || caller.kind === 'hostedKey' ? callerNames.streamsOf(caller) : null;

/** The start of an SSE stream: a comment, so that proxies pass the headers on, and a reconnection time with jitter. */
function greet(stream: Stream, clock: Clock): void {
  const retry = Math.round(1000 + 2000 * clock.random());
  if (stream.sink && !stream.sink.write(`: connected\nretry: ${retry}\n\n`)) stream.home.blocked(stream);
}

// Frames and control messages over Redis Streams: the broadcast port. Any number of followers of an audience on this
// node share one reading.
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { singleFlight } from '../../src/shared/concurrency/single-flight.ts';
import type { Audience, Control, Frame } from '../../src/shared/frame.ts';
import type { Broadcast, BroadcastEntry, Following } from '../../src/shared/ports/broadcast.ts';
import { type Clock, pause } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { isAfter, isPosition, type Position, sharedPosition } from '../../src/shared/position.ts';
import { readControl, readFrame, writeControl, writeFrame } from './entry.ts';
import { unavailable } from './link.ts';
import type { LogEntry, Logs } from './log.ts';
import type { Followed, Reader } from './reader.ts';
import { openReplay } from './replay.ts';

interface Follower {
  readonly from: Position;
  readonly deliver: (placed: BroadcastEntry) => void;
  readonly lost: (position: Position) => void;
}

interface Shared extends Followed {
  readonly followers: Set<Follower>;
}

const nodes: Audience = 'nodes';
/**
 * Publications in one script, and the bytes after which no further one goes into it: Redis does nothing else during it.
 */
const publicationsAtOnce = 64;
const bytesAtOnce = 2 ** 20;
/** Between attempts to report control messages that could not be sent. */
const reportAgainMs = 250;
/** Their senders repeat them, or refuse the call. Each other message follows a change that is already stored. */
const withoutChange: ReadonlySet<Control['kind']> = new Set(['log_level', 'roster_wanted', 'shards_moved']);

const entryOf = (frame: Frame) => ({
  audience: frame.audience,
  body: writeFrame(frame),
  idempotencyKey: frame.idempotencyKey,
  idempotencyMs: frame.idempotencyMs,
});

/** In order; frames published together stay together. */
function portions(publications: readonly (readonly Frame[])[]): (readonly Frame[])[][] {
  const result: (readonly Frame[])[][] = [];
  let bytes = bytesAtOnce;
  for (const frames of publications) {
    if (bytes >= bytesAtOnce) {
      result.push([]);
      bytes = 0;
    }
    result.at(-1)?.push(frames);
    for (const { json } of frames) bytes += json.length;
  }
  return result;
}

class RedisBroadcast implements Broadcast {
  readonly #logs: Logs;
  readonly #reader: Reader;
  readonly #log: Log;
  readonly #followed = new Map<Audience, Shared>();
  readonly #listeners = new Set<(message: Control) => void>();
  readonly #replay: ReturnType<typeof openReplay>;
  #closed = false;
  readonly #reports: ReturnType<typeof singleFlight>;
  /** Frames published during a script go into the next one, so that they share its cost. */
  readonly #append: (frames: readonly Frame[]) => Promise<true>;

  constructor(logs: Logs, reader: Reader, clock: Clock, log: Log) {
    this.#logs = logs;
    this.#reader = reader;
    this.#log = log;
    this.#reports = singleFlight(
      () => this.#report(clock),
      () => this.#closed,
    );
    this.#replay = openReplay(logs);
    this.#append = createBatcher<readonly Frame[], true>(async (publications) => {
      const results: (true | Error)[] = [];
      let failed: Error | null = null;
      for (const some of portions(publications)) {
        // Without Redis each would wait out its time, one after the other: the first speaks for all.
        failed ??= await logs.append(some.flat().map(entryOf)).then(
          () => null,
          (error: Error) => error,
        );
        results.push(...some.map(() => failed ?? (true as const)));
      }
      return results;
    }, publicationsAtOnce);
  }

  /** Resolves when this node receives control messages. */
  async open(): Promise<void> {
    const { end } = await this.#logs.bounds(nodes);
    this.#reader.add({
      audience: nodes,
      position: end,
      take: (entry) => this.#hear(entry),
      missed: () => {
        this.#log.error({}, 'control messages were lost before this node read them');
        this.#tell({ kind: 'missed' });
      },
      resumed: () => this.#tell({ kind: 'interruption' }),
    });
  }

  async publish(frames: readonly Frame[]): Promise<void> {
    if (this.#closed) throw unavailable();
    if (frames.length === 0) return;
    await this.#append(frames);
  }

  async control(message: Control): Promise<void> {
    if (this.#closed) throw unavailable();
    try {
      await this.#send(message);
    } catch (error) {
      if (!withoutChange.has(message.kind)) {
        this.#tell(message);
        void this.#reports.ask();
      }
      throw error;
    }
  }

  async follow(
    audience: Audience,
    deliver: Follower['deliver'],
    lost: Follower['lost'] = () => {},
  ): Promise<Following> {
    if (this.#closed) throw unavailable();
    if (audience === nodes) throw new Error('Only onControl receives control messages.');
    const bounds = await this.#logs.bounds(audience);
    if (this.#closed) throw unavailable();
    const shared = this.#followed.get(audience) ?? this.#share(audience, bounds.end);
    // Reading may be past the requested end: entries handed on before now are not handed on again.
    const from = isAfter(shared.position, bounds.end) ? shared.position : bounds.end;
    const follower: Follower = { from, deliver, lost };
    shared.followers.add(follower);
    return {
      position: from,
      stop: () => {
        shared.followers.delete(follower);
        if (shared.followers.size > 0 || this.#followed.get(audience) !== shared) return;
        this.#followed.delete(audience);
        this.#reader.remove(audience);
      },
    };
  }

  onControl(listener: (message: Control) => void): void {
    this.#listeners.add(listener);
  }

  async since(audience: Audience, position: Position): Promise<readonly BroadcastEntry[] | 'gone'> {
    return isPosition(position) ? this.#replay(audience, sharedPosition(position)) : 'gone';
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#reader.close();
  }

  #share(audience: Audience, position: Position): Shared {
    const followers = new Set<Follower>();
    const give = (at: Position, tell: (follower: Follower) => void) => {
      for (const follower of [...followers]) {
        if (!isAfter(at, follower.from)) continue;
        try {
          tell(follower);
        } catch (error) {
          this.#log.error({ error: String(error), audience }, 'a subscriber failed to handle a frame');
        }
      }
    };
    const shared: Shared = {
      audience,
      position,
      followers,
      take: ({ position: at, body }: LogEntry) => {
        const frame = body && readFrame(audience, body);
        if (frame) give(at, ({ deliver }) => deliver({ position: at, frame }));
      },
      missed: (at) => {
        this.#log.warn({ audience }, 'frames were lost before this node read them');
        give(at, ({ lost }) => lost(at));
      },
    };
    this.#followed.set(audience, shared);
    this.#reader.add(shared);
    return shared;
  }

  #hear({ body }: LogEntry) {
    const message = body && readControl(body);
    if (message) this.#tell(message);
  }

  #tell(message: Control): void {
    for (const listener of this.#listeners) listener(message);
  }

  async #send(message: Control): Promise<void> {
    await this.#logs.append([{ audience: nodes, body: writeControl(message) }]);
  }

  /** One message stands for all that could not be sent. Every node then asks the store, so order is irrelevant. */
  async #report(clock: Clock): Promise<void> {
    for (let isSent = false; !isSent; ) {
      await pause(clock, reportAgainMs);
      if (this.#closed) return;
      isSent = await this.#send({ kind: 'missed' }).then(
        () => true,
        () => false,
      );
    }
  }
}

/** Opens the broadcast; resolves when this node receives control messages. @throws HubError('unavailable') */
export async function openBroadcast(logs: Logs, reader: Reader, clock: Clock, log: Log): Promise<Broadcast> {
  const broadcast = new RedisBroadcast(logs, reader, clock, log);
  await broadcast.open();
  return broadcast;
}

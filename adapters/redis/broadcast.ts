// Frames and control messages over Redis Streams: the broadcast port. Any number of followers of an audience on this
// node share one reading.
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import type { Audience, Control, Frame } from '../../src/shared/frame.ts';
import type { Broadcast, BroadcastEntry, Following } from '../../src/shared/ports/broadcast.ts';
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

const entryOf = (frame: Frame) => ({
  audience: frame.audience,
  body: writeFrame(frame),
  idempotencyKey: frame.idempotencyKey,
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
  /** Frames published during a script go into the next one, so that they share its cost. */
  readonly #append: (frames: readonly Frame[]) => Promise<true>;

  constructor(logs: Logs, reader: Reader, log: Log) {
    this.#logs = logs;
    this.#reader = reader;
    this.#log = log;
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
        for (const listener of this.#listeners) listener({ kind: 'missed' });
      },
    });
  }

  async publish(frames: readonly Frame[]): Promise<void> {
    if (this.#closed) throw unavailable();
    if (frames.length === 0) return;
    await this.#append(frames);
  }

  async control(message: Control): Promise<void> {
    if (this.#closed) throw unavailable();
    await this.#logs.append([{ audience: nodes, body: writeControl(message) }]);
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
    if (!message) return;
    for (const listener of this.#listeners) listener(message);
  }
}

/** Opens the broadcast; resolves when this node receives control messages. @throws HubError('unavailable') */
export async function openBroadcast(logs: Logs, reader: Reader, log: Log): Promise<Broadcast> {
  const broadcast = new RedisBroadcast(logs, reader, log);
  await broadcast.open();
  return broadcast;
}

// Frames and control messages over Redis Streams: the broadcast port. Any number of followers of an audience on this node share one reading.
import type { Audience, Control, Frame } from '../../src/domain/frame.ts';
import { isAfter, isPosition, type Position, sharedPosition } from '../../src/domain/position.ts';
import type { Broadcast, Placed } from '../../src/ports/broadcast.ts';
import type { Log } from '../../src/ports/log.ts';
import { readControl, readFrame, writeControl, writeFrame } from './entry.ts';
import { unavailable } from './link.ts';
import type { Entry, Logs } from './log.ts';
import type { Followed, Reader } from './reader.ts';
import { openReplay } from './replay.ts';

interface Follower {
  readonly from: Position;
  readonly deliver: (placed: Placed) => void;
  readonly lost: (position: Position) => void;
}

interface Shared extends Followed {
  readonly followers: Set<Follower>;
}

const nodes: Audience = 'nodes';

/** Opens the broadcast; resolves when this node hears control messages. @throws HubError('unavailable') */
export async function openBroadcast(logs: Logs, reader: Reader, log: Log): Promise<Broadcast> {
  const followed = new Map<Audience, Shared>();
  const listeners = new Set<(message: Control) => void>();
  const replay = openReplay(logs);
  let closed = false;

  function share(audience: Audience, position: Position): Shared {
    const followers = new Set<Follower>();
    const give = (at: Position, tell: (follower: Follower) => void) => {
      for (const follower of [...followers]) {
        if (!isAfter(at, follower.from)) continue;
        try {
          tell(follower);
        } catch (error) {
          log.error({ error: String(error), audience }, 'a follower failed on a frame');
        }
      }
    };
    const shared: Shared = {
      audience,
      position,
      followers,
      take: ({ position: at, body }: Entry) => {
        const frame = body && readFrame(audience, body);
        if (frame) give(at, ({ deliver }) => deliver({ position: at, frame }));
      },
      missed: (at) => {
        log.warn({ audience }, 'frames were lost before this node read them');
        give(at, ({ lost }) => lost(at));
      },
    };
    followed.set(audience, shared);
    reader.add(shared);
    return shared;
  }

  const hear = ({ body }: Entry) => {
    const message = body && readControl(body);
    if (!message) return;
    for (const listener of listeners) listener(message);
  };
  const { end } = await logs.bounds(nodes);
  const own: Followed = {
    audience: nodes,
    position: end,
    take: hear,
    missed: () => {
      log.error({}, 'control messages were lost before this node read them');
      for (const listener of listeners) listener({ kind: 'missed' });
    },
  };
  reader.add(own);

  return {
    async publish(frames: readonly Frame[]) {
      if (closed) throw unavailable();
      if (frames.length === 0) return;
      await logs.append(
        frames.map((frame) => ({
          audience: frame.audience,
          body: writeFrame(frame),
          idempotencyKey: frame.idempotencyKey,
        })),
      );
    },
    async control(message) {
      if (closed) throw unavailable();
      await logs.append([{ audience: nodes, body: writeControl(message) }]);
    },
    async follow(audience, deliver, lost = () => {}) {
      if (closed) throw unavailable();
      if (audience === nodes) throw new Error('Control messages are heard by onControl.');
      const bounds = await logs.bounds(audience);
      if (closed) throw unavailable();
      const shared = followed.get(audience) ?? share(audience, bounds.end);
      // Reading may be past the end that was asked for: what it handed on before now is not handed on again.
      const from = isAfter(shared.position, bounds.end) ? shared.position : bounds.end;
      const follower: Follower = { from, deliver, lost };
      shared.followers.add(follower);
      return {
        position: from,
        stop() {
          shared.followers.delete(follower);
          if (shared.followers.size > 0 || followed.get(audience) !== shared) return;
          followed.delete(audience);
          reader.remove(audience);
        },
      };
    },
    onControl(listener) {
      listeners.add(listener);
    },
    async since(audience, position) {
      return isPosition(position) ? replay(audience, sharedPosition(position)) : 'gone';
    },
    async close() {
      closed = true;
      await reader.close();
    },
  };
}

// Frames and control messages over Redis Streams: the broadcast port. Any number of followers of an audience on this node share one reading.
// Where frames were trimmed or lost before this node read them, followers get one `resync` frame in their place.
import {
  type Audience,
  type Control,
  type Frame,
  type Position,
  readPosition,
  sharedPosition,
} from '../../src/domain/frame.ts';
import type { Broadcast, Placed } from '../../src/ports/broadcast.ts';
import type { Log } from '../../src/ports/log.ts';
import { unavailable } from './link.ts';
import { type Body, type Entry, frameBody, type Logs, toFrame } from './log.ts';
import { type Followed, isAfter, type Reader } from './reader.ts';
import { openReplay } from './replay.ts';

interface Follower {
  readonly from: Position;
  readonly deliver: (placed: Placed) => void;
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
    const give = (placed: Placed) => {
      for (const { from, deliver } of [...followers]) {
        if (!isAfter(placed.position, from)) continue;
        try {
          deliver(placed);
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
        if (body !== null) give({ position: at, frame: toFrame(audience, body) });
      },
      missed: (at) => {
        log.warn({ audience }, 'frames were lost before this node read them');
        give({ position: at, frame: { audience, type: 'resync', data: { type: 'resync' } } });
      },
    };
    followed.set(audience, shared);
    reader.add(shared);
    return shared;
  }

  const hear = ({ body }: Entry) => {
    if (body?.[0] !== 'control') return;
    const message: Control = JSON.parse(body[1]);
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
        frames.map((frame) => ({ audience: frame.audience, body: frameBody(frame), once: frame.once })),
      );
    },
    async control(message) {
      if (closed) throw unavailable();
      const body: Body = ['control', JSON.stringify(message), null, null];
      await logs.append([{ audience: nodes, body }]);
    },
    async follow(audience, deliver) {
      if (closed) throw unavailable();
      if (audience === nodes) throw new Error('Control messages are heard by onControl.');
      const bounds = await logs.bounds(audience);
      if (closed) throw unavailable();
      const shared = followed.get(audience) ?? share(audience, bounds.end);
      // Reading may be past the end that was asked for: what it handed on before now is not handed on again.
      const from = isAfter(shared.position, bounds.end) ? shared.position : bounds.end;
      const follower: Follower = { from, deliver };
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
      const parts = readPosition(sharedPosition(position));
      if (parts === null) return 'gone';
      return replay(audience, `${parts.ms}-${parts.n}`);
    },
    async close() {
      closed = true;
      await reader.close();
    },
  };
}

// The Broadcast port within one process: a bounded log per audience, delivery by function calls. Lost at exit:
// positions of an earlier process are `gone`, because every log begins at the start of this one.
import { HubError } from '../../src/shared/error.ts';
import type { Audience, Control, Frame } from '../../src/shared/frame.ts';
import {
  type Broadcast,
  type BroadcastEntry,
  type Following,
  idempotencyMs,
} from '../../src/shared/ports/broadcast.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { isPosition, type Position, sharedPosition } from '../../src/shared/position.ts';
import { Ring } from './ring.ts';

export interface LocalBroadcastOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Frames kept per audience; 1,000 by default. */
  readonly frames?: number;
  /** Bytes kept per audience; 16 MiB by default. The newest frame is kept whatever its size. */
  readonly bytes?: number;
  /** Bytes kept over all audiences; 256 MiB by default. The audience that was quiet longest gives way. */
  readonly totalBytes?: number;
}

interface Follower {
  readonly deliver: (placed: BroadcastEntry) => void;
  /** Frames up to this count of publications came before it. */
  readonly from: number;
}

interface AudienceLog {
  readonly ring: Ring;
  readonly followers: Set<Follower>;
}

/** Idempotency keys remembered; over so many the oldest are forgotten. */
const rememberedKeys = 50_000;

/** Roughly the frame's size in memory. */
const weigh = (frame: Frame): number => 200 + frame.json.length;

/** Frames are delivered before `publish` resolves, in log order, also when a follower publishes in turn. */
export function createLocalBroadcast(options: LocalBroadcastOptions): Broadcast {
  const { clock, log, frames = 1000, bytes = 16 * 2 ** 20, totalBytes = 256 * 2 ** 20 } = options;
  let last = { ms: clock.now(), n: 0 };
  const floor: Position = `${last.ms}-${last.n}`;
  /** Least recently published first. */
  const logs = new Map<Audience, AudienceLog>();
  const listeners = new Set<(message: Control) => void>();
  const waiting: { readonly to: AudienceLog; readonly placed: BroadcastEntry; readonly count: number }[] = [];
  /** Until when each idempotency key is known, oldest first. */
  const lengths = new Map<string, number>();
  let count = 0;
  let total = 0;
  let delivering = false;
  let closed = false;

  const logOf = (audience: Audience): AudienceLog => {
    let audienceLog = logs.get(audience);
    if (!audienceLog) {
      audienceLog = { ring: new Ring(floor), followers: new Set() };
      logs.set(audience, audienceLog);
    }
    return audienceLog;
  };

  /** A clock that steps back keeps the last millisecond: positions only rise. */
  const nextPosition = (): Position => {
    const ms = Math.max(clock.now(), last.ms);
    last = { ms, n: ms === last.ms ? last.n + 1 : 0 };
    return `${last.ms}-${last.n}`;
  };

  /** Drops the frames of a tenant. */
  function forget(tenantId: string): void {
    for (const [audience, { ring }] of logs) {
      while (audience.includes(tenantId) && ring.length > 0) total -= ring.shift();
    }
  }

  const trim = ({ ring }: AudienceLog): void => {
    while (ring.length > frames || (ring.bytes > bytes && ring.length > 1)) total -= ring.shift();
    if (total <= totalBytes) return;
    for (const quiet of logs.values()) {
      while (total > totalBytes && quiet.ring.length > (quiet.ring === ring ? 1 : 0))
        total -= quiet.ring.shift();
      if (total <= totalBytes) return;
    }
  };

  /** False for an idempotency key that the audience has had. */
  const isFirst = (audience: Audience, idempotencyKey: string): boolean => {
    const key = `${audience} ${idempotencyKey}`;
    const now = clock.now();
    if ((lengths.get(key) ?? 0) > now) return false;
    lengths.delete(key);
    lengths.set(key, now + idempotencyMs);
    for (const [oldest, until] of lengths) {
      if (lengths.size <= rememberedKeys && until > now) break;
      lengths.delete(oldest);
    }
    return true;
  };

  const guarded = (task: () => void): void => {
    try {
      task();
    } catch (err) {
      log.error({ err }, 'a subscriber of the broadcast failed');
    }
  };

  const deliver = (): void => {
    if (delivering) return;
    delivering = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      for (const follower of next.to.followers) {
        const { placed } = next;
        if (follower.from < next.count) guarded(() => follower.deliver(placed));
      }
    }
    delivering = false;
  };

  const open = (): void => {
    if (closed) throw new HubError('unavailable', 'The hub is closing.', { retryAfter: 1 });
  };

  return {
    async publish(published) {
      open();
      for (const { idempotencyKey, ...frame } of published) {
        if (idempotencyKey !== undefined && !isFirst(frame.audience, idempotencyKey)) continue;
        const to = logOf(frame.audience);
        const placed = { position: nextPosition(), frame };
        const size = weigh(frame);
        to.ring.push({ placed, bytes: size });
        total += size;
        logs.delete(frame.audience);
        logs.set(frame.audience, to);
        trim(to);
        waiting.push({ to, placed, count: ++count });
      }
      deliver();
    },

    async control(message) {
      open();
      if (message.kind === 'tenant_closed') forget(message.tenantId);
      for (const listener of listeners) guarded(() => listener(message));
    },

    async follow(audience, deliverTo): Promise<Following> {
      open();
      const { ring, followers } = logOf(audience);
      const follower = { deliver: deliverTo, from: count };
      followers.add(follower);
      return { position: ring.end, stop: () => void followers.delete(follower) };
    },

    onControl(listener) {
      listeners.add(listener);
    },

    async since(audience, position) {
      if (!isPosition(position)) return 'gone';
      return (logs.get(audience)?.ring ?? new Ring(floor)).after(sharedPosition(position));
    },

    async close() {
      closed = true;
      listeners.clear();
      logs.clear();
      lengths.clear();
    },
  };
}

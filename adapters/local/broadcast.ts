// The Broadcast port within one process: a bounded log per audience, delivery by function calls. Lost at exit:
// positions of an earlier process are `gone`, because every log begins at the start of this one.
import { outageOf } from '../../src/admission/outages.ts';
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

/** Idempotency keys remembered for one time; over so many the oldest are forgotten. */
const rememberedKeys = 50_000;

/** Roughly the frame's size in memory. */
const weigh = (frame: Frame): number => 200 + frame.json.length;

class LocalBroadcast implements Broadcast {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #frames: number;
  readonly #bytes: number;
  readonly #totalBytes: number;
  #last: { ms: number; n: number };
  readonly #floor: Position;
  /** Least recently published first. */
  readonly #logs = new Map<Audience, AudienceLog>();
  readonly #listeners = new Set<(message: Control) => void>();
  readonly #waiting: { readonly to: AudienceLog; readonly placed: BroadcastEntry; readonly count: number }[] =
    [];
  /** Until when each idempotency key is remembered, oldest first; by the time for which the keys are remembered. */
  readonly #keysByMs = new Map<number, Map<string, number>>();
  #count = 0;
  #total = 0;
  #delivering = false;
  #closed = false;

  constructor(options: LocalBroadcastOptions) {
    const { clock, log, frames = 1000, bytes = 16 * 2 ** 20, totalBytes = 256 * 2 ** 20 } = options;
    this.#clock = clock;
    this.#log = log;
    this.#frames = frames;
    this.#bytes = bytes;
    this.#totalBytes = totalBytes;
    this.#last = { ms: clock.now(), n: 0 };
    this.#floor = `${this.#last.ms}-${this.#last.n}`;
  }

  async publish(published: readonly Frame[]): Promise<void> {
    this.#requireOpen();
    for (const { idempotencyKey, idempotencyMs: keyMs, ...frame } of published) {
      if (idempotencyKey !== undefined && !this.#isFirst(frame.audience, idempotencyKey, keyMs)) continue;
      const to = this.#logOf(frame.audience);
      const placed = { position: this.#nextPosition(), frame };
      const size = weigh(frame);
      to.ring.push({ placed, bytes: size });
      this.#total += size;
      this.#logs.delete(frame.audience);
      this.#logs.set(frame.audience, to);
      this.#trim(to);
      this.#waiting.push({ to, placed, count: ++this.#count });
    }
    this.#deliverWaiting();
  }

  async control(message: Control): Promise<void> {
    this.#requireOpen();
    if (message.kind === 'tenant_closed') this.#forget(message.tenantId);
    for (const listener of this.#listeners) this.#guarded(() => listener(message));
  }

  async follow(audience: Audience, deliverTo: (placed: BroadcastEntry) => void): Promise<Following> {
    this.#requireOpen();
    const { ring, followers } = this.#logOf(audience);
    const follower = { deliver: deliverTo, from: this.#count };
    followers.add(follower);
    return { position: ring.end, stop: () => void followers.delete(follower) };
  }

  onControl(listener: (message: Control) => void): void {
    this.#listeners.add(listener);
  }

  async since(audience: Audience, position: Position): Promise<readonly BroadcastEntry[] | 'gone'> {
    if (!isPosition(position)) return 'gone';
    return (this.#logs.get(audience)?.ring ?? new Ring(this.#floor)).after(sharedPosition(position));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#logs.clear();
    this.#keysByMs.clear();
  }

  #logOf(audience: Audience): AudienceLog {
    let audienceLog = this.#logs.get(audience);
    if (!audienceLog) {
      audienceLog = { ring: new Ring(this.#floor), followers: new Set() };
      this.#logs.set(audience, audienceLog);
    }
    return audienceLog;
  }

  /** A clock that steps back keeps the last millisecond: positions only rise. */
  #nextPosition(): Position {
    const ms = Math.max(this.#clock.now(), this.#last.ms);
    this.#last = { ms, n: ms === this.#last.ms ? this.#last.n + 1 : 0 };
    return `${this.#last.ms}-${this.#last.n}`;
  }

  /** Drops the frames of a tenant. */
  #forget(tenantId: string): void {
    for (const [audience, { ring }] of this.#logs) {
      while (audience.includes(tenantId) && ring.length > 0) this.#total -= ring.shift();
    }
  }

  #trim({ ring }: AudienceLog): void {
    while (ring.length > this.#frames || (ring.bytes > this.#bytes && ring.length > 1))
      this.#total -= ring.shift();
    if (this.#total <= this.#totalBytes) return;
    for (const quiet of this.#logs.values()) {
      while (this.#total > this.#totalBytes && quiet.ring.length > (quiet.ring === ring ? 1 : 0))
        this.#total -= quiet.ring.shift();
      if (this.#total <= this.#totalBytes) return;
    }
  }

  /** False for an idempotency key that the audience has had. @param keyMs how long the key is remembered */
  #isFirst(audience: Audience, idempotencyKey: string, keyMs = idempotencyMs): boolean {
    const key = `${audience} ${idempotencyKey}`;
    const now = this.#clock.now();
    const untilByKey = this.#keysByMs.get(keyMs) ?? new Map<string, number>();
    this.#keysByMs.set(keyMs, untilByKey);
    if ((untilByKey.get(key) ?? 0) > now) return false;
    untilByKey.delete(key);
    untilByKey.set(key, now + keyMs);
    for (const [oldest, until] of untilByKey) {
      if (untilByKey.size <= rememberedKeys && until > now) break;
      untilByKey.delete(oldest);
    }
    return true;
  }

  #guarded(task: () => void): void {
    try {
      task();
    } catch (err) {
      this.#log.error({ err }, 'a subscriber of the broadcast failed');
    }
  }

  #deliverWaiting(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      for (const follower of next.to.followers) {
        const { placed } = next;
        if (follower.from < next.count) this.#guarded(() => follower.deliver(placed));
      }
    }
    this.#delivering = false;
  }

  #requireOpen(): void {
    if (this.#closed) throw outageOf('busClosed');
  }
}

/** Frames are delivered before `publish` resolves, in log order, also when a follower publishes in turn. */
export const createLocalBroadcast = (options: LocalBroadcastOptions): Broadcast =>
  new LocalBroadcast(options);

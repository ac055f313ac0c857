// A bound on how many tasks of one kind run and wait, so that a burst neither takes everything nor piles up in memory.
import type { Awaitable } from './awaitable.ts';
import { Queue } from './queue.ts';
import type { Timers } from './with-timeout.ts';

interface MaxWait {
  readonly ms: number;
  readonly clock: Timers & { monotonic(): number };
}

export interface SemaphoreOptions {
  /** Tasks that run at once. */
  readonly max: number;
  /** Tasks that may wait; one more is refused. */
  readonly maxWaiting: number;
  /** Tasks that have waited for so long are refused; without it they wait until it is their turn. */
  readonly maxWait?: MaxWait;
}

/** One of the places. Giving it back twice is harmless. */
export interface Permit {
  release(): void;
}

/** A client that may leave while it waits. */
export interface Client {
  /** False once it has left: its turn passes to the next. */
  readonly open: boolean;
}

/** Receives the place, or null after a wait that was too long. Neither is called for a client that has left. */
export type Settle = (permit: Permit | null) => void;

interface Waiter {
  /** Monotonic milliseconds, whole: V8 stores a fraction as an object of its own. */
  readonly deadline: number;
  readonly client: Client | null;
  readonly settle: Settle;
}

interface Place {
  readonly key: string;
  running: number;
  /** First come first: so also in order of their deadlines. */
  readonly waiting: Queue<Waiter>;
}

/** A semaphore for each key: a key that nobody uses takes no memory. First come, first served. */
export class Semaphores {
  readonly #options: SemaphoreOptions;
  readonly #places = new Map<string, Place>();
  /** Places where somebody waits. */
  readonly #queues = new Set<Place>();
  #timer: { cancel(): void } | null = null;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Keys that somebody holds a permit of. */
  get size(): number {
    return this.#places.size;
  }

  /** A permit, if one is free. */
  take(key: string): Permit | null {
    let place = this.#places.get(key);
    if (!place) {
      if (this.#options.max <= 0) return null;
      place = { key, running: 0, waiting: new Queue() };
      this.#places.set(key, place);
    }
    if (place.running >= this.#options.max) return null;
    place.running++;
    return this.#permit(place);
  }

  /** Waits for a permit of a key of which none is free. False: too many wait already. */
  wait(key: string, settle: Settle, client: Client | null = null): boolean {
    const place = this.#places.get(key);
    if (!place || place.waiting.length >= this.#options.maxWaiting) return false;
    const { maxWait } = this.#options;
    const deadline = maxWait ? Math.ceil(maxWait.clock.monotonic() + maxWait.ms) : Number.POSITIVE_INFINITY;
    if (place.waiting.length === 0) this.#queues.add(place);
    place.waiting.add({ deadline, client, settle });
    if (maxWait) this.#watch(maxWait, maxWait.ms);
    return true;
  }

  #permit(place: Place): Permit {
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#handOn(place);
      },
    };
  }

  /** The longest waiting task gets the place, so that `running` stays as it is. */
  #handOn(place: Place): void {
    for (let next = this.#leave(place); next; next = this.#leave(place)) {
      if (next.client?.open === false) continue;
      next.settle(this.#permit(place));
      return;
    }
    if (--place.running === 0) this.#places.delete(place.key);
  }

  /** Takes out the one that has waited longest. */
  #leave(place: Place): Waiter | undefined {
    const waiter = place.waiting.shift();
    if (waiter && place.waiting.length === 0) this.#queues.delete(place);
    if (this.#queues.size === 0) {
      this.#timer?.cancel();
      this.#timer = null;
    }
    return waiter;
  }

  /** Refuses whoever has waited too long: one timer for all, because a fleet may wait here. */
  #watch(maxWait: MaxWait, ms: number): void {
    this.#timer ??= maxWait.clock.after(ms, () => {
      this.#timer = null;
      const now = maxWait.clock.monotonic();
      const late: Waiter[] = [];
      let next = Number.POSITIVE_INFINITY;
      for (const place of [...this.#queues]) {
        for (let first = place.waiting.first; first; first = place.waiting.first) {
          if (first.deadline > now) {
            next = Math.min(next, first.deadline);
            break;
          }
          this.#leave(place);
          late.push(first);
        }
      }
      if (this.#queues.size > 0) this.#watch(maxWait, next - now);
      for (const { client, settle } of late) if (client?.open !== false) settle(null);
    });
  }
}

/** Runs `task` when fewer than `max` run, first come, first served. @throws the refusal, or what the task throws */
export type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

export function createSemaphore(options: SemaphoreOptions & { readonly refusal: () => Error }): Semaphore {
  const acquire = acquireFrom(new Semaphores(options), options.refusal);
  return async (task) => {
    const permit = acquire('');
    return holding(permit instanceof Promise ? await permit : permit, task);
  };
}

/** Takes a permit, at once or when it is the turn. A refusal is a rejection. */
export const acquireFrom =
  (semaphores: Semaphores, refusal: () => Error) =>
  (key: string): Awaitable<Permit> =>
    semaphores.take(key) ??
    new Promise((resolve, reject) => {
      const settle: Settle = (permit) => (permit ? resolve(permit) : reject(refusal()));
      if (!semaphores.wait(key, settle)) reject(refusal());
    });

/** Runs a task with a permit, which it gives back however the task ends. */
export async function holding<T>(permit: Permit, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } finally {
    permit.release();
  }
}

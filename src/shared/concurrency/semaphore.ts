// A bound on how many tasks of one kind run and wait, so that a burst neither takes everything nor piles up in memory.
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
  /** The error a task is refused with. */
  readonly refusal: () => Error;
}

/** A task in the queue. */
interface Waiter {
  /** Monotonic milliseconds. */
  readonly deadline: number;
  go(): void;
  reject(error: Error): void;
}

interface Place {
  running: number;
  /** First come first: so also in order of their deadlines. */
  readonly waiting: Queue<Waiter>;
}

/** Runs `task` when fewer than `max` run, first come, first served. @throws the refusal, or what the task throws */
export type Semaphore = <T>(task: () => Promise<T>) => Promise<T>;

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const enter = createSemaphores(options);
  return (task) => enter('', task);
}

/** The same for each key: a key that nobody uses takes no memory. */
export function createSemaphores({
  max,
  maxWaiting,
  maxWait,
  refusal,
}: SemaphoreOptions): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const places = new Map<string, Place>();
  let timer: { cancel(): void } | null = null;
  let waitingNow = 0;

  /** Refuses who has waited too long: one timer for all, because a fleet may wait here. */
  function watch({ ms, clock }: MaxWait, after = ms): void {
    timer ??= clock.after(after, () => {
      timer = null;
      const now = clock.monotonic();
      let next = Number.POSITIVE_INFINITY;
      for (const { waiting } of places.values()) {
        for (let waiter = waiting.first; waiter; waiter = waiting.first) {
          if (waiter.deadline > now) {
            next = Math.min(next, waiter.deadline);
            break;
          }
          leave(waiting);
          waiter.reject(refusal());
        }
      }
      if (waitingNow > 0) watch({ ms, clock }, next - now);
    });
  }

  /** Takes out the one that has waited longest. */
  function leave(waiting: Queue<Waiter>): void {
    waiting.shift();
    if (--waitingNow > 0) return;
    timer?.cancel();
    timer = null;
  }

  /** Resolves when a task that ended has handed its place on. */
  const turn = (waiting: Queue<Waiter>): Promise<void> =>
    new Promise((go, reject) => {
      const deadline = maxWait ? maxWait.clock.monotonic() + maxWait.ms : Number.POSITIVE_INFINITY;
      waiting.add({ go, reject, deadline });
      waitingNow++;
      if (maxWait) watch(maxWait);
    });

  function placeOf(key: string): Place {
    let place = places.get(key);
    if (!place) {
      place = { running: 0, waiting: new Queue() };
      places.set(key, place);
    }
    return place;
  }

  async function run<T>(key: string, place: Place, task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } finally {
      const next = place.waiting.first;
      if (next) {
        // The place is handed on, so `running` stays as it is.
        leave(place.waiting);
        next.go();
      } else if (--place.running === 0) places.delete(key);
    }
  }

  return (key, task) => {
    const place = placeOf(key);
    if (place.running < max) {
      place.running++;
      return run(key, place, task);
    }
    if (place.waiting.length >= maxWaiting) return Promise.reject(refusal());
    return turn(place.waiting).then(() => run(key, place, task));
  };
}

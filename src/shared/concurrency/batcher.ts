// Gathers the calls that arrive while a batch is under way into the next batch: fewer commands, in the order of the
// calls.

/**
 * @param flush carries a batch out; answers one result for each item, in order. An Error among the results rejects its
 *   item alone.
 * @param gather waited for before each batch that is not full, when more may come that is not urgent
 */
export function createBatcher<T, R>(
  flush: (items: readonly T[]) => Promise<readonly (R | Error)[]>,
  max = 500,
  gather?: () => Promise<void>,
): (item: T) => Promise<R> {
  interface Waiting {
    readonly item: T;
    resolve(result: R): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      if (waiting.length < max) await gather?.();
      const batch = waiting.slice(0, max);
      waiting = waiting.slice(max);
      try {
        const results = await flush(batch.map(({ item }) => item));
        let i = 0;
        for (const one of batch) {
          const result = results[i++];
          if (result instanceof Error || result === undefined) one.reject(result);
          else one.resolve(result);
        }
      } catch (error) {
        for (const one of batch) one.reject(error);
      }
    }
    running = false;
  }

  return (item) =>
    new Promise<R>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (running) return;
      running = true;
      // After this turn of the event loop, so that what comes together goes together.
      queueMicrotask(() => void run());
    });
}

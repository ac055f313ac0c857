// Spreads heavy work over turns of the event loop: requests that arrive together are not parsed in one turn, so that
// others are served between.

/** Bytes whose work is done in one turn; at least one piece of work, however large. */
export const bytesPerTurn = 64 * 1024;

export interface EventLoopBudget {
  /** Resolves in a turn that has room for work on so many bytes, in the order of asking; at once when nothing waits. */
  next(bytes: number): Promise<void>;
}

/** @param later runs a task in the next turn of the event loop */
export function createEventLoopBudget(later: (task: () => void) => unknown): EventLoopBudget {
  let used = 0;
  let scheduled = false;
  let waiting: { readonly bytes: number; readonly go: () => void }[] = [];

  function turn(): void {
    used = 0;
    let count = 0;
    for (const { bytes } of waiting) {
      if (used > 0 && used + bytes > bytesPerTurn) break;
      used += bytes;
      count++;
    }
    const now = waiting.slice(0, count);
    waiting = waiting.slice(count);
    scheduled = used > 0;
    if (scheduled) later(turn);
    for (const { go } of now) go();
  }

  return {
    next(bytes) {
      if (!scheduled) later(turn);
      scheduled = true;
      if (waiting.length === 0 && (used === 0 || used + bytes <= bytesPerTurn)) {
        used += bytes;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        waiting.push({ bytes, go: resolve });
      });
    },
  };
}

/** A process has one event loop. */
export const turns: EventLoopBudget = createEventLoopBudget(setImmediate);

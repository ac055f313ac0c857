// Spreads heavy work over turns of the event loop: requests that arrive together are not parsed in one turn, so that
// others are served between.

/** Bytes whose work is done in one turn; at least one piece of work, however large. */
export const bytesPerTurn = 64 * 1024;
/** Work on no more bytes goes before larger work that waits: up to half of a turn, so that the larger goes on. */
const smallBytes = 8 * 1024;

export interface EventLoopBudget {
  /**
   * Resolves in a turn that has room for work on so many bytes: the small before the large, else in the order of
   * asking; at once when nothing waits.
   */
  next(bytes: number): Promise<void>;
}

interface Waiting {
  readonly bytes: number;
  go(): void;
}

const bytesOf = (list: readonly Waiting[]): number => list.reduce((sum, { bytes }) => sum + bytes, 0);

/** The first of them, at least one, that take no more than so many bytes together. */
function fitting(list: readonly Waiting[], room: number): readonly Waiting[] {
  let count = 0;
  for (let used = 0; count < list.length; count++) {
    used += list[count]?.bytes ?? 0;
    if (count > 0 && used > room) break;
  }
  return list.slice(0, count);
}

/** @param later runs a task in the next turn of the event loop */
export function createEventLoopBudget(later: (task: () => void) => unknown): EventLoopBudget {
  let used = 0;
  let scheduled = false;
  let small: Waiting[] = [];
  let large: Waiting[] = [];

  function turn(): void {
    used = 0;
    const first = fitting(small, large.length > 0 ? bytesPerTurn / 2 : bytesPerTurn);
    used = bytesOf(first);
    // One piece of large work in each turn, however much small work there is.
    const then = fitting(large, bytesPerTurn - used);
    small = small.slice(first.length);
    large = large.slice(then.length);
    used += bytesOf(then);
    scheduled = used > 0;
    if (scheduled) later(turn);
    for (const { go } of [...first, ...then]) go();
  }

  return {
    next(bytes) {
      if (!scheduled) later(turn);
      scheduled = true;
      if (small.length + large.length === 0 && (used === 0 || used + bytes <= bytesPerTurn)) {
        used += bytes;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        (bytes > smallBytes ? large : small).push({ bytes, go: resolve });
      });
    },
  };
}

/** A process has one event loop. */
export const turns: EventLoopBudget = createEventLoopBudget(setImmediate);

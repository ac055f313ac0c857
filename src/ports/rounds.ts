// For what is done in rounds: one at a time, and once more when it was asked for meanwhile.

export interface Rounds {
  /** True while a round is under way. */
  readonly busy: boolean;
  /** A round now, or after the one under way, however often it is asked for meanwhile. Resolves when none is left to do. */
  ask(): Promise<void>;
  /** Resolves when none is under way; asks for none. */
  idle(): Promise<void>;
}

/**
 * @param round must not throw
 * @param ended true when no round is to begin any more
 */
export function rounds(round: () => Promise<void>, ended: () => boolean): Rounds {
  let busy = false;
  let asked = false;
  let last = Promise.resolve();

  async function run(): Promise<void> {
    while (asked && !ended()) {
      asked = false;
      await round();
    }
    // In the same step as the last look: what is asked for from here on begins anew.
    busy = false;
  }

  return {
    get busy() {
      return busy;
    },
    ask() {
      asked = true;
      if (!busy) {
        busy = true;
        last = run();
      }
      return last;
    },
    idle: () => last,
  };
}

// One run of a task at a time. Asking while it runs makes it run once more, however often it is asked.

export interface SingleFlight {
  /** True while the task runs. */
  readonly busy: boolean;
  /** Runs the task now, or after the run under way. Resolves when no run is left to do. */
  ask(): Promise<void>;
  /** Resolves when no run is under way; asks for none. */
  idle(): Promise<void>;
}

/**
 * @param task must not throw
 * @param ended true when no run is to begin any more
 */
export function singleFlight(task: () => Promise<void>, ended: () => boolean): SingleFlight {
  let busy = false;
  let isRequested = false;
  let last = Promise.resolve();

  async function run(): Promise<void> {
    while (isRequested && !ended()) {
      isRequested = false;
      await task();
    }
    // In the same step as the last look at `asked`: a call from here on starts a new run.
    busy = false;
  }

  return {
    get busy() {
      return busy;
    },
    ask() {
      isRequested = true;
      if (!busy) {
        busy = true;
        last = run();
      }
      return last;
    },
    idle: () => last,
  };
}

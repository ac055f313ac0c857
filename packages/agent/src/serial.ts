// Tasks one after the other, in the order in which they were asked for. A task that fails does not stop those behind
// it.

export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Returns the task's result, or rejects with its failure. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all tasks asked for so far have ended, whatever came of them. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

// The counters of a run: attempts, executions, executions per tool, failures in a row. Decides nothing.
import { createHash } from 'node:crypto';
import type { Counters } from '../rules/evaluate/limits.ts';
import type { SessionStore } from '../sessions.ts';

/** Names that session keys cannot hold, or that are too long, stand in them by their hash. */
const keyPart = (name: string): string =>
  name.length <= 96 && /^[a-zA-Z0-9_.:/-]+$/.test(name)
    ? name
    : `h.${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;

const count = (text: string | null | undefined): number => {
  const value = Number(text ?? 0);
  return Number.isFinite(value) ? value : 0;
};

/**
 * Outcomes of finished calls on their way into the store, which may be slow: no result waits for them. A run's outcomes
 * are written in the order in which its calls ended: a success ends the failures before it and no later ones.
 */
export class Outcomes {
  /** By key. */
  readonly #lastWrites = new Map<string, Promise<void>>();

  /** Starts at once, or after earlier writes to the key. */
  write(key: string, task: () => Promise<void>, onFailure: (failure: unknown) => void): void {
    const earlier = this.#lastWrites.get(key);
    const written = (earlier === undefined ? task() : earlier.then(task))
      .catch(onFailure)
      // Its own error would reach nobody.
      .catch(() => {})
      .then(() => {
        if (this.#lastWrites.get(key) === written) this.#lastWrites.delete(key);
      });
    this.#lastWrites.set(key, written);
  }

  /** Resolves after all writes so far. */
  async settled(): Promise<void> {
    await Promise.all(this.#lastWrites.values());
  }
}

/** Storage failures propagate: a call whose counters cannot be read must not run. */
export class RunCounters {
  readonly #store: SessionStore;
  readonly #prefix: string;
  readonly #tool: string;
  readonly #outcomes: Outcomes;
  /** Keys of an execution that was counted here and not taken back. */
  #counted: string[] = [];

  constructor(store: SessionStore, sessionId: string, tool: string, outcomes = new Outcomes()) {
    this.#store = store;
    this.#outcomes = outcomes;
    this.#prefix = `s:${keyPart(sessionId)}:`;
    this.#tool = `${this.#prefix}tool:${keyPart(tool)}`;
  }

  /** Counts one attempt, and reads the other counters. */
  async attempt(): Promise<Counters> {
    const attempts = await this.#store.increment(`${this.#prefix}attempts`);
    return { attempts, ...(await this.read()) };
  }

  /** The executions counted so far. */
  async read(): Promise<Omit<Counters, 'attempts'>> {
    const executionsKey = `${this.#prefix}execs`;
    const values = await this.#store.batch([executionsKey, this.#tool]);
    return {
      executions: count(values.get(executionsKey)),
      toolExecutions: count(values.get(this.#tool)),
    };
  }

  /** Counts one execution. Made before the tool runs, so that calls side by side cannot pass a limit together. */
  async execution(): Promise<Omit<Counters, 'attempts'>> {
    return {
      executions: await this.#count(`${this.#prefix}execs`),
      toolExecutions: await this.#count(this.#tool),
    };
  }

  async #count(key: string): Promise<number> {
    const value = await this.#store.increment(key);
    this.#counted.push(key);
    return value;
  }

  /** Takes the execution back: the tool did not run. */
  async withdraw(): Promise<void> {
    await this.#takeBack([`${this.#prefix}execs`, this.#tool]);
  }

  async #takeBack(keys: readonly string[]): Promise<void> {
    this.#counted = [];
    for (const key of keys) await this.#store.increment(key, -1);
  }

  /** Runs a task before the tool. An execution that was counted in a task that fails is taken back. */
  async undoOnFailure(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (failure) {
      // The failure of the task is the one that the caller needs.
      await this.#takeBack(this.#counted).catch(() => {});
      throw failure;
    }
  }

  /** Counts failures in a row, which start again after a success. Does not wait for the store. */
  finished(success: boolean, onFailure: (failure: unknown) => void): void {
    const key = `${this.#prefix}consec_fail`;
    const write = async (): Promise<void> => {
      if (success) await this.#store.delete(key);
      else await this.#store.increment(key);
    };
    this.#outcomes.write(key, write, onFailure);
  }
}

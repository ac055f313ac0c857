// A task that this process goes on with: what is known about it, kept on disk before it counts.
import type { Clock } from '../../../clock.ts';
import type { Fields } from '../../../fields.ts';
import type { CallRounds } from '../../../guard/call.ts';
import { Serial } from '../../../serial.ts';
import type { TaskFiles } from './files.ts';
import { isAnswered, type TaskInput, withAnswers } from './input.ts';
import type { TaskEnd, TaskRecord } from './record.ts';
import type { TaskRunner } from './task-call.ts';

export class LiveTask {
  record: TaskRecord;
  isRunning: boolean;
  /** The server has got the call, and has made no task of it. */
  isSent = false;
  isCancelled = false;
  #isCancelledAtServer = false;
  /** Of the round that asked last. */
  rounds: CallRounds;
  readonly cancelled = new AbortController();
  readonly runner: () => TaskRunner;
  readonly #files: TaskFiles;
  readonly #clock: Clock;
  readonly #writes = new Serial();
  #wake: () => void = () => {};

  constructor(record: TaskRecord, runner: () => TaskRunner, files: TaskFiles, clock: Clock) {
    this.record = record;
    this.isRunning = record.serverTask !== null;
    this.rounds = record.rounds;
    this.runner = runner;
    this.#files = files;
    this.#clock = clock;
  }

  /** Questions of the tool. They are durable when the promise resolves. */
  ask(input: TaskInput): Promise<void> {
    this.isSent = false;
    return this.#update({ rounds: this.rounds, approval: null, input });
  }

  /**
   * Answers of the client's user. They are durable when the promise resolves.
   * @returns false if an answer is no object: none was taken
   */
  async answer(responses: Fields): Promise<boolean> {
    const { input } = this.record;
    if (!input || this.record.end) return true;
    const answered = withAnswers(input, responses);
    if (!answered) return false;
    await this.#update({ input: answered });
    this.#wake();
    return true;
  }

  /** Resolves when all questions have answers, with true; with false when the signal or the task's life ends. */
  async answered(signal: AbortSignal): Promise<boolean> {
    const isOver = (): boolean => signal.aborted || this.record.expiresAt <= this.#clock.now();
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    const timer = this.#clock.after(Math.max(0, this.record.expiresAt - this.#clock.now()), wake);
    try {
      for (;;) {
        const { input } = this.record;
        if (isOver()) return false;
        if (!input || isAnswered(input)) return true;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', wake);
    }
  }

  /** Once, and at any moment: between two looks at a task of the server's own there is no request to abort. */
  cancelAtServer(): void {
    if (this.record.serverTask === null || this.#isCancelledAtServer) return;
    this.#isCancelledAtServer = true;
    this.runner().cancelTask(this.record);
  }

  /** The first end counts. It is durable when the promise resolves. */
  async end(end: TaskEnd): Promise<void> {
    if (this.record.end) return;
    this.record = { ...this.record, end, updatedAt: this.#clock.now() };
    await this.#writes.run(() => this.#files.end(this.record));
  }

  async #update(change: Partial<TaskRecord>): Promise<void> {
    if (this.record.end) return;
    this.record = { ...this.record, ...change, updatedAt: this.#clock.now() };
    // A task that has ended is not open again.
    await this.#writes.run(async () => {
      if (!this.record.end) await this.#files.update(this.record);
    });
  }
}

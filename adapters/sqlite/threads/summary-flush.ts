// When the writer writes what events add to summaries and runs: at most a second after their commit, and before a read
// of them that comes after an acknowledged event. Reads that wait share one flush.
import type { Clock, Timer } from '../../../src/shared/ports/clock.ts';

/** Milliseconds between the first event that is not counted and the flush, and between a failed flush and the next. */
const flushMs = 900;

export class SummaryFlush {
  readonly #send: () => Promise<unknown>;
  readonly #clock: Pick<Clock, 'after'>;
  /** Acknowledged batches, and how many of them the last flush counts. */
  #acknowledged = 0;
  #flushed = 0;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #isStopped = false;

  /** @param send has the writer flush; resolves when that is durable */
  constructor(send: () => Promise<unknown>, clock: Pick<Clock, 'after'>) {
    this.#send = send;
    this.#clock = clock;
  }

  /** A batch is acknowledged. */
  note(): void {
    this.#acknowledged++;
    this.#startTimer();
  }

  /** Resolves when all batches that are acknowledged now are counted. @throws as `send` */
  async finish(): Promise<void> {
    const acknowledged = this.#acknowledged;
    while (this.#flushed < acknowledged) {
      this.#running ??= this.#flush();
      await this.#running;
    }
  }

  /** A start counts what is left. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #startTimer(): void {
    if (this.#isStopped) return;
    this.#timer ??= this.#clock.after(flushMs, () => {
      this.#timer = null;
      // #flush starts the timer again.
      this.finish().catch(() => {});
    });
  }

  async #flush(): Promise<void> {
    const acknowledged = this.#acknowledged;
    try {
      await this.#send();
      this.#flushed = acknowledged;
    } catch (error) {
      this.#startTimer();
      throw error;
    } finally {
      this.#running = null;
    }
  }
}

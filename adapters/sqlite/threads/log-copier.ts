// Has the write-ahead log copied into the file by a thread of its own: in the writer's commit, the copy held up every
// write behind it. The writer copies the few pages that came since, and its next commit begins a new log. After a large
// commit these are many, and the thread copies again. Should the thread fail, or the log grow faster than it is copied,
// SQLite copies it in a commit (`wal_autocheckpoint`).
import type { Worker } from 'node:worker_threads';
import type { Log } from '../../../src/shared/ports/log.ts';
import { unavailable } from '../failure.ts';
import type { LogCopied } from './log-thread.ts';

const pageBytes = 4096;
/**
 * Pages in the log per page of arguments: events are packed, but they are found by indexes, and each commit writes
 * whole pages.
 */
const pagesPerPage = 2;
/** Pages of a small write. */
const leastPages = 4;
/** Part of the pages from which on a removal has the log copied: 4 MiB on most disks. */
const removalPart = 1 / 6;

/** Copies by the thread before the writer copies the rest, however much that is. */
const maxCopies = 4;

export interface LogCopierOptions {
  /** Starts the thread. */
  readonly start: () => Worker;
  /** Has the writer copy the rest between two commits if that is little. Resolves to false if it copied nothing. */
  readonly copyFew: () => Promise<boolean>;
  /** Has the writer copy all of the rest between two commits. */
  readonly copyRest: () => Promise<unknown>;
  /** Pages in the log, about, from which on it is copied. */
  readonly pages: number;
  /** Counts the pages in the log. */
  readonly count: () => number;
  readonly log: Log | null;
}

export class LogCopier {
  readonly #options: LogCopierOptions;
  /** Pages in the log, about. */
  #pages = 0;
  #worker: Worker | null = null;
  #settle: ((copied: LogCopied | 'ended') => void) | null = null;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: LogCopierOptions) {
    this.#options = options;
  }

  /** A write with so many bytes of arguments went to the writer. */
  note(bytes: number): void {
    this.#pages += leastPages + (bytes * pagesPerPage) / pageBytes;
    if (this.#pages >= this.#options.pages) this.#copyLog();
  }

  /**
   * A removal has ended: its arguments do not show how much it wrote. Small copies follow removals: a commit waits for
   * the disk during a large copy, and a slice of retention is bound to be short. Beside other writes, a copy would
   * follow every slice and hold up those writes. Then copies are as rare as without removals.
   */
  recount(): void {
    const { pages, count } = this.#options;
    const pagesInLog = count();
    const earlyPages = pages * removalPart;
    const isAlone = this.#pages < earlyPages / 2;
    if (!isAlone) this.#pages = Math.max(this.#pages, pagesInLog);
    if (isAlone ? pagesInLog >= earlyPages : this.#pages >= pages) this.#copyLog();
  }

  #copyLog(): void {
    if (this.#isClosed) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when the thread has closed the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    const worker = this.#worker;
    if (!worker) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close');
    await ended;
  }

  async #run(): Promise<void> {
    const { copyFew, copyRest } = this.#options;
    try {
      for (let copies = 0; copies < maxCopies; copies++) {
        this.#pages = 0;
        await this.#copy();
        if (await copyFew()) return;
      }
      await copyRest();
    } catch (err) {
      this.#options.log?.warn({ err }, 'the write-ahead log was not copied; a commit copies it');
    }
  }

  /** @throws HubError unavailable when the thread ended; an Error for what the disk refused */
  async #copy(): Promise<void> {
    const worker = this.#worker ?? this.#start();
    const copied = await new Promise<LogCopied | 'ended'>((resolve) => {
      this.#settle = resolve;
      worker.postMessage('copy');
    });
    if (copied === 'ended') throw unavailable();
    if (copied !== null) throw new Error(copied.cause ?? copied.message);
  }

  #start(): Worker {
    const worker = this.#options.start();
    worker.on('message', (copied: LogCopied) => this.#settle?.(copied));
    worker.on('error', (err) =>
      this.#options.log?.error({ err }, 'the thread of the write-ahead log failed'),
    );
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      this.#settle?.('ended');
    });
    // A hub that stops without closing its store does not wait for this thread.
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}

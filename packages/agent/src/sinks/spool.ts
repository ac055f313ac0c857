// Unsent events on disk, so that a crashed agent loses none: lines appended and synced, dropped once acknowledged, read
// again on start. At least once: a crash between an answer and its acknowledgement sends again; the hub knows the call
// ids. One process per file.
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Serial } from '../serial.ts';

interface Waiting {
  readonly bytes: Buffer;
  readonly done: () => void;
  readonly failed: (failure: unknown) => void;
}

/** Acknowledged bytes at the front of the file that are worth rewriting it for. */
const compactAbove = 8 * 1_048_576;

export class Spool {
  readonly path: string;
  #file: FileHandle | null = null;
  #waiting: Waiting[] = [];
  /** Lengths of the lines in the file that are not acknowledged, oldest first. */
  #lengths: number[] = [];
  #acknowledged = 0;
  /** Grows after a rewrite that failed, so that a full disk does not cost one for each batch. */
  #compactAbove = compactAbove;
  /** A failed write may have left bytes behind the last line. */
  #isTorn = false;
  readonly #serial = new Serial();
  #queued = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Opens or makes the file. Gives its whole lines, oldest first; a torn last line is cut off. */
  open(): Promise<string[]> {
    return this.#serial.run(async () => {
      const file = await open(this.path, 'a+', 0o600);
      this.#file = file;
      const text = await file.readFile('utf8');
      const whole = text.slice(0, text.lastIndexOf('\n') + 1);
      if (whole.length < text.length) await file.truncate(Buffer.byteLength(whole));
      const lines = whole === '' ? [] : whole.slice(0, -1).split('\n');
      this.#lengths = lines.map((line) => Buffer.byteLength(line) + 1);
      await this.#syncFolder();
      return lines;
    });
  }

  /** Resolves when the line is on disk. Appends that wait together are written and synced together, in order. */
  append(line: string): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ bytes: Buffer.from(`${line}\n`), done, failed });
      if (this.#queued) return;
      this.#queued = true;
      void this.#serial.run(() => this.#write());
    });
  }

  /**
   * The oldest `count` lines need not be kept. They leave the file when all are acknowledged, or when they have grown
   * large.
   */
  acknowledge(count: number): Promise<void> {
    return this.#serial.run(async () => {
      for (const length of this.#lengths.splice(0, count)) this.#acknowledged += length;
      if (!this.#file || this.#acknowledged === 0) return;
      if (this.#lengths.length === 0) {
        await this.#file.truncate(0);
        this.#acknowledged = 0;
        this.#isTorn = false;
      } else if (this.#acknowledged > this.#compactAbove) await this.#compact(this.#file);
    });
  }

  /** Resolves when everything asked for so far has been done. */
  settled(): Promise<void> {
    return this.#serial.idle();
  }

  close(): Promise<void> {
    return this.#serial.run(async () => {
      const file = this.#file;
      this.#file = null;
      await file?.close();
    });
  }

  async #write(): Promise<void> {
    this.#queued = false;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      if (!this.#file) throw new Error('the spool is not open');
      if (this.#isTorn) await this.#cutTear(this.#file);
      this.#isTorn = true;
      await this.#file.appendFile(Buffer.concat(batch.map((item) => item.bytes)));
      await this.#file.datasync();
      this.#isTorn = false;
      for (const item of batch) {
        this.#lengths.push(item.bytes.length);
        item.done();
      }
    } catch (failure) {
      for (const item of batch) item.failed(failure);
    }
  }

  /** Without the cut, the next line would join the torn one, and later offsets would be wrong. */
  async #cutTear(file: FileHandle): Promise<void> {
    await file.truncate(this.#acknowledged + this.#unacknowledged);
    this.#isTorn = false;
  }

  get #unacknowledged(): number {
    return this.#lengths.reduce((sum, length) => sum + length, 0);
  }

  /** Rewrites the file without its acknowledged front; the new file replaces the old one whole. */
  async #compact(file: FileHandle): Promise<void> {
    const size = this.#unacknowledged;
    const rest = Buffer.alloc(size);
    await file.read(rest, 0, size, this.#acknowledged);
    this.#compactAbove = this.#acknowledged + compactAbove;
    const temporary = `${this.path}.new`;
    await rm(temporary, { force: true });
    const fresh = await open(temporary, 'ax+', 0o600);
    try {
      await fresh.writeFile(rest);
      await fresh.datasync();
      await rename(temporary, this.path);
    } catch (failure) {
      await fresh.close();
      await rm(temporary, { force: true });
      throw failure;
    }
    this.#file = fresh;
    this.#acknowledged = 0;
    this.#isTorn = false;
    this.#compactAbove = compactAbove;
    await file.close();
    await this.#syncFolder();
  }

  async #syncFolder(): Promise<void> {
    const folder = await open(dirname(this.path), 'r');
    await folder.sync().catch(() => {});
    await folder.close();
  }
}

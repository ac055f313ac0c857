// Reads the index of the write-ahead log, the `-shm` file (https://sqlite.org/walformat.html).
import { openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** Of the last page that is in the log, and of the last one that was copied into the file. */
const [lastPageAt, lastCopiedAt] = [16, 96];

/**
 * The index of one database. Its file stays open until the process ends: closing a file gives up the locks that the
 * process holds on it, and SQLite's own locks are on this one (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export class LogIndex {
  readonly #path: string;
  readonly #bytes = Buffer.alloc(lastCopiedAt + 4);
  #file: number | null = null;

  /** @param path the database; it is open as long as pages are counted */
  constructor(path: string) {
    this.#path = path;
  }

  /** Pages of the log that are not in the file yet; 0 without an index. */
  pagesToCopy(): number {
    try {
      this.#file ??= openSync(`${this.#path}-shm`, 'r');
      readSync(this.#file, this.#bytes, 0, this.#bytes.length, 0);
    } catch {
      return 0;
    }
    return Math.max(0, this.#numberAt(lastPageAt) - this.#numberAt(lastCopiedAt));
  }

  #numberAt(at: number): number {
    return endianness() === 'LE' ? this.#bytes.readUInt32LE(at) : this.#bytes.readUInt32BE(at);
  }
}

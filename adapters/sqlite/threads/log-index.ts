// Reads the index of the write-ahead log, the `-shm` file (https://sqlite.org/walformat.html).
import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** Of the last page that is in the log, and of the last one that was copied into the file. */
const [lastPageAt, lastCopiedAt] = [16, 96];

/** Pages of the log that are not in the file yet; 0 without an index. */
export function pagesToCopy(path: string): number {
  const bytes = Buffer.alloc(lastCopiedAt + 4);
  try {
    const file = openSync(`${path}-shm`, 'r');
    try {
      readSync(file, bytes, 0, bytes.length, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    return 0;
  }
  const numberAt = (at: number): number =>
    endianness() === 'LE' ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
  return Math.max(0, numberAt(lastPageAt) - numberAt(lastCopiedAt));
}

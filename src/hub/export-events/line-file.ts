// The file of `reeve export-events --to FILE`, and the cursor beside it. Lines are on disk before the cursor is, and
// each line contains its own cursor: after a kill the export continues after the last whole line.
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { HubError } from '../../shared/error.ts';
import { cursorOfLine } from './line-source.ts';

interface SavedCursor {
  readonly cursor: string;
  /** Bytes of the file that the cursor is behind, and the file that they are of. */
  readonly bytes: number;
  readonly inode: number;
}

const scanBytes = 1024 * 1024;
const lineEnd = 0x0a;

export class LineFile {
  readonly #path: string;
  readonly #cursorPath: string;
  #cursor: string | null;

  /**
   * Opens the file, or makes it. A line that a kill cut off is removed.
   * @throws HubError when the file has lines that are of no export
   */
  constructor(path: string) {
    this.#path = path;
    this.#cursorPath = `${path}.cursor`;
    const saved = this.#readSaved();
    this.#cursor = this.#recover(saved) ?? saved?.cursor ?? null;
  }

  /** Behind the last line; null: at the beginning. */
  get cursor(): string | null {
    return this.#cursor;
  }

  /** Adds lines; when it returns, they and their cursor are on disk. */
  append(text: string, cursor: string): void {
    const file = openSync(this.#path, 'a', 0o600);
    try {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      fsyncSync(file);
      const { size, ino } = fstatSync(file);
      this.#save({ cursor, bytes: size, inode: ino });
    } finally {
      closeSync(file);
    }
    this.#cursor = cursor;
  }

  #readSaved(): SavedCursor | null {
    if (!existsSync(this.#cursorPath)) return null;
    try {
      const saved = JSON.parse(readFileSync(this.#cursorPath, 'utf8')) as SavedCursor;
      if (typeof saved.cursor === 'string' && Number.isInteger(saved.bytes)) return saved;
    } catch {
      // Named below.
    }
    throw new HubError(
      'conflict',
      `${this.#cursorPath} contains no cursor. Remove it to start again, or restore it from a back-up.`,
    );
  }

  #save(saved: SavedCursor): void {
    const temporary = `${this.#cursorPath}.new`;
    const file = openSync(temporary, 'w', 0o600);
    try {
      writeSync(file, `${JSON.stringify(saved)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, this.#cursorPath);
  }

  /** The cursor of the last whole line behind the saved place; null: there is none. */
  #recover(saved: SavedCursor | null): string | null {
    const file = openSync(this.#path, 'a+', 0o600);
    try {
      const { size, ino } = fstatSync(file);
      const isSame = saved !== null && saved.inode === ino && saved.bytes <= size;
      const from = isSame ? saved.bytes : 0;
      const { end, cursor } = lastLine(file, from, size);
      if (end < size) {
        // Lines of something else must not be cut.
        if (end === 0 && !isCutOffLine(file, size))
          throw new HubError('conflict', `${this.#path} is no file of an export. Choose another file.`);
        ftruncateSync(file, end);
        fsyncSync(file);
      }
      return cursor;
    } finally {
      closeSync(file);
    }
  }
}

/** The end of the last whole line between two places, and its cursor. */
function lastLine(
  file: number,
  from: number,
  size: number,
): { readonly end: number; readonly cursor: string | null } {
  let end = from;
  let cursor: string | null = null;
  let rest = Buffer.alloc(0);
  for (let at = from; at < size; ) {
    const chunk = Buffer.alloc(Math.min(scanBytes, size - at));
    const read = readSync(file, chunk, 0, chunk.length, at);
    if (read === 0) break;
    at += read;
    rest = Buffer.concat([rest, chunk.subarray(0, read)]);
    for (let line = rest.indexOf(lineEnd); line >= 0; line = rest.indexOf(lineEnd)) {
      try {
        cursor = cursorOfLine(rest.toString('utf8', 0, line));
      } catch {
        return { end, cursor };
      }
      end += line + 1;
      rest = rest.subarray(line + 1);
    }
  }
  return { end, cursor };
}

/** True for the beginning of one line of an export. */
function isCutOffLine(file: number, size: number): boolean {
  const chunk = Buffer.alloc(Math.min(scanBytes, size));
  readSync(file, chunk, 0, chunk.length, 0);
  return chunk[0] === '{'.charCodeAt(0) && !chunk.includes(lineEnd);
}

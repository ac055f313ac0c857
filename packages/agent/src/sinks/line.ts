// Records as lines of JSON: to the standard output, or appended to a file. Applies the payload cap.
import { type FileHandle, open } from 'node:fs/promises';
import { stdout } from 'node:process';
import { type AuditRecord, capPayload } from '../record.ts';
import { Serial } from '../serial.ts';
import type { Sink } from './sink.ts';

const lineOf = (record: AuditRecord): string => `${JSON.stringify(capPayload(record))}\n`;

/** One JSON line per record on the standard output, or wherever `write` puts it. */
export class StdoutSink implements Sink {
  readonly #write: (line: string) => unknown;

  constructor(write: (line: string) => unknown = (line) => stdout.write(line)) {
    this.#write = write;
  }

  async emit(record: AuditRecord): Promise<void> {
    this.#write(lineOf(record));
  }
}

/**
 * Appends one JSON line per record; the file is made by the first one, its folder must exist. Lines never interleave.
 */
export class FileSink implements Sink {
  readonly path: string;
  #file: Promise<FileHandle> | null = null;
  /** The last append failed, and may have left a part of its line. */
  #isTorn = false;
  readonly #serial = new Serial();

  constructor(path: string) {
    this.path = path;
  }

  emit(record: AuditRecord): Promise<void> {
    const line = lineOf(record);
    return this.#serial.run(async () => {
      this.#file ??= open(this.path, 'a', 0o600);
      this.#file.catch(() => {
        this.#file = null;
      });
      const file = await this.#file;
      const start = this.#isTorn && !(await this.#endsWhole().catch(() => false)) ? '\n' : '';
      this.#isTorn = true;
      await file.appendFile(start + line);
      this.#isTorn = false;
    });
  }

  /** True if the file is empty or ends with a whole line. @throws Error when it cannot be read, such as a pipe */
  async #endsWhole(): Promise<boolean> {
    const file = await open(this.path, 'r');
    try {
      const { size } = await file.stat();
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
      return size === 0 || buffer.toString() === '\n';
    } finally {
      await file.close();
    }
  }

  close(): Promise<void> {
    return this.#serial.run(async () => {
      const file = this.#file;
      this.#file = null;
      await (await file)?.close();
    });
  }
}

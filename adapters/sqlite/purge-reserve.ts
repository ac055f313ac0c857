// A file beside the database that holds disk space for the removal of events. Other programs cannot fill that space, so
// an administrator can sign in and purge events on a full disk. Keeps promise P23.
import { randomFillSync } from 'node:crypto';
import { open, rm, stat, truncate } from 'node:fs/promises';

const mebibyte = 1 << 20;
/** Part of the events' reserve, within these bounds, and at most `maxPart` of it. */
const size = { part: 0.25, min: 4 * mebibyte, max: 64 * mebibyte, maxPart: 0.5 };
/** Bytes that one sign-in on a full disk may take. */
const signInBytes = mebibyte / 4;

/** Bytes of the file, for an events' reserve of `reserve` bytes. */
export function purgeReserveBytes(reserve: number): number {
  const { part, min, max, maxPart } = size;
  return Math.round(Math.min(Math.max(reserve * part, min), max, reserve * maxPart));
}

export class PurgeReserve {
  readonly #path: string;
  /** Bytes of the file; null before the file was read. */
  #bytes: number | null = null;
  /** The last change of the file: changes go one after another. */
  #lastChange: Promise<unknown> = Promise.resolve();

  /** @param path the file; it may be missing */
  constructor(path: string) {
    this.#path = path;
  }

  /** Bytes of the file. */
  async bytes(): Promise<number> {
    this.#bytes ??= await stat(this.#path).then(
      (file) => file.size,
      () => 0,
    );
    return this.#bytes;
  }

  /** Grows the file to so many bytes. @throws Error of the system; the file then holds what had room */
  grow(bytes: number): Promise<void> {
    return this.#change(async () => {
      const file = await open(this.#path, 'a', 0o600);
      // Random bytes, because file systems that compress would store zeros without space.
      const block = randomFillSync(Buffer.alloc(mebibyte));
      try {
        for (let held = await this.bytes(); held < bytes; held = await this.bytes()) {
          const { bytesWritten } = await file.write(block, 0, Math.min(bytes - held, block.length));
          this.#bytes = held + bytesWritten;
        }
      } finally {
        await file.close();
      }
    });
  }

  /** Gives all space back, for a purge. @returns whether there was any */
  release(): Promise<boolean> {
    return this.#change(async () => {
      const hadSpace = (await this.bytes()) > 0;
      await rm(this.#path, { force: true });
      this.#bytes = 0;
      return hadSpace;
    });
  }

  /** Gives back the space of one sign-in, if at least `keptBytes` remain. @returns whether it did */
  releaseSignIn(keptBytes: number): Promise<boolean> {
    return this.#change(async () => {
      const left = (await this.bytes()) - signInBytes;
      if (left < keptBytes) return false;
      await truncate(this.#path, left);
      this.#bytes = left;
      return true;
    });
  }

  #change<T>(task: () => Promise<T>): Promise<T> {
    const change = this.#lastChange.then(task);
    this.#lastChange = change.catch(() => {});
    return change;
  }
}

/** The space that is kept beside the database at `path`. */
export const purgeReserveOf = (path: string): PurgeReserve => new PurgeReserve(`${path}.reserve`);

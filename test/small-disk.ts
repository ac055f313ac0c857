// A real disk that is soon full, for tests: a memory file system of a few megabytes. Needs the right to mount;
// `canMount` says whether it is there.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SmallDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'reeve-disk-'));
  readonly #filler = join(this.folder, 'filler');

  /** @throws Error when this process may not mount */
  constructor(mebibytes: number) {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', this.folder], {
        stdio: 'pipe',
      });
    } catch (error) {
      rmdirSync(this.folder);
      throw error;
    }
  }

  get free(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Takes all space but about so many bytes, with a file of its own. */
  fill(leave = 0): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (let left = this.free - leave; left > 0; left = this.free - leave) {
        writeSync(file, Buffer.alloc(Math.min(left, 1 << 20)));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what `fill` took. */
  drain(): void {
    rmSync(this.#filler, { force: true });
  }

  /** Only once no process uses it any more. */
  remove(): void {
    execFileSync('umount', ['-l', this.folder], { stdio: 'pipe' });
    rmdirSync(this.folder);
  }
}

export const canMount: boolean = (() => {
  try {
    new SmallDisk(1).remove();
    return true;
  } catch {
    return false;
  }
})();

/** A text that packing makes little smaller, so that events of it fill a disk. */
export const noise = (bytes: number): string => randomBytes(bytes).toString('base64').slice(0, bytes);

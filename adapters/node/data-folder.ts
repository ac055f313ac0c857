// Small files beside the data: each appears whole or not at all, on disk when written, readable by its owner alone.
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Makes the folder, for its owner alone, unless it exists. */
export const makeFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
};

/** The file's text without blanks at its ends; null when there is no such file. Takes everybody else's rights away. */
export function readKept(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Makes what was renamed or linked in the folder survive a power cut. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function withDraft(path: string, text: string, publish: (draft: string) => void): void {
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'w', 0o600);
  try {
    try {
      writeSync(file, `${text}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    publish(draft);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Gives a finished file its name, unless a file of that name exists, even a newly made one. False if one exists. */
export function publishFirst(draft: string, path: string): boolean {
  try {
    // A link never replaces a file.
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // File systems without links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    if (existsSync(path)) return false;
    renameSync(draft, path);
    return true;
  }
  rmSync(draft);
  return true;
}

/** Writes the file unless there is one already; a process killed here leaves no half file. */
export function keepFirst(path: string, text: string): void {
  withDraft(path, text, (draft) => {
    if (!publishFirst(draft, path)) rmSync(draft);
  });
}

/** Gives files that the administrator made to the user whose folder it is: the hub must be able to open them. */
export function ownAsFolder(folder: string, paths: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  for (const path of paths) if (existsSync(path)) chownSync(path, uid, gid);
}

/** Bytes of the folder's disk: those that may still be written, and its size. */
export function diskSpaceOf(folder: string): { readonly free: number; readonly total: number } {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}

/** Writes the file in place of the one that is there. */
export function keepInstead(path: string, text: string): void {
  withDraft(path, text, (draft) => renameSync(draft, path));
}

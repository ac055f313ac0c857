// Small files beside the data: each appears whole or not at all, on disk when written, readable by its owner alone.
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
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

/** Writes the file unless there is one already; a process killed here leaves no half file. */
export function keepFirst(path: string, text: string): void {
  withDraft(path, text, (draft) => {
    try {
      // A link never replaces a file that another process made meanwhile.
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    rmSync(draft);
  });
}

/** Writes the file in place of the one that is there. */
export function keepInstead(path: string, text: string): void {
  withDraft(path, text, (draft) => renameSync(draft, path));
}

// A mark in the data folder: when a back-up was last written. The hub reads its time, and its metrics show it.
import { rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { keepInstead } from './data-folder.ts';

const markOf = (dataDir: string): string => join(dataDir, 'last-backup');

/** False if the folder cannot be written: the back-up itself is good. */
export function markBackup(dataDir: string, createdAt: string): boolean {
  try {
    keepInstead(markOf(dataDir), createdAt);
    return true;
  } catch {
    return false;
  }
}

/** For a folder whose hub is replaced: none of the new hub's back-ups was written. */
export const removeBackupMark = (dataDir: string): void => rmSync(markOf(dataDir), { force: true });

/** Epoch milliseconds; 0 without a mark. The time of the file, because its owner may be another user. */
export const lastBackupAt = (dataDir: string): Promise<number> =>
  stat(markOf(dataDir)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

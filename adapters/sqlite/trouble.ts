// Advice for the person who runs the hub when SQLite refuses to open, read or write the store's file.
import { dirname } from 'node:path';
import { HubError } from '../../src/shared/error.ts';

/** `foreign`: the file is no database, or another program's. `failing`: the disk answers with errors. */
export type Trouble = 'full' | 'damaged' | 'foreign' | 'forbidden' | 'locked' | 'failing';

/** SQLite's primary result codes (https://www.sqlite.org/rescode.html). */
const ofResult: { readonly [code: number]: Trouble } = {
  3: 'forbidden',
  5: 'locked',
  6: 'locked',
  8: 'forbidden',
  10: 'failing',
  11: 'damaged',
  13: 'full',
  14: 'forbidden',
  26: 'foreign',
};

/** SQLITE_IOERR_SHMSIZE: the shared memory beside the file could not grow, for want of room. */
const noRoomForMemory = 4874;

/**
 * True when a failed commit may be there after all once the process has died: it was in the log, and only the index of
 * the log had no room. The next commit overwrites the failed one.
 */
export const isUncertain = (error: unknown): boolean =>
  (error as { readonly rawCode?: unknown } | null)?.rawCode === noRoomForMemory;

/** The trouble that an error stands for; null for any other error. */
export function troubleOf(error: unknown): Trouble | null {
  if (!(error instanceof Error)) return null;
  const { rawCode } = error as { readonly rawCode?: unknown };
  if (rawCode === noRoomForMemory) return 'full';
  if (typeof rawCode === 'number') return ofResult[rawCode & 0xff] ?? null;
  // The binding reports a file that it cannot open as text with the result code at its end.
  const opening = /^ConnectionFailed\(.*: (\d+)"\)$/.exec(error.message);
  return opening ? (ofResult[Number(opening[1])] ?? null) : null;
}

const advice = {
  full: (_path: string, folder: string) =>
    `The disk of ${folder} is full. Free space there, then start again.`,
  damaged: (path: string, _folder: string, cause: string) =>
    `The database ${path} is damaged (${cause}). Keep a copy of its folder, then restore a back-up.`,
  foreign: (path: string, _folder: string, cause: string) =>
    `${path} is not a Reeve database (${cause}). Set DATA_DIR to another folder, or restore a back-up there.`,
  forbidden: (path: string, folder: string, cause: string) =>
    `${path} cannot be opened (${cause}). Make the user that runs this command the owner of ${folder}, with write access.`,
  locked: (path: string, _folder: string, cause: string) =>
    `Another program locks ${path} (${cause}). Close that program, then start again.`,
  failing: (path: string, _folder: string, cause: string) =>
    `${path} cannot be read or written (${cause}). Check the system log for disk errors.`,
} as const satisfies { readonly [T in Trouble]: (path: string, folder: string, cause: string) => string };

const codes = {
  full: 'disk_full',
  damaged: 'unavailable',
  foreign: 'conflict',
  forbidden: 'unavailable',
  locked: 'conflict',
  failing: 'unavailable',
} as const;

/**
 * Reason why the file could not be opened, in one line with its remedy; errors of the system as they are. Opening runs
 * the same statements every time, and they fit every file of ours. So an error without a known cause means that the
 * file lacks its proper content.
 */
export function openingError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof HubError || 'syscall' in error) return error;
  const trouble = troubleOf(error) ?? 'damaged';
  return new HubError(codes[trouble], advice[trouble](path, dirname(path), error.message));
}

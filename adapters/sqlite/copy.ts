// Copies a whole database while others read and write it, and checks one that nobody uses: for back-ups. Knows no
// format of back-ups. Keeps promise P24.
import { dirname } from 'node:path';
import { HubError } from '../../src/shared/error.ts';
import { Database } from './database.ts';
import { errorOf, type Failure } from './failure.ts';
import { identityOf } from './hub-id.ts';
import { checkOurs, versionOf } from './schema/index.ts';
import { startWorker } from './threads/start-worker.ts';
import { troubleOf } from './trouble.ts';

/** Facts about a database, read from its tables. */
export interface Facts {
  readonly hubId: string;
  readonly isSetUp: boolean;
  /** Version of the tables. */
  readonly schema: number;
  /** The text that only the right master secret opens; null in a hub that was never started. */
  readonly sealed: string | null;
}

export type CopyTask =
  | { readonly kind: 'copy'; readonly path: string; readonly to: string }
  | { readonly kind: 'check'; readonly path: string };

export type CopyMessage =
  /** Approximate size of the finished copy. */
  | { readonly kind: 'bytes'; readonly bytes: number }
  | { readonly kind: 'done'; readonly facts: Facts }
  | { readonly kind: 'failed'; readonly failure: Failure };

/**
 * Writes all that is committed now into another file, without deleted rows. Others may write during the copy; their log
 * grows until the copy ends.
 * @param to an empty file
 */
export function copyTo(path: string, to: string, onBytes: (bytes: number) => void): void {
  const db = new Database(path);
  checkOurs(db, path);
  const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.get(`PRAGMA ${name}`)?.[0]),
  ) as [number, number, number];
  onBytes((pages - free) * size);
  try {
    db.run('VACUUM INTO ?', [to]);
  } catch (error) {
    if (troubleOf(error) !== 'full') throw error;
    throw new HubError(
      'disk_full',
      `The disk of ${dirname(to)} is full. Free space there, or back up to another disk.`,
    );
  } finally {
    db.close();
  }
}

/** @param thorough reads every page and compares every index with its table */
export function inspect(path: string, thorough: boolean): Facts {
  const db = new Database(path);
  try {
    checkOurs(db, path);
    if (versionOf(db) === 0)
      throw new HubError('not_found', `${path} is empty, because no hub has used it. Set DATA_DIR.`);
    const [verdict] = thorough ? (db.get('PRAGMA integrity_check(1)') ?? []) : ['ok'];
    if (verdict !== 'ok') throw new Error(String(verdict).slice(0, 200));
    const row = db.get(`SELECT value FROM seals WHERE name = 'master'`);
    const { id, isSetUp } = identityOf(db);
    return {
      hubId: id,
      isSetUp,
      schema: versionOf(db),
      sealed: row === undefined ? null : String(row[0]),
    };
  } finally {
    db.close();
  }
}

function run(task: CopyTask, onBytes: (bytes: number) => void): Promise<Facts> {
  return new Promise((resolve, reject) => {
    const worker = startWorker('copy-thread', `store-${task.kind}`, task);
    let ended: CopyMessage | null = null;
    worker.on('message', (message: CopyMessage) => {
      if (message.kind === 'bytes') onBytes(message.bytes);
      else ended = message;
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      if (ended?.kind === 'done') resolve(ended.facts);
      else reject(ended?.kind === 'failed' ? errorOf(ended.failure) : new Error('the copying thread ended'));
    });
  });
}

/**
 * Copies the database of a hub, which may be running, as it is at one moment. The copy contains every write that was
 * acknowledged before the call.
 * @param to an empty file on a disk with enough room
 * @throws HubError in one line
 */
export const copyDatabase = (path: string, to: string, onBytes: (bytes: number) => void): Promise<Facts> =>
  run({ kind: 'copy', path, to }, onBytes);

/**
 * Checks every page of a database that nobody uses.
 * @throws HubError in one line when it is damaged, not ours, or of a newer version
 */
export const checkDatabase = (path: string): Promise<Facts> => run({ kind: 'check', path }, () => {});

// The store of a stopped hub as the source of a move. Holds the store's lock, so no hub starts on it during the move.
import type { MovedRecords, RecordKind } from '../../../src/shared/ports/moved-records.ts';
import { checkIdentity, checkPresent, type HubIdFile, identityOf } from '../hub-id.ts';
import { lockStore } from '../lock.ts';
import { openFile } from '../open.ts';
import { UsageWriter } from '../usage/write.ts';
import { activityReaders } from './activity.ts';
import { exportReaders } from './exports.ts';
import { libraryReaders } from './library.ts';
import { peopleReaders, type Readers } from './people.ts';

const readers: Readers<RecordKind> = {
  ...peopleReaders,
  ...libraryReaders,
  ...activityReaders,
  ...exportReaders,
};

export interface MoveSource {
  readonly hubId: string;
  readonly isSetUp: boolean;
  /** The text that only the right master secret opens; null in a hub that was never started. */
  readonly sealed: string | null;
  /** Roughly how many records there are. */
  readonly total: number;
  /**
   * Records of a kind, in the same order at every reading.
   * @param now records that have expired by then are left out; jobs are due then or later
   */
  records<K extends RecordKind>(kind: K, now: number): Iterable<readonly MovedRecords[K][]>;
  close(): void;
}

/**
 * Opens the store of a hub that is not running, and brings it to the newest schema, as a start of the hub does.
 * @throws HubError in one line with the remedy
 */
export function openMoveSource(path: string, hubIdFile: HubIdFile): MoveSource {
  checkPresent(path, hubIdFile);
  const lock = lockStore(path);
  try {
    const db = openFile(path, { cacheBytes: 64 << 20, checkpointPages: 4000 });
    // Runs follow events within a second: a hub that was killed left some uncounted.
    new UsageWriter(db).load();
    const identity = identityOf(db);
    checkIdentity(path, identity, hubIdFile);
    const count = (sql: string): number => Number(db.get(sql)?.[0] ?? 0);
    const rows = ['approvals', 'registrations', 'runs', 'audit_links', 'session_values', 'deliveries'];
    return {
      hubId: identity.id,
      isSetUp: identity.isSetUp,
      sealed: (db.get(`SELECT value FROM seals WHERE name = 'master'`)?.[0] as string | undefined) ?? null,
      total: rows.reduce(
        (sum, name) => sum + count(`SELECT count(*) FROM ${name}`),
        count('SELECT sum(events) FROM segments'),
      ),
      records: (kind, now) => readers[kind](db, now),
      close() {
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

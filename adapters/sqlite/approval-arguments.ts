// The arguments of approvals in SQLite, kept apart from the approvals: lists never read them.

import type { ApprovalStore, KeptArgs } from '../../src/approval/port.ts';
import { argsRecord, largeArgs, type StoredArgs } from '../../src/approval/record.ts';
import {
  enoughToRemove,
  type Holding,
  largestHolders,
  missingBytes,
  type RemovableArgs,
} from '../../src/approval/rules/argument-quota.ts';
import type { Database } from './database.ts';
import { diskFull } from './failure.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const storedArgs = tableOf<StoredArgs>(argsRecord);
/** Arguments that are stored stay. */
export const insertArgs = `${storedArgs.insert} ON CONFLICT DO NOTHING`;

const removeArgs = (db: Database, tenantId: string, id: string) =>
  db.run('DELETE FROM approval_args WHERE tenant_id = ? AND id = ?', [tenantId, id]);

const isKept = (db: Database, { tenantId, id }: KeptArgs): boolean =>
  db.get('SELECT 1 FROM approval_args WHERE tenant_id = ? AND id = ?', [tenantId, id]) !== undefined;

const holdingsOf = (db: Database, { tenantId, env }: KeptArgs): readonly Holding[] =>
  db
    .all(
      `SELECT key_id, sum(bytes) FROM approval_args WHERE tenant_id = ? AND env = ? AND bytes > ${largeArgs}
         GROUP BY key_id`,
      [tenantId, env],
    )
    .map(([keyId, bytes]) => ({ keyId: keyId === null ? null : String(keyId), bytes: Number(bytes) }));

/** Large arguments of a key whose approvals have ended: timed out ones first, then oldest first. */
const removableOf = (
  db: Database,
  { tenantId, env, createdAt: now }: KeptArgs,
  keyId: string | null,
  limit: number,
): readonly RemovableArgs[] =>
  db
    .all(
      `SELECT a.id, a.bytes FROM approval_args a JOIN approvals p ON p.tenant_id = a.tenant_id AND p.id = a.id
         WHERE a.tenant_id = ?1 AND a.env = ?2 AND a.key_id IS ?3 AND a.bytes > ${largeArgs}
           AND (p.status <> 'pending' OR p.deadline <= ?4)
         ORDER BY p.status IN ('timeout', 'pending') DESC, a.created_at, a.id LIMIT ?5`,
      [tenantId, env, keyId, now, limit],
    )
    .map(([id, bytes]) => ({ id: String(id), bytes: Number(bytes) }));

/** False when too few arguments may be removed: all of them stay. */
function makeRoom(db: Database, args: KeptArgs, quota: number): boolean {
  const holdings = holdingsOf(db, args);
  const missing = missingBytes(holdings, args, quota);
  if (missing <= 0 || isKept(db, args)) return true;
  if (args.bytes > quota) return false;
  // None of them is smaller.
  const limit = Math.ceil(missing / largeArgs);
  const removable: RemovableArgs[] = [];
  for (const keyId of largestHolders(holdings, args)) {
    removable.push(...removableOf(db, args, keyId, limit));
    const ids = enoughToRemove(removable, missing);
    for (const id of ids ?? []) removeArgs(db, args.tenantId, id);
    if (ids) return true;
  }
  return false;
}

function createArgs(
  db: Database,
  mayGrow: () => boolean,
  args: KeptArgs,
  quota: number,
): 'created' | 'kept' | 'full' {
  if (args.bytes > largeArgs) {
    if (!mayGrow()) throw diskFull();
    if (!makeRoom(db, args, quota)) return 'full';
  }
  return db.run(insertArgs, storedArgs.values(args)) > 0 ? 'created' : 'kept';
}

/** @param mayGrow false while the disk has too little room for what can wait */
export const approvalArguments = (
  db: Database,
  mayGrow: () => boolean,
): Pick<Sync<ApprovalStore>, 'createArgs' | 'removeArgs' | 'removeLargeArgs'> => ({
  createArgs: (args, quota) => createArgs(db, mayGrow, args, quota),
  removeArgs(tenantId, id) {
    removeArgs(db, tenantId, id);
  },
  removeLargeArgs: (before, limit) =>
    db.run(
      `DELETE FROM approval_args WHERE rowid IN (SELECT rowid FROM approval_args
         WHERE created_at < ? AND bytes > ${largeArgs} ORDER BY created_at LIMIT ?)`,
      [before, limit],
    ),
});

// Signing keys and their rotation in SQLite.

import type { NewSignature, SigningStore } from '../../src/signing/port.ts';
import {
  type KeySuccession,
  maxSuccessions,
  type SigningKey,
  signingKeyRecord,
  successionRecord,
} from '../../src/signing/record.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const signingKeys = tableOf<SigningKey>(signingKeyRecord);

export const keySuccessions = tableOf<KeySuccession & { readonly tenantId: string }>(successionRecord);

/** Id of the tenant's active key. */
export function activeKeyId(db: Database, tenantId: string): string | null {
  const row = db.get('SELECT id FROM signing_keys WHERE tenant_id = ? AND active = 1', [tenantId]);
  return row ? String(row[0]) : null;
}

const createKey = (db: Database, key: SigningKey) =>
  db.run(signingKeys.insert, signingKeys.values({ ...key, active: true }));

/** True when the ids are the current deployments of the tenant, each once. */
function areCurrent(db: Database, tenantId: string, ids: readonly string[]): boolean {
  const current = db.all('SELECT id FROM deployments WHERE tenant_id = ? AND is_current = 1', [tenantId]);
  const idSet = new Set(ids);
  return (
    idSet.size === ids.length &&
    idSet.size === current.length &&
    current.every(([id]) => idSet.has(String(id)))
  );
}

function keepSuccession(db: Database, tenantId: string, succession: KeySuccession | null): void {
  if (succession) db.run(keySuccessions.insert, keySuccessions.values({ tenantId, ...succession }));
  db.run(
    `DELETE FROM key_successions WHERE tenant_id = ?1 AND id NOT IN
       (SELECT id FROM key_successions WHERE tenant_id = ?1 ORDER BY id DESC LIMIT ?2)`,
    [tenantId, succession ? maxSuccessions : 0],
  );
}

function rotateKey(
  db: Database,
  tenantId: string,
  expectedId: string,
  next: SigningKey,
  signatures: readonly NewSignature[],
  succession: KeySuccession | null,
): 'rotated' | 'changed' {
  const ids = signatures.map((s) => s.deploymentId);
  if (activeKeyId(db, tenantId) !== expectedId || !areCurrent(db, tenantId, ids)) return 'changed';
  db.run("UPDATE signing_keys SET active = 0, sealed_seed = '' WHERE id = ?", [expectedId]);
  createKey(db, next);
  keepSuccession(db, tenantId, succession);
  for (const { deploymentId, signature, attestation } of signatures) {
    db.run(
      'UPDATE deployments SET signature = ?, public_key = ?, signing_key_id = ?, attestation = ? WHERE id = ?',
      [signature, next.publicKey, next.id, attestation, deploymentId],
    );
    db.run(
      `UPDATE bundles SET signature = ? FROM deployments d
         WHERE d.id = ? AND bundles.tenant_id = d.tenant_id AND bundles.name = d.bundle_name
           AND bundles.version = d.version`,
      [signature, deploymentId],
    );
  }
  return 'rotated';
}

export const signingStore = (db: Database): Sync<SigningStore> => ({
  getActive: (tenantId) =>
    signingKeys.maybe(
      db.get(`SELECT ${signingKeys.columns} FROM signing_keys WHERE tenant_id = ? AND active = 1`, [
        tenantId,
      ]),
    ),
  create(key) {
    if (activeKeyId(db, key.tenantId) !== null) return 'exists';
    createKey(db, key);
    return 'created';
  },
  listSuccessions: (tenantId) =>
    db
      .all(`SELECT ${keySuccessions.columns} FROM key_successions WHERE tenant_id = ? ORDER BY id`, [
        tenantId,
      ])
      .map((row) => {
        const { tenantId: _tenantId, ...succession } = keySuccessions.read(row);
        return succession;
      }),
  rotate: (tenantId, expectedId, next, signatures, succession) =>
    rotateKey(db, tenantId, expectedId, next, signatures, succession),
});

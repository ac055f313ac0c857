// Requests under an Idempotency-Key, in SQLite: a row each, with its answer.
import type { IdempotencyStore, StoredAnswer } from '../../src/shared/ports/idempotency.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';

export const idempotencyTable = `
CREATE TABLE idempotency (
  tenant_id TEXT NOT NULL, id TEXT NOT NULL, body_hash TEXT NOT NULL, new_id TEXT NOT NULL,
  runs_until INTEGER NOT NULL, expires_at INTEGER NOT NULL, answer TEXT,
  PRIMARY KEY (tenant_id, id)) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);
`;

export function idempotencyStore(db: Database): Sync<IdempotencyStore> {
  return {
    claim({ tenantId, id, bodyHash }, newId, { now, runsUntil, expiresAt }) {
      const claimed = db.get(
        `INSERT INTO idempotency (tenant_id, id, body_hash, new_id, runs_until, expires_at)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6)
           ON CONFLICT (tenant_id, id) DO UPDATE SET
             body_hash = excluded.body_hash,
             new_id = CASE WHEN expires_at > ?7 THEN new_id ELSE excluded.new_id END,
             expires_at = CASE WHEN expires_at > ?7 THEN expires_at ELSE excluded.expires_at END,
             runs_until = excluded.runs_until,
             answer = NULL
           WHERE expires_at <= ?7 OR (answer IS NULL AND runs_until <= ?7 AND body_hash = excluded.body_hash)
           RETURNING new_id`,
        [tenantId, id, bodyHash, newId, runsUntil, expiresAt, now],
      );
      if (claimed) return { kind: 'claimed', newId: String(claimed[0]) };
      const stored = db.get(
        'SELECT body_hash, new_id, answer FROM idempotency WHERE tenant_id = ? AND id = ?',
        [tenantId, id],
      );
      if (stored?.[0] !== bodyHash) return { kind: 'reused' };
      if (stored[2] === null) return { kind: 'running' };
      return {
        kind: 'answered',
        newId: String(stored[1]),
        answer: JSON.parse(String(stored[2])) as StoredAnswer,
      };
    },
    find({ tenantId, id, bodyHash }, now) {
      const stored = db.get(
        'SELECT answer FROM idempotency WHERE tenant_id = ? AND id = ? AND body_hash = ? AND expires_at > ?',
        [tenantId, id, bodyHash, now],
      );
      return stored?.[0] ? (JSON.parse(String(stored[0])) as StoredAnswer) : null;
    },
    answered({ tenantId, id }, newId, answer) {
      db.run('UPDATE idempotency SET answer = ? WHERE tenant_id = ? AND id = ? AND new_id = ?', [
        JSON.stringify(answer),
        tenantId,
        id,
        newId,
      ]);
    },
    release({ tenantId, id }, newId, now) {
      db.run(
        `UPDATE idempotency SET runs_until = min(runs_until, ?)
           WHERE tenant_id = ? AND id = ? AND new_id = ? AND answer IS NULL`,
        [now, tenantId, id, newId],
      );
    },
    removeExpired: (now, limit) =>
      db.run(
        `DELETE FROM idempotency WHERE (tenant_id, id) IN
           (SELECT tenant_id, id FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
        [now, limit],
      ),
  };
}

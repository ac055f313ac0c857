// Figures over all tenants in SQLite: indexes answer all of them.
import { isEnv } from '../../src/shared/ids.ts';
import type { InstallationStore } from '../../src/shared/ports/installation.ts';
import type { Database } from './database.ts';
import type { Sync } from './sync.ts';

const unsignedSince = `SELECT min((
  SELECT l.at FROM audit_links l WHERE l.tenant_id = t.id
    AND l.seq > ifnull((SELECT max(h.seq) FROM audit_heads h WHERE h.tenant_id = t.id), 0)
  ORDER BY l.seq LIMIT 1)) FROM tenants t`;

const numberOf = (value: unknown): number | null => (value === null ? null : Number(value));

export const installationStore = (db: Database): Sync<InstallationStore> => ({
  figures() {
    const pending = db.all(`SELECT env, count(*) FROM approvals WHERE status = 'pending' GROUP BY env`);
    const [pages] = db.get('PRAGMA page_count') ?? [0];
    const [pageBytes] = db.get('PRAGMA page_size') ?? [0];
    const [since = null] = db.get(unsignedSince) ?? [];
    return {
      pendingApprovals: Object.fromEntries(
        pending.flatMap(([env, count]) => (isEnv(env) ? [[env, Number(count)]] : [])),
      ),
      storeBytes: Number(pages) * Number(pageBytes),
      unsignedSince: numberOf(since),
    };
  },
});

// Bundle versions in SQLite. The bytes of a bundle stand in a table of their own, so that listings read little.

import type { BundleStore, NewBundle } from '../../src/bundle/port.ts';
import { type BundleSummary, type BundleVersion, bundleRecord } from '../../src/bundle/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { Page, PageRequest } from '../../src/shared/ports/page.ts';
import { type Database, givenText } from './database.ts';
import { pageOf } from './page.ts';
import type { Sync } from './sync.ts';
import { tableOf } from './table.ts';

export const bundles = tableOf<BundleVersion>(bundleRecord);

// SQLite takes the other columns of a group from the row that has the maximum: contract_count of the latest version.
const summariesOf = `
  SELECT b.name, max(b.version), count(*), b.contract_count,
    (SELECT max(created_at) FROM bundles u WHERE u.tenant_id = b.tenant_id AND u.name = b.name
       AND u.deleted_at IS NULL AND (?2 IS NULL OR EXISTS (SELECT 1 FROM deployments d WHERE d.tenant_id = u.tenant_id
         AND d.bundle_name = u.name AND d.version = u.version AND d.env = ?2))) AS uploaded,
    (SELECT max(created_at) FROM deployments d WHERE d.tenant_id = b.tenant_id AND d.bundle_name = b.name
       AND (?2 IS NULL OR d.env = ?2)),
    (SELECT json_group_array(env) FROM (SELECT env FROM deployments d WHERE d.tenant_id = b.tenant_id
       AND d.bundle_name = b.name AND d.is_current = 1 AND (?2 IS NULL OR d.env = ?2) ORDER BY env))
  FROM bundles b
  WHERE b.tenant_id = ?1 AND b.deleted_at IS NULL AND (?2 IS NULL OR EXISTS (SELECT 1 FROM deployments d WHERE d.tenant_id = b.tenant_id
    AND d.bundle_name = b.name AND d.version = b.version AND d.env = ?2))
  GROUP BY b.name`;
const summaryOrders = { newest: 'uploaded DESC, b.name', name: 'b.name' } as const;

const oneVersion = 'WHERE tenant_id = ? AND name = ? AND version = ? AND deleted_at IS NULL';

/** @param after the newest version that must be there; null: whichever is */
function uploadVersion(
  db: Database,
  { yaml, ...bundle }: NewBundle,
  after: number | null,
): BundleVersion | 'changed' {
  const stored = db.get(`SELECT ${bundles.columns} FROM bundles WHERE id = ?`, [bundle.id]);
  if (stored) return bundles.read(stored);
  if (after !== null) {
    const there = db.get(
      'SELECT max(version) FROM bundles WHERE tenant_id = ? AND name = ? AND deleted_at IS NULL',
      [bundle.tenantId, bundle.name],
    )?.[0];
    if (Number(there ?? 0) !== after) return 'changed';
  }
  const last = db.get('SELECT max(version) FROM bundles WHERE tenant_id = ? AND name = ?', [
    bundle.tenantId,
    bundle.name,
  ])?.[0];
  const newVersion: BundleVersion = { ...bundle, version: Number(last ?? 0) + 1, signature: null };
  db.run(bundles.insert, bundles.values(newVersion));
  db.run('INSERT INTO bundle_yaml (bundle_id, yaml) VALUES (?, ?)', [bundle.id, yaml]);
  return newVersion;
}

function summariesOn(
  db: Database,
  tenantId: string,
  env: Env | null,
  { limit, offset }: PageRequest,
  order: 'newest' | 'name' = 'newest',
): Page<BundleSummary> {
  const page = `${summariesOf} ORDER BY ${summaryOrders[order]} LIMIT ? OFFSET ?`;
  const rows = db.all(page, [tenantId, env, limit + 1, offset]);
  const items = rows.slice(0, limit).map(
    ([name, latest, count, contractCount, uploaded, deployed, envs]): BundleSummary => ({
      name: givenText(String(name)),
      latestVersion: Number(latest),
      versionCount: Number(count),
      lastUpdated: Number(uploaded),
      deployedEnvs: JSON.parse(String(envs)) as Env[],
      contractCount: contractCount === null ? null : Number(contractCount),
      lastDeployedAt: deployed === null ? null : Number(deployed),
    }),
  );
  return { items, more: rows.length > limit };
}

function removeBundle(db: Database, tenantId: string, name: string, at: number, ifVersion?: number) {
  const living = 'WHERE tenant_id = ? AND name = ? AND deleted_at IS NULL';
  const newest = db.get(`SELECT max(version) FROM bundles ${living}`, [tenantId, name])?.[0] ?? null;
  if (newest === null) return 'absent';
  if (ifVersion !== undefined && Number(newest) !== ifVersion) return 'changed';
  const deployed =
    'SELECT 1 FROM deployments WHERE tenant_id = ? AND bundle_name = ? AND is_current = 1 LIMIT 1';
  if (db.get(deployed, [tenantId, name])) return 'deployed';
  db.run(`DELETE FROM bundle_yaml WHERE bundle_id IN (SELECT id FROM bundles ${living})`, [tenantId, name]);
  db.run(`UPDATE bundles SET deleted_at = ?, snapshot = NULL ${living}`, [at, tenantId, name]);
  return 'removed';
}

export const bundleStore = (db: Database): Sync<BundleStore> => ({
  upload: (bundle) => uploadVersion(db, bundle, null) as BundleVersion,
  uploadAfter: (bundle, after) => uploadVersion(db, bundle, after),
  getVersion: (tenantId, name, version) =>
    bundles.maybe(db.get(`SELECT ${bundles.columns} FROM bundles ${oneVersion}`, [tenantId, name, version])),
  listVersions: (tenantId, name, page) =>
    pageOf(db, page, {
      which: `SELECT rowid FROM bundles WHERE tenant_id = ? AND name = ? AND deleted_at IS NULL
        ORDER BY version DESC`,
      params: [tenantId, name],
      row: `SELECT ${bundles.columns} FROM bundles WHERE rowid = ?`,
      read: bundles.read,
    }),
  getYaml(tenantId, name, version) {
    const row = db.get(
      `SELECT y.yaml FROM bundles b JOIN bundle_yaml y ON y.bundle_id = b.id
         WHERE b.tenant_id = ? AND b.name = ? AND b.version = ? AND b.deleted_at IS NULL`,
      [tenantId, name, version],
    );
    return row ? new Uint8Array(row[0] as Uint8Array) : null;
  },
  listByRevision: (tenantId, revisionHash) =>
    db
      .all(
        `SELECT name, version FROM bundles WHERE tenant_id = ? AND revision_hash = ? AND deleted_at IS NULL
           ORDER BY created_at DESC, rowid DESC LIMIT 100`,
        [tenantId, revisionHash],
      )
      .map(([name, version]) => ({ name: givenText(String(name)), version: Number(version) })),
  list: (tenantId, env, page, order) => summariesOn(db, tenantId, env, page, order),
  remove: (tenantId, name, at, ifVersion) => removeBundle(db, tenantId, name, at, ifVersion),
});

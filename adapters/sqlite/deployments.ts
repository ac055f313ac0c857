// Deployments in SQLite. The newest of a bundle in an environment carries is_current.

import type { DeploymentFilter, DeploymentPageRequest, DeploymentStore } from '../../src/deployment/port.ts';
import { type Deployment, deploymentRecord, type Undeployment } from '../../src/deployment/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import type { Database } from './database.ts';
import { pageOf } from './page.ts';
import { activeKeyId } from './signing.ts';
import type { Sync } from './sync.ts';
import { envsParameter, inEnvs, tableOf } from './table.ts';

export const deployments = tableOf<Deployment>(deploymentRecord);

const select = `SELECT ${deployments.columns} FROM deployments`;
const currentOne = `${select} WHERE tenant_id = ? AND env = ? AND bundle_name = ? AND is_current = 1`;

const within = (column: string): string =>
  `(?4 IS NULL OR ${column} >= ?4) AND (?5 IS NULL OR ${column} < ?5)`;

/** A row if version ?5 ran before the deployment with sequence ?4, and another version right before it. */
const rollback = `SELECT 1 FROM deployments WHERE tenant_id = ?1 AND bundle_name = ?3 AND version = ?5 AND env = ?2
  AND sequence < ?4 AND ?5 <> (SELECT version FROM deployments
    WHERE tenant_id = ?1 AND env = ?2 AND bundle_name = ?3 AND sequence < ?4 ORDER BY sequence DESC LIMIT 1) LIMIT 1`;

const getLastSequence = (db: Database, tenantId: string, env: string, bundleName: string): number =>
  Number(
    db.get('SELECT last FROM deployment_sequences WHERE tenant_id = ? AND env = ? AND bundle_name = ?', [
      tenantId,
      env,
      bundleName,
    ])?.[0] ?? 0,
  );

function deploy(
  db: Database,
  deployment: Deployment,
): Deployment | 'no_version' | 'stale_key' | 'stale_sequence' {
  const stored = db.get(`${select} WHERE id = ?`, [deployment.id]);
  if (stored) return deployments.read(stored);
  const { tenantId, env, bundleName, version } = deployment;
  const key = [tenantId, bundleName, version];
  const exists = `SELECT 1 FROM bundles WHERE tenant_id = ? AND name = ? AND version = ? AND deleted_at IS NULL`;
  if (!db.get(exists, key)) return 'no_version';
  if (activeKeyId(db, tenantId) !== deployment.signingKeyId) return 'stale_key';
  if (deployment.sequence <= getLastSequence(db, tenantId, env, bundleName)) return 'stale_sequence';
  db.run(
    'INSERT OR REPLACE INTO deployment_sequences (tenant_id, env, bundle_name, last) VALUES (?, ?, ?, ?)',
    [tenantId, env, bundleName, deployment.sequence],
  );
  db.run(
    'UPDATE deployments SET is_current = 0 WHERE tenant_id = ? AND env = ? AND bundle_name = ? AND is_current = 1',
    [tenantId, env, bundleName],
  );
  db.run(deployments.insert, deployments.values(deployment));
  db.run('UPDATE bundles SET signature = ? WHERE tenant_id = ? AND name = ? AND version = ?', [
    deployment.signature,
    ...key,
  ]);
  return deployment;
}

function undeploy(
  db: Database,
  tenantId: string,
  env: Env,
  bundleName: string,
  _fence?: number,
  end?: Undeployment,
): Deployment | null {
  const current = deployments.maybe(db.get(currentOne, [tenantId, env, bundleName]));
  if (current) {
    db.run('UPDATE deployments SET is_current = 0, undeployed_at = ?, undeployed_by = ? WHERE id = ?', [
      end?.at ?? null,
      end?.by ?? null,
      current.id,
    ]);
  }
  return current;
}

function listDeployments(
  db: Database,
  tenantId: string,
  filter: DeploymentFilter,
  page: DeploymentPageRequest,
): Page<Deployment> {
  const { env = null, bundleName = null, since = null, until = null } = filter;
  return pageOf(db, page, {
    which: `SELECT rowid FROM deployments
      WHERE tenant_id = ?1 AND ${inEnvs('?2', 'env')} AND (?3 IS NULL OR bundle_name = ?3)
        AND (${within('created_at')} OR (undeployed_at IS NOT NULL AND ${within('undeployed_at')}))
        AND (?6 IS NULL OR (created_at, rowid) <
          (SELECT created_at, rowid FROM deployments WHERE tenant_id = ?1 AND id = ?6))
      ORDER BY created_at DESC, rowid DESC`,
    params: [tenantId, envsParameter(env), bundleName, since, until, page.after ?? null],
    row: `${select} WHERE rowid = ?`,
    read: deployments.read,
  });
}

export const deploymentStore = (db: Database): Sync<DeploymentStore> => ({
  getLastSequence: (tenantId, env, bundleName) => getLastSequence(db, tenantId, env, bundleName),
  deploy: (deployment) => deploy(db, deployment),
  undeploy: (tenantId, env, bundleName, _fence, end) => undeploy(db, tenantId, env, bundleName, _fence, end),
  wasDeployed: (tenantId, env, bundleName, version) =>
    db.get(
      'SELECT 1 FROM deployments WHERE tenant_id = ? AND bundle_name = ? AND version = ? AND env = ? LIMIT 1',
      [tenantId, bundleName, version, env],
    ) !== undefined,
  getLast: (tenantId, bundleName, version) =>
    deployments.maybe(
      db.get(
        `${select} WHERE tenant_id = ? AND bundle_name = ? AND version = ?
           ORDER BY created_at DESC, rowid DESC LIMIT 1`,
        [tenantId, bundleName, version],
      ),
    ),
  attest({ id, signingKeyId, attestation }) {
    db.run(
      `UPDATE deployments SET attestation = ?
         WHERE id = ? AND signing_key_id = ? AND is_current = 1 AND attestation IS NULL`,
      [attestation, id, signingKeyId],
    );
  },
  listCurrent: (tenantId, env) =>
    db
      .all(`${select} WHERE tenant_id = ? AND env = ? AND is_current = 1 ORDER BY bundle_name`, [
        tenantId,
        env,
      ])
      .map(deployments.read),
  getCurrent: (tenantId, env, bundleName) =>
    deployments.maybe(db.get(currentOne, [tenantId, env, bundleName])),
  listAllCurrent: (tenantId) =>
    db
      .all(`${select} WHERE tenant_id = ? AND is_current = 1 ORDER BY env, bundle_name`, [tenantId])
      .map(deployments.read),
  get: (tenantId, id) =>
    deployments.maybe(db.get(`${select} WHERE tenant_id = ? AND id = ?`, [tenantId, id])),
  list: (tenantId, filter, page) => listDeployments(db, tenantId, filter, page),
  listRollbacks(tenantId, list) {
    const isRollback = list.filter(
      ({ env, bundleName, version, sequence }) =>
        db.get(rollback, [tenantId, env, bundleName, sequence, version]) !== undefined,
    );
    return new Set(isRollback.map(({ id }) => id));
  },
});

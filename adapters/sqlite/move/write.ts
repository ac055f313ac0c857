// Records of a tenant file as rows. Every write can be repeated: a row that is there stays, unless it is another
// tenant's.
import type { AuditLink } from '../../../src/audit/record.ts';
import type { MovedRecords } from '../../../src/shared/ports/moved-records.ts';
import type { WrittenKind } from '../../../src/tenant/port/files.ts';
import { type RetentionKind, retentionKinds } from '../../../src/tenant/rules/retention.ts';
import { flatRuling } from '../../../src/tool/record.ts';
import { reports } from '../agent-reports.ts';
import { registrations } from '../agent-seen.ts';
import { agentStreams } from '../agent-streams.ts';
import { days } from '../ai-usage.ts';
import { insertArgs, storedArgs } from '../approval-arguments.ts';
import { noteApprovalLine } from '../approval-lines.ts';
import { approvals } from '../approvals.ts';
import { adoptLinks, heads, links } from '../audit.ts';
import { bundles } from '../bundles.ts';
import { channels } from '../channels.ts';
import { insertComposition } from '../compositions.ts';
import { contracts } from '../contracts.ts';
import type { Database, SqlValue } from '../database.ts';
import { deliveries } from '../deliveries.ts';
import { deployments } from '../deployments.ts';
import { identities } from '../identities.ts';
import { keys } from '../keys.ts';
import { rules } from '../rules.ts';
import { runs, runTrimmer } from '../runs.ts';
import { accounts, tokens } from '../service-accounts.ts';
import { settings } from '../settings.ts';
import { keySuccessions, signingKeys } from '../signing.ts';
import type { Table } from '../table.ts';
import { users } from '../tenants.ts';
import { definitions, servers } from '../tool-table.ts';
import { views } from '../views.ts';
import { workspaces } from '../workspaces.ts';

type Write<K extends WrittenKind> = (
  db: Database,
  tenantId: string,
  records: readonly MovedRecords[K][],
) => void;

/** Adds a row unless it is there. @throws SQLite's error when the row that is there is another tenant's */
function insertOnce(
  db: Database,
  {
    table,
    insert,
    values,
  }: { readonly table: string; readonly insert: string; readonly values: readonly SqlValue[] },
  tenantId: string,
  key: readonly (readonly [column: string, value: SqlValue])[],
): boolean {
  const where = key.map(([column]) => `${column} IS ?`).join(' AND ');
  const own = db.get(`SELECT 1 FROM ${table} WHERE tenant_id = ? AND ${where}`, [
    tenantId,
    ...key.map(([, v]) => v),
  ]);
  if (own) return false;
  // Stores of other versions lack some fields.
  db.run(
    insert,
    values.map((value) => value ?? null),
  );
  return true;
}

/** Records that are rows of one table, identified by one column. */
const rowsOf =
  <T extends { readonly id: string }>(name: string, of: Table<T>) =>
  (db: Database, tenantId: string, records: readonly T[]): void => {
    for (const record of records)
      insertOnce(db, { table: name, insert: of.insert, values: of.values(record) }, tenantId, [
        ['id', record.id],
      ]);
  };

const keyed =
  <T>(
    name: string,
    of: Pick<Table<T>, 'insert' | 'values'>,
    keyOf: (record: T) => readonly (readonly [string, SqlValue])[],
  ) =>
  (db: Database, tenantId: string, records: readonly T[]): void => {
    for (const record of records)
      insertOnce(db, { table: name, insert: of.insert, values: of.values(record) }, tenantId, keyOf(record));
  };

/** After the deployments: the active key has signed the current ones. */
const writeSigning: Write<'signing'> = (db, tenantId, records) => {
  for (const { active, successions, sequences, current } of records) {
    const values = signingKeys.values({ ...active, active: true });
    const key = { table: 'signing_keys', insert: signingKeys.insert, values };
    if (insertOnce(db, key, tenantId, [['id', active.id]]))
      for (const succession of successions)
        db.run(keySuccessions.insert, keySuccessions.values({ tenantId, ...succession }));
    for (const { env, bundleName, last } of sequences)
      db.run(
        'INSERT OR IGNORE INTO deployment_sequences (tenant_id, env, bundle_name, last) VALUES (?, ?, ?, ?)',
        [tenantId, env, bundleName, last],
      );
    for (const { id, bundleName, version, signature, attestation, publicKey, signingKeyId } of current) {
      db.run(
        `UPDATE deployments SET is_current = 1, signature = ?, attestation = ?, public_key = ?, signing_key_id = ?
           WHERE tenant_id = ? AND id = ?`,
        [signature, attestation, publicKey, signingKeyId, tenantId, id],
      );
      db.run('UPDATE bundles SET signature = ? WHERE tenant_id = ? AND name = ? AND version = ?', [
        signature,
        tenantId,
        bundleName,
        version,
      ]);
    }
  }
};

const writeBundles: Write<'bundles'> = (db, tenantId, records) => {
  for (const { yaml, deletedAt, ...bundle } of records) {
    const row = { ...bundle, signature: null };
    const isNew = insertOnce(
      db,
      { table: 'bundles', insert: bundles.insert, values: bundles.values(row) },
      tenantId,
      [['id', bundle.id]],
    );
    if (!isNew) continue;
    db.run('INSERT INTO bundle_yaml (bundle_id, yaml) VALUES (?, ?)', [
      bundle.id,
      Buffer.from(yaml, 'base64'),
    ]);
    if (deletedAt !== null) db.run('UPDATE bundles SET deleted_at = ? WHERE id = ?', [deletedAt, bundle.id]);
  }
};

const insertDeployment = deployments.insert
  .replace(') VALUES (', ', is_current) VALUES (')
  .replace(/\)$/, ', 0)');

const writeDeployments: Write<'deployments'> = (db, tenantId, records) => {
  for (const { order: _order, ...deployment } of records)
    insertOnce(
      db,
      { table: 'deployments', insert: insertDeployment, values: deployments.values(deployment) },
      tenantId,
      [['id', deployment.id]],
    );
};

const writeContracts: Write<'contracts'> = (db, tenantId, records) => {
  const write = rowsOf('contracts', contracts);
  write(
    db,
    tenantId,
    records.map(({ lineage: _lineage, order: _order, isLatest: _isLatest, ...contract }) => contract),
  );
};

const writeLibraries: Write<'libraries'> = (db, _tenantId, records) => {
  for (const { compositions } of records)
    for (const { order: _order, rows: _rows, ...composition } of [...compositions].sort(
      (a, b) => a.order - b.order,
    ))
      insertComposition(db, composition);
};

const writePins: Write<'toolPins'> = (db, tenantId, records) => {
  for (const { env, mode, sequence, servers: list, entries } of records) {
    db.run('INSERT OR IGNORE INTO tool_environments (tenant_id, env, mode, sequence) VALUES (?, ?, ?, ?)', [
      tenantId,
      env,
      mode,
      sequence,
    ]);
    for (const server of list)
      db.run(`${servers.insert} ON CONFLICT DO NOTHING`, servers.values({ tenantId, env, ...server }));
    for (const { ruling, isAnnounced, ...entry } of entries) {
      const row = {
        ...entry,
        lastSeenAt: entry.firstSeenAt,
        ...flatRuling(ruling),
        agents: [],
        definition: null,
        isAnnounced,
      };
      const values = definitions.values(row);
      insertOnce(db, { table: 'tool_definitions', insert: definitions.insert, values }, tenantId, [
        ['id', entry.id],
      ]);
    }
  }
};

const writeDefinitions: Write<'toolDefinitions'> = (db, tenantId, records) => {
  for (const { id, lastSeenAt, agents, definition } of records)
    db.run(
      'UPDATE tool_definitions SET last_seen_at = ?, agents = ?, definition = ? WHERE tenant_id = ? AND id = ?',
      [lastSeenAt, agents, definition, tenantId, id],
    );
};

const writeRetentionCounts: Write<'retentionCounts'> = (db, tenantId, records) => {
  for (const { removed } of records)
    for (const kind of retentionKinds satisfies readonly RetentionKind[])
      db.run('INSERT OR IGNORE INTO retention_counts (tenant_id, kind, removed) VALUES (?, ?, ?)', [
        tenantId,
        kind,
        removed[kind],
      ]);
};

const writeLinks: Write<'auditLinks'> = (db, tenantId, records) => {
  const fresh: AuditLink[] = [];
  for (const link of records)
    if (
      insertOnce(db, { table: 'audit_links', insert: links.insert, values: links.values(link) }, tenantId, [
        ['seq', link.seq],
      ])
    )
      fresh.push(link);
  adoptLinks(db, tenantId, fresh);
};

const writeHeads: Write<'auditHeads'> = (db, tenantId, records) => {
  for (const { starts, ...head } of records) {
    const row = { table: 'audit_heads', insert: heads.insert, values: heads.values(head) };
    if (insertOnce(db, row, tenantId, [['seq', head.seq]]) && starts)
      db.run('UPDATE audit_heads SET starts = 1 WHERE tenant_id = ? AND seq = ?', [tenantId, head.seq]);
  }
};

const writeApprovals: Write<'approvals'> = (db, tenantId, records) => {
  for (const { order: _order, unannouncedAt: _unannouncedAt, decisionId, ...approval } of records) {
    const row = { table: 'approvals', insert: approvals.insert, values: approvals.values(approval) };
    if (!insertOnce(db, row, tenantId, [['id', approval.id]])) continue;
    if (decisionId !== null)
      db.run('UPDATE approvals SET decision_id = ? WHERE tenant_id = ? AND id = ?', [
        decisionId,
        tenantId,
        approval.id,
      ]);
    noteApprovalLine(db, approval, 'requested');
    if (approval.status !== 'pending')
      noteApprovalLine(db, approval, approval.status === 'timeout' ? 'expired' : 'decided');
  }
};

const markRun = `${runs.insert} ON CONFLICT (tenant_id, agent, session) DO UPDATE SET trimmed = 1,
  started_at = min(started_at, excluded.started_at), last_at = max(last_at, excluded.last_at),
  received_at = max(received_at, excluded.received_at)`;

/** A run without times is marked if it is there: none of its events was counted. */
const writeRuns: Write<'runs'> = (db, tenantId, records) => {
  for (const run of records)
    if (run.lastAt === undefined) runTrimmer(db, tenantId)(run.agentId, run.sessionId);
    else db.run(markRun, runs.values(run));
};

const writeArguments: Write<'approvalArgs'> = (db, _tenantId, records) => {
  for (const record of records) db.run(insertArgs, storedArgs.values(record));
};

export const tenantWriters: { readonly [K in WrittenKind]: Write<K> } = {
  users: rowsOf('users', users),
  identities: keyed('identities', identities, ({ issuer, subject }) => [
    ['issuer', issuer],
    ['subject', subject],
  ]),
  workspaces: keyed('workspaces', workspaces, ({ issuer, workspaceId }) => [
    ['issuer', issuer],
    ['workspace_id', workspaceId],
  ]),
  keys: rowsOf('keys', keys),
  serviceAccounts: rowsOf('service_accounts', accounts),
  serviceTokens: rowsOf('service_tokens', tokens),
  views: rowsOf('views', views),
  agentStreams: rowsOf('agent_streams', agentStreams),
  signing: writeSigning,
  bundles: writeBundles,
  deployments: writeDeployments,
  contracts: writeContracts,
  libraries: writeLibraries,
  rules: rowsOf('rules', rules),
  settings: keyed('settings', settings, ({ name }) => [['name', name]]),
  channels: rowsOf('channels', channels),
  deliveries: rowsOf('deliveries', deliveries),
  aiUsage: keyed('ai_usage', days, ({ day }) => [['day', day]]),
  agents: rowsOf('registrations', registrations),
  reports: keyed('reports', reports, ({ env, agentId, bundleName }) => [
    ['env', env],
    ['agent_id', agentId],
    ['bundle_name', bundleName],
  ]),
  leftOut(db, tenantId, records) {
    for (const { hour, count } of records)
      db.run('INSERT OR IGNORE INTO agents_left_out (tenant_id, hour, count) VALUES (?, ?, ?)', [
        tenantId,
        hour,
        count,
      ]);
  },
  toolPins: writePins,
  toolDefinitions: writeDefinitions,
  retentionCounts: writeRetentionCounts,
  auditLinks: writeLinks,
  auditHeads: writeHeads,
  approvalArgs: writeArguments,
  approvals: writeApprovals,
  runs: writeRuns,
};

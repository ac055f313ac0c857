// The tables and how an older file becomes a current one. Each migration runs once, in its own transaction; published
// ones never change.
import { HubError } from '../../../src/shared/error.ts';
import { agentStreamTable } from '../agent-streams.ts';
import type { Database } from '../database.ts';
import { idempotencyTable } from '../idempotency.ts';
import { operatorTokenTable } from '../operator-tokens.ts';
import { retentionTables } from '../retention.ts';
import { serviceAccountTables } from '../service-accounts.ts';
import { tenantImportTables } from '../tenant-files.ts';
import { viewTable } from '../views.ts';
import { workspaceTable } from '../workspaces.ts';
import { aiUsage } from './ai.ts';
import { approvalAssignees, approvalContext, approvalNames, argumentKeys, decisions } from './approvals.ts';
import { auditOrder, auditStart, auditTables } from './audit.ts';
import { channels } from './channels.ts';
import { undeployments } from './deployments.ts';
import { bodyForms, eventMarks, eventUsage, laterSummaries, packedBodies, verdictWords } from './events.ts';
import { exportTables } from './exports.ts';
import { runStandings, runTables } from './runs.ts';
import { toolTables } from './tools.ts';
import { closedTenants, identityTables, loginOrigins, signIns, userRoles } from './users.ts';
import { seenEnvironments, vocabulary } from './vocabulary.ts';

const control = `
CREATE TABLE tenants (id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE users (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL REFERENCES tenants, email TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL, is_admin INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE TABLE logins (
  token_hash TEXT PRIMARY KEY, user_id TEXT NOT NULL, tenant_id TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);
CREATE INDEX logins_of_user ON logins (user_id);
CREATE INDEX logins_expiry ON logins (expires_at);
CREATE TABLE keys (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT NOT NULL, label TEXT, prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER,
  revoked_at INTEGER);
CREATE INDEX keys_live ON keys (tenant_id, created_at) WHERE revoked_at IS NULL;
CREATE TABLE signing_keys (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, public_key TEXT NOT NULL, sealed_seed TEXT NOT NULL,
  active INTEGER NOT NULL, created_at INTEGER NOT NULL);
CREATE UNIQUE INDEX signing_keys_active ON signing_keys (tenant_id) WHERE active = 1;

CREATE TABLE contracts (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, contract_id TEXT NOT NULL, version INTEGER NOT NULL,
  name TEXT NOT NULL, description TEXT, type TEXT NOT NULL, definition TEXT NOT NULL, tags TEXT NOT NULL,
  created_by TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (tenant_id, contract_id, version));
CREATE TABLE compositions (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, description TEXT, defaults_mode TEXT NOT NULL,
  update_strategy TEXT NOT NULL, items TEXT NOT NULL, tools_config TEXT, observability TEXT,
  created_by TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant_id, name));
CREATE TABLE composition_contracts (
  composition_id TEXT NOT NULL REFERENCES compositions ON DELETE CASCADE, tenant_id TEXT NOT NULL,
  contract_id TEXT NOT NULL, PRIMARY KEY (tenant_id, contract_id, composition_id)) WITHOUT ROWID;
CREATE INDEX composition_contracts_of ON composition_contracts (composition_id);

CREATE TABLE bundles (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
  revision_hash TEXT NOT NULL, contract_count INTEGER, size INTEGER NOT NULL, uploaded_by TEXT NOT NULL,
  created_at INTEGER NOT NULL, composition_id TEXT, snapshot TEXT, signature TEXT,
  UNIQUE (tenant_id, name, version));
CREATE TABLE bundle_yaml (bundle_id TEXT PRIMARY KEY REFERENCES bundles, yaml BLOB NOT NULL);
CREATE TABLE deployments (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT NOT NULL, bundle_name TEXT NOT NULL,
  version INTEGER NOT NULL, revision_hash TEXT NOT NULL, sequence INTEGER NOT NULL, signature TEXT NOT NULL,
  public_key TEXT NOT NULL, signing_key_id TEXT NOT NULL, deployed_by TEXT NOT NULL, created_at INTEGER NOT NULL,
  is_current INTEGER NOT NULL DEFAULT 1, UNIQUE (tenant_id, env, bundle_name, sequence));
CREATE UNIQUE INDEX deployments_current ON deployments (tenant_id, env, bundle_name) WHERE is_current = 1;
CREATE INDEX deployments_newest ON deployments (tenant_id, created_at);
CREATE INDEX deployments_of_bundle ON deployments (tenant_id, bundle_name, version);

CREATE TABLE approvals (
  id TEXT NOT NULL, tenant_id TEXT NOT NULL, status TEXT NOT NULL, agent_id TEXT NOT NULL, tool_name TEXT NOT NULL,
  tool_args TEXT, message TEXT NOT NULL, env TEXT NOT NULL, timeout_seconds INTEGER NOT NULL,
  timeout_effect TEXT NOT NULL, decision_source TEXT, contract_name TEXT, decided_by TEXT, decided_at INTEGER,
  decision_reason TEXT, decided_via TEXT, created_at INTEGER NOT NULL, deadline INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, id));
CREATE INDEX approvals_newest ON approvals (tenant_id, created_at);
CREATE INDEX approvals_due ON approvals (deadline) WHERE status = 'pending';
CREATE INDEX approvals_pending ON approvals (tenant_id, env, deadline) WHERE status = 'pending';

CREATE TABLE registrations (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, agent_id TEXT NOT NULL, display_name TEXT, tags TEXT NOT NULL,
  bundle_name TEXT, manifest TEXT, last_env TEXT, last_seen_at INTEGER, created_at INTEGER NOT NULL,
  UNIQUE (tenant_id, agent_id));
CREATE INDEX registrations_unassigned ON registrations (last_seen_at) WHERE bundle_name IS NULL;
CREATE TABLE reports (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, agent_id TEXT NOT NULL, bundle_name TEXT,
  policy_version TEXT NOT NULL, at INTEGER NOT NULL);
CREATE UNIQUE INDEX reports_of ON reports (tenant_id, env, agent_id, bundle_name IS NULL, ifnull(bundle_name, ''));
CREATE TABLE rules (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, priority INTEGER NOT NULL, pattern TEXT NOT NULL, tag_match TEXT,
  bundle_name TEXT NOT NULL, env TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (tenant_id, priority));
CREATE TABLE session_values (
  tenant_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key));
CREATE INDEX session_values_expiry ON session_values (expires_at);
`;

// Events are kept as segments: up to a batch of one agent within one hour. Summaries and bodies are apart, so that a
// search reads a dense table. `tallies` is [[tool, verdict, mode, count], …], `names` the decision names, `later` the
// verdicts that outcomes added, `places` the events' places in their batch when it made more than one segment.
// `calls` holds the call ids of all segments up to store.merged (events/calls.ts).
const events = `
CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL, merged INTEGER NOT NULL);
INSERT INTO store VALUES (1, lower(hex(randomblob(8))), 0);
CREATE TABLE tenant_numbers (number INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL UNIQUE);
CREATE TABLE segments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, max_ts REAL NOT NULL, min_ts REAL NOT NULL,
  received_at INTEGER NOT NULL, batch INTEGER, env TEXT NOT NULL, agent TEXT NOT NULL, events INTEGER NOT NULL,
  outcomes INTEGER NOT NULL DEFAULT 0, tallies TEXT NOT NULL, names TEXT NOT NULL, later TEXT, places TEXT);
CREATE INDEX segments_time ON segments (tenant, max_ts);
CREATE INDEX segments_agent ON segments (tenant, agent, max_ts);
CREATE INDEX segments_arrival ON segments (tenant, received_at);
CREATE TABLE segment_bodies (segment INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE calls (
  tenant INTEGER NOT NULL, call_id BLOB NOT NULL, entry INTEGER NOT NULL,
  PRIMARY KEY (tenant, call_id)) WITHOUT ROWID;
CREATE TABLE outcomes (
  id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, position INTEGER NOT NULL, verdict TEXT NOT NULL,
  outcome TEXT NOT NULL, UNIQUE (segment, position, verdict));
`;

const announcements = `
ALTER TABLE approvals ADD COLUMN unannounced_at INTEGER;
CREATE INDEX approvals_unannounced ON approvals (unannounced_at) WHERE unannounced_at IS NOT NULL;
`;

const seals = `
CREATE TABLE seals (name TEXT PRIMARY KEY, value TEXT NOT NULL);
`;

const jobs = `
CREATE TABLE jobs (
  queue TEXT NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
  due INTEGER NOT NULL, run INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL, backoff INTEGER NOT NULL,
  longest_backoff INTEGER NOT NULL, error TEXT, progress TEXT, died_at INTEGER, PRIMARY KEY (queue, id)) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (queue, due) WHERE state <> 'dead';
CREATE INDEX jobs_dead ON jobs (queue, died_at) WHERE state = 'dead';
`;

// The last sequences stand apart from the deployments, because they outlive them.
const provenance = `
ALTER TABLE deployments ADD COLUMN attestation TEXT;
CREATE TABLE deployment_sequences (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, bundle_name TEXT NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, env, bundle_name)) WITHOUT ROWID;
INSERT INTO deployment_sequences
  SELECT tenant_id, env, bundle_name, max(sequence) FROM deployments GROUP BY tenant_id, env, bundle_name;
CREATE TABLE key_successions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, previous_key TEXT NOT NULL,
  public_key TEXT NOT NULL, rotated_at INTEGER NOT NULL, signature TEXT NOT NULL);
CREATE INDEX key_successions_of ON key_successions (tenant_id, id);
UPDATE signing_keys SET sealed_seed = '' WHERE active = 0;
`;

const keyScopes = `
ALTER TABLE keys ADD COLUMN agent_pattern TEXT;
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
`;

// Arguments of more than 4 KiB move out of their approvals. The index of large ones adds up a quota.
const pages = `
CREATE TABLE approval_args (
  tenant_id TEXT NOT NULL, id TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, created_at INTEGER NOT NULL,
  args TEXT NOT NULL, PRIMARY KEY (tenant_id, id));
CREATE INDEX approval_args_large ON approval_args (tenant_id, env, bytes) WHERE bytes > 65536;
CREATE INDEX approval_args_oldest ON approval_args (created_at) WHERE bytes > 65536;
ALTER TABLE approvals ADD COLUMN args_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET args_bytes = octet_length(tool_args) WHERE tool_args IS NOT NULL;
INSERT INTO approval_args SELECT tenant_id, id, env, args_bytes, created_at, tool_args FROM approvals
  WHERE args_bytes > 4096;
UPDATE approvals SET tool_args = NULL WHERE args_bytes > 4096;
CREATE INDEX contracts_newest ON contracts (tenant_id, created_at);
`;

/** Outcomes of one call are told apart by verdict and the contract that decided: `key` is a JSON list of both. */
const outcomeKeys = `
CREATE TABLE outcomes_by_key (
  id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL,
  outcome TEXT NOT NULL, UNIQUE (segment, position, key));
INSERT INTO outcomes_by_key
  SELECT id, segment, position, json_array(verdict, json_extract(outcome, '$.decision_name')), outcome FROM outcomes;
DROP TABLE outcomes;
ALTER TABLE outcomes_by_key RENAME TO outcomes;
`;

// Partial indexes, because there may be many more retired registrations than living ones.
const retirement = `
ALTER TABLE registrations ADD COLUMN retired_at INTEGER;
CREATE INDEX registrations_live ON registrations (tenant_id, agent_id) WHERE retired_at IS NULL;
CREATE INDEX registrations_idle ON registrations (last_seen_at) WHERE bundle_name IS NULL AND retired_at IS NULL;
CREATE TABLE agents_left_out (
  tenant_id TEXT NOT NULL, hour INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (tenant_id, hour)) WITHOUT ROWID;
`;

// Values stand last in their rows: what is asked about them is read without them. Those of before have no environment
// and count in none. The triggers keep the sums right, whoever writes.
const valueQuotas = `
ALTER TABLE session_values RENAME TO old_values;
DROP INDEX session_values_expiry;
CREATE TABLE session_values (
  tenant_id TEXT NOT NULL, key TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY (tenant_id, key));
INSERT INTO session_values SELECT tenant_id, key, '', octet_length(key) + octet_length(value), expires_at, value
  FROM old_values;
DROP TABLE old_values;
CREATE INDEX session_values_expiry ON session_values (expires_at);
CREATE TABLE value_usage (
  tenant_id TEXT NOT NULL, env TEXT NOT NULL, bytes INTEGER NOT NULL, keys INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, env)) WITHOUT ROWID;
CREATE TRIGGER session_value_added AFTER INSERT ON session_values BEGIN
  INSERT INTO value_usage VALUES (NEW.tenant_id, NEW.env, NEW.bytes, 1)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + 1;
END;
CREATE TRIGGER session_value_removed AFTER DELETE ON session_values BEGIN
  UPDATE value_usage SET bytes = bytes - OLD.bytes, keys = keys - 1
    WHERE tenant_id = OLD.tenant_id AND env = OLD.env;
END;
CREATE TRIGGER session_value_changed AFTER UPDATE OF env, bytes ON session_values BEGIN
  UPDATE value_usage SET bytes = bytes - OLD.bytes, keys = keys - 1
    WHERE tenant_id = OLD.tenant_id AND env = OLD.env;
  INSERT INTO value_usage VALUES (NEW.tenant_id, NEW.env, NEW.bytes, 1)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, keys = keys + 1;
END;
`;

const settings = `
CREATE TABLE settings (
  tenant_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, updated_at INTEGER NOT NULL, updated_by TEXT NOT NULL,
  PRIMARY KEY (tenant_id, name)) WITHOUT ROWID;
`;

const people = `
CREATE INDEX users_of_tenant ON users (tenant_id, email);
`;

// A key may be for every environment. Keys are few: copying them is cheaper than a word that stands for none.
const workspaceKeys = `
CREATE TABLE keys_of_workspaces (
  id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, env TEXT, label TEXT, prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER,
  revoked_at INTEGER, agent_pattern TEXT, expires_at INTEGER);
INSERT INTO keys_of_workspaces SELECT id, tenant_id, env, label, prefix, hash, created_by, created_at, last_used_at,
  revoked_at, agent_pattern, expires_at FROM keys ORDER BY rowid;
DROP TABLE keys;
ALTER TABLE keys_of_workspaces RENAME TO keys;
CREATE INDEX keys_live ON keys (tenant_id, created_at) WHERE revoked_at IS NULL;
`;

// What is gone keeps its row, so that its numbers and hashes are not given again.
const takingAway = `
ALTER TABLE deployments ADD COLUMN forced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bundles ADD COLUMN deleted_at INTEGER;
`;

const deploymentReason = 'ALTER TABLE deployments ADD COLUMN reason TEXT;';

const bundleHeaders = `
ALTER TABLE bundles ADD COLUMN mode TEXT;
ALTER TABLE bundles ADD COLUMN description TEXT;
`;

const documentKind = 'ALTER TABLE compositions ADD COLUMN document_kind TEXT;';

const migrations: readonly string[] = [
  control + events,
  jobs,
  announcements + seals,
  decisions,
  signIns,
  provenance,
  pages,
  keyScopes,
  valueQuotas,
  retirement,
  outcomeKeys,
  settings,
  people,
  workspaceKeys,
  takingAway,
  approvalContext,
  eventMarks,
  auditTables,
  runTables,
  eventUsage,
  aiUsage,
  channels,
  workspaceTable,
  auditStart,
  bundleHeaders,
  deploymentReason,
  runStandings,
  idempotencyTable,
  approvalNames,
  documentKind,
  vocabulary,
  bodyForms,
  operatorTokenTable,
  argumentKeys,
  laterSummaries,
  auditOrder,
  toolTables,
  userRoles,
  loginOrigins,
  serviceAccountTables,
  closedTenants,
  identityTables,
  retentionTables,
  exportTables,
  packedBodies,
  seenEnvironments,
  approvalAssignees,
  undeployments,
  tenantImportTables,
  viewTable,
  verdictWords,
  agentStreamTable,
];

export const versionOf = (db: Database): number => Number(db.get('PRAGMA user_version')?.[0] ?? 0);

const hasTable = (db: Database, name: string): boolean =>
  db.get(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name LIKE ?`, [name]) !== undefined;

/**
 * Reads alone, so that a file which is not ours stays as it is.
 * @throws HubError('conflict') when a newer version, or another program, made the file
 */
export function checkOurs(db: Database, path: string): void {
  const version = versionOf(db);
  if (version === 0 ? hasTable(db, '%') : !hasTable(db, 'tenants')) {
    throw new HubError(
      'conflict',
      `${path} is a database of another program. Set DATA_DIR to another folder, or restore a back-up there.`,
    );
  }
  if (version > migrations.length) {
    throw new HubError(
      'conflict',
      `A newer version of Reeve wrote ${path} (schema ${version}; this version supports ${migrations.length}). ` +
        'Start that version, or restore a back-up from this version.',
    );
  }
}

/**
 * Brings the file to the newest version: a new one in one commit, another one step by step, so that none holds more
 * than its own step in the write-ahead log.
 * @param to an older version, for tests of what comes after it
 */
export function migrate(db: Database, to = migrations.length): void {
  const version = versionOf(db);
  const steps = migrations.slice(version, to).map((statements, i) => () => {
    db.exec(`${statements} PRAGMA user_version = ${version + i + 1};`);
  });
  if (version === 0) db.atomically(() => steps.forEach((step) => void step()));
  else for (const step of steps) db.atomically(step);
}

export interface Tuning {
  /** Bytes of page cache. */
  readonly cacheBytes: number;
  /** Pages in the write-ahead log before they are copied into the file. */
  readonly checkpointPages: number;
}

/** Small tables without which no request is answered. */
const vital = ['store', 'seals', 'tenants', 'users', 'keys', 'signing_keys', 'bundles', 'deployments'];

/**
 * Looks for damage in the tables that everything needs, so that a start tells of it. Large ones would take too long.
 * @throws Error
 */
export function checkVital(db: Database): void {
  for (const name of vital) {
    const [firstRow] = db.get(`PRAGMA quick_check(${name})`) ?? [];
    if (firstRow !== 'ok')
      throw new Error(`table ${name}: ${String(firstRow).replaceAll('\n', ' ').slice(0, 200)}`);
  }
}

/** Sets what SQLite forgets at each open. Every commit is on disk when it returns (synchronous=FULL). */
export function configure(db: Database, tuning: Tuning): void {
  db.exec('PRAGMA page_size = 4096');
  db.get('PRAGMA journal_mode = WAL');
  db.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = FAST;
    PRAGMA cache_size = -${Math.ceil(tuning.cacheBytes / 1024)};
  `);
  db.get(`PRAGMA wal_autocheckpoint = ${tuning.checkpointPages}`);
}

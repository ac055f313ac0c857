// The tables, their number in the file, and the steps that bring a file from one number to the next. Schema n has the
// number 1000 + n. CONTRIBUTING.md describes how a step is added. Keeps promise P79.
import { lastCommitBefore } from '../../../src/shared/cluster-format.ts';
import { HubError } from '../../../src/shared/error.ts';
import { agentStreamTable } from '../agent-streams.ts';
import type { Database } from '../database.ts';
import { idempotencyTable } from '../idempotency.ts';
import { operatorTokenTable } from '../operator-tokens.ts';
import { retentionTable } from '../retention.ts';
import { serviceAccountTables } from '../service-accounts.ts';
import { tenantImportTables } from '../tenant-files.ts';
import { viewTable } from '../views.ts';
import { workspaceTable } from '../workspaces.ts';
import { agentTables } from './agents.ts';
import { aiUsage } from './ai.ts';
import { approvalTables } from './approvals.ts';
import { auditTables } from './audit.ts';
import { channels } from './channels.ts';
import { eventTables } from './events.ts';
import { jobTable } from './jobs.ts';
import { libraryTables } from './library.ts';
import { markSegments } from './marks.ts';
import { peopleTables } from './people.ts';
import { runTables } from './runs.ts';
import { toolTables } from './tools.ts';

/** The newest schema: a new file has these tables. */
const tables = [
  peopleTables,
  libraryTables,
  approvalTables,
  agentTables,
  eventTables,
  runTables,
  auditTables,
  jobTable,
  aiUsage,
  channels,
  workspaceTable,
  idempotencyTable,
  operatorTokenTable,
  toolTables,
  serviceAccountTables,
  retentionTable,
  tenantImportTables,
  viewTable,
  agentStreamTable,
];

/** One change of the tables. */
export interface SchemaStep {
  /** The number of the files that it changes. */
  readonly from: number;
  readonly to: number;
  /** Fills rows in transactions of its own, a bounded number in each. After a kill, it is called again. */
  readonly fill?: (db: Database) => void;
  /** Run in one transaction with the number: once, also after a kill. */
  readonly statements: string;
}

/**
 * In order. A step never changes once a build with it has run; a newer one follows it. The first begins where builds
 * ended that counted 52 migrations: they refuse 1001 as newer, and would take 1 for a migration of their own.
 */
export const schemaSteps: readonly SchemaStep[] = [
  { from: 52, to: 1001, fill: markSegments, statements: 'ALTER TABLE store DROP COLUMN counted' },
];

const newest = (steps: readonly SchemaStep[]): number => steps.at(-1)?.to ?? 0;

export const versionOf = (db: Database): number => Number(db.get('PRAGMA user_version')?.[0] ?? 0);

const hasTable = (db: Database, name: string): boolean =>
  db.get(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name LIKE ?`, [name]) !== undefined;

/** True for a file whose summaries the build that made it has yet to count. */
const isUncounted = (db: Database, version: number): boolean =>
  version === schemaSteps[0]?.from && db.get('SELECT counted FROM store')?.[0] !== 1;

/**
 * Reads alone, so that a file which is not ours stays as it is.
 * @throws HubError('conflict') when this version has no step from the file's schema, or another program made the file
 */
export function checkOurs(db: Database, path: string, steps = schemaSteps): void {
  const version = versionOf(db);
  if (version === 0 ? hasTable(db, '%') : !hasTable(db, 'tenants')) {
    throw new HubError(
      'conflict',
      `${path} is a database of another program. Set DATA_DIR to another folder, or restore a back-up there.`,
    );
  }
  if (version > newest(steps)) {
    throw new HubError(
      'conflict',
      `A newer version of Reeve wrote ${path} (schema ${version}; this version supports ${newest(steps)}). ` +
        'Start that version, or restore a back-up from this version.',
    );
  }
  const isReachable =
    version === 0 || version === newest(steps) || steps.some(({ from }) => from === version);
  if (!isReachable || isUncounted(db, version)) {
    throw new HubError(
      'conflict',
      `${path} has schema ${version}, which this version cannot open. ${lastCommitBefore}`,
    );
  }
}

/** Brings the file to the newest schema: a new one in one commit, another one by the steps that it lacks. */
export function migrate(db: Database, steps = schemaSteps): void {
  const run = (statements: string, version: number): void =>
    db.atomically(() => db.exec(`${statements};\nPRAGMA user_version = ${version}`));
  if (versionOf(db) === 0) run(tables.join(''), newest(steps));
  for (const { from, to, fill, statements } of steps) {
    if (versionOf(db) !== from) continue;
    fill?.(db);
    run(statements, to);
  }
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
 * Looks for damage in the tables that everything needs, so that a start reports it. Large tables would take too long.
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

// Tenants, people, keys and other nouns with rows of their own, as records of a move.
import { sessionValueRecord } from '../../../src/session/record.ts';
import type { MovedRecords, RecordKind, SingleKind } from '../../../src/shared/ports/moved-records.ts';
import { type RetentionKind, retentionKinds } from '../../../src/tenant/rules/retention.ts';
import { reports } from '../agent-reports.ts';
import { registrations } from '../agent-seen.ts';
import { agentStreams } from '../agent-streams.ts';
import { days } from '../ai-usage.ts';
import { channels } from '../channels.ts';
import type { Database } from '../database.ts';
import { givenText } from '../database.ts';
import { deliveries } from '../deliveries.ts';
import { identities } from '../identities.ts';
import { seals } from '../key-check.ts';
import { keys } from '../keys.ts';
import { logins } from '../logins.ts';
import { tokens as operatorTokens } from '../operator-tokens.ts';
import { rules } from '../rules.ts';
import { accounts, tokens as serviceTokens } from '../service-accounts.ts';
import { settings } from '../settings.ts';
import { json, number, table, text } from '../table.ts';
import { records as tenants } from '../tenant-records.ts';
import { users } from '../tenants.ts';
import { sessionValues } from '../values.ts';
import { views } from '../views.ts';
import { workspaces } from '../workspaces.ts';
import { pages, records } from './pages.ts';

export type Readers<K extends RecordKind> = {
  readonly [N in K]: (db: Database, now: number) => Iterable<readonly MovedRecords[N][]>;
};

const signIns = table<MovedRecords['signIns']>('sign_ins', {
  userId: text('user_id'),
  network: text('network'),
  lastAt: number('last_at'),
});

const leftOut = table<MovedRecords['leftOut']>('agents_left_out', {
  tenantId: text('tenant_id'),
  hour: number('hour'),
  count: number('count'),
});

const idempotency = table<MovedRecords['idempotency']>('idempotency', {
  tenantId: text('tenant_id'),
  id: text('id'),
  bodyHash: text('body_hash'),
  newId: text('new_id'),
  runsUntil: number('runs_until'),
  expiresAt: number('expires_at'),
  answer: json('answer'),
});

function* retentionCounts(db: Database): Generator<readonly MovedRecords['retentionCounts'][]> {
  const tenantIds = db.all('SELECT DISTINCT tenant_id FROM retention_counts').map(([id]) => String(id));
  yield tenantIds.map((tenantId) => {
    const rows = db.all('SELECT kind, removed FROM retention_counts WHERE tenant_id = ?', [tenantId]);
    const removed = new Map(rows.map(([kind, count]) => [kind as RetentionKind, Number(count)]));
    const counts = retentionKinds.map((kind) => [kind, removed.get(kind) ?? 0] as const);
    return {
      tenantId,
      removed: Object.fromEntries(counts) as MovedRecords['retentionCounts']['removed'],
    };
  });
}

/** The driver returns what was bound. */
const jobRow = (
  [queue, id, payload, state, due, failures, attempts, backoff, longest, error, diedAt]: readonly unknown[],
  now: number,
): MovedRecords['jobs'] => {
  const isDead = state === 'dead';
  return {
    queue: String(queue),
    id: givenText(String(id)),
    payload: JSON.parse(givenText(String(payload))) as unknown,
    state: isDead ? 'dead' : 'waiting',
    runAt: isDead ? 0 : Math.max(now, state === 'running' ? 0 : Number(due)),
    failures: Number(failures),
    maxAttempts: Number(attempts),
    backoffMs: Number(backoff),
    longestBackoffMs: Number(longest),
    error: isDead && error !== null ? givenText(String(error)) : null,
    diedAt: isDead ? Number(diedAt) : null,
  };
};

export const peopleReaders: Readers<SingleKind | 'values' | 'jobs'> = {
  seals: (db) => records(db, seals, 'seals'),
  tenants: (db) => records(db, tenants, 'tenants'),
  users: (db) => records(db, users, 'users'),
  logins: (db) => records(db, logins, 'logins'),
  signIns: (db) => records(db, signIns, 'sign_ins', { key: ['user_id', 'network'] }),
  identities: (db) => records(db, identities, 'identities', { key: ['issuer', 'subject'] }),
  workspaces: (db) => records(db, workspaces, 'workspaces', { key: ['issuer', 'workspace_id'] }),
  keys: (db) => records(db, keys, 'keys'),
  serviceAccounts: (db) => records(db, accounts, 'service_accounts'),
  serviceTokens: (db) => records(db, serviceTokens, 'service_tokens'),
  operatorTokens: (db) => records(db, operatorTokens, 'operator_tokens'),
  views: (db) => records(db, views, 'views'),
  agentStreams: (db) => records(db, agentStreams, 'agent_streams'),
  rules: (db) => records(db, rules, 'rules'),
  settings: (db) => records(db, settings, 'settings', { key: ['tenant_id', 'name'] }),
  channels: (db) => records(db, channels, 'channels'),
  deliveries: (db) => records(db, deliveries, 'deliveries'),
  aiUsage: (db) => records(db, days, 'ai_usage', { key: ['tenant_id', 'day'] }),
  agents: (db) => records(db, registrations, 'registrations', { size: 200 }),
  reports: (db) => records(db, reports, 'reports'),
  leftOut: (db) => records(db, leftOut, 'agents_left_out', { key: ['tenant_id', 'hour'] }),
  idempotency: (db) => records(db, idempotency, 'idempotency', { key: ['tenant_id', 'id'] }),
  retentionCounts,
  *values(db, now) {
    const { columns } = sessionValues;
    for (const rows of pages(db, { table: sessionValueRecord.name, key: ['rowid'], columns, size: 200 }))
      yield rows.map(sessionValues.read).filter(({ expiresAt }) => expiresAt > now);
  },
  *jobs(db, now) {
    const columns =
      'queue, id, payload, state, due, failures, max_attempts, backoff, longest_backoff, error, died_at';
    for (const rows of pages(db, { table: 'jobs', key: ['queue', 'id'], columns, size: 200 }))
      yield rows.map((row) => jobRow(row, now));
  },
};

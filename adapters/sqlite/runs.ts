// Runs in SQLite: the facts that the writer joins to a run in the commit of its events, and the reads. A run's
// approvals are looked up, not kept. Keeps promise P29.

import { asSeen } from '../../src/approval/rules/state.ts';
import type { RecentQuery, Run, RunFilter, RunGlance, RunPageRequest, RunStore } from '../../src/run/port.ts';
import {
  type RunFacts,
  type RunPlace,
  type RunStanding,
  type RunStatus,
  runRecord,
  type StoredRun,
} from '../../src/run/record.ts';
import type { StatusTime } from '../../src/run/rules/run.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { approvals } from './approvals.ts';
import { type Database, givenText, type Row, type SqlValue } from './database.ts';
import { markOf } from './events/search.ts';
import { eventId, positionOf, segmentOf } from './events/segment.ts';
import type { Clause } from './events/walk.ts';
import { rowsOf } from './page.ts';
import type { Steps, Sync } from './sync.ts';
import { type Column, envClause, envsParameter, envTest, json, tableOf } from './table.ts';

const facts: Column<RunFacts | null> = {
  ...json<RunFacts | null>('facts'),
  read: (value) => (typeof value === 'string' ? (JSON.parse(givenText(value)) as RunFacts) : null),
};
export const runs = tableOf<Omit<StoredRun, 'facts'>, Pick<StoredRun, 'facts'>>(runRecord, { facts });

/** Removes runs that had nothing since `before`; returns how many. */
export const removeRuns = (db: Database, tenantId: string, before: number, limit: number): number =>
  db.run(
    'DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE tenant_id = ? AND received_at < ? LIMIT ?)',
    [tenantId, before, limit],
  );

/** Marks each run once, in a transaction that removes records of it: nobody signs what is left. */
export function runTrimmer(db: Database, tenantId: string): (agentId: string, sessionId: string) => void {
  const markedRuns = new Set<string>();
  return (agentId, sessionId) => {
    const key = JSON.stringify([agentId, sessionId]);
    if (markedRuns.has(key)) return;
    markedRuns.add(key);
    db.run('UPDATE runs SET trimmed = 1 WHERE tenant_id = ? AND agent = ? AND session = ? AND trimmed = 0', [
      tenantId,
      agentId,
      sessionId,
    ]);
  };
}

const runPlaceColumns = ['tenant_id', 'agent', 'session', 'env'];

const pendingAt = ([tenant, agent, session, env]: readonly string[], now: string): string =>
  `FROM approvals WHERE tenant_id = ${tenant} AND agent_id = ${agent} AND session_id = ${session} AND env = ${env}
     AND status = 'pending' AND deadline > ${now}`;

const pendingOf = (run: string, now: string): string =>
  pendingAt(
    runPlaceColumns.map((column) => `${run}.${column}`),
    now,
  );

const columns = (now: string) => `${runs.columns}, (SELECT count(*) ${pendingOf('runs', now)})`;

const oldestPending = `SELECT ${approvals.columns} ${pendingAt(
  runPlaceColumns.map(() => '?'),
  '?',
)}
  ORDER BY created_at, rowid LIMIT 1`;

function readRun(db: Database, tenantId: string, row: Row, now: number): Run {
  const { tenantId: _tenant, receivedAt: _received, lastAt: lastActivityAt, ...run } = runs.read(row);
  const pendingApprovals = Number(row.at(-1));
  const waiting =
    pendingApprovals > 0
      ? db.get(oldestPending, [tenantId, run.agentId, run.sessionId, run.env, now])
      : undefined;
  const idOf = (seq: number | undefined): string | null =>
    seq === undefined ? null : eventId(markOf(db), segmentOf(seq), positionOf(seq));
  return {
    ...run,
    lastActivityAt,
    lastEventId: idOf(run.facts?.last.seq),
    snapshotEventId: idOf(run.facts?.snapshot?.seq),
    pendingApprovals,
    oldestPending: waiting ? asSeen(approvals.read(waiting), now) : null,
  };
}

function* listRuns(
  db: Database,
  tenantId: string,
  filter: RunFilter,
  page: RunPageRequest,
  { now, staleAfterMs }: StatusTime,
): Steps<Page<Run> & { readonly total: number }> {
  const names: SqlValue[] = [];
  const total = yield* walkRuns(db, tenantId, filter, page, {
    now,
    staleBefore: now - staleAfterMs,
    names,
  });
  const row = `SELECT ${columns('?2')} FROM runs WHERE id = ?1`;
  const of = { row, rowParams: [now], read: (row: Row) => readRun(db, tenantId, row, now) };
  return db.snapshot(() => ({ ...rowsOf(db, names, page.limit, of), total }));
}

function recentRuns(
  db: Database,
  tenantId: string,
  { agentIds, env, since, limit }: RecentQuery,
  now: number,
): readonly RunGlance[] {
  const ofEnv = envClause(env, 'env', '?6');
  return agentIds.flatMap((agentId) =>
    db
      .all(
        `SELECT session, standing, last_at, (SELECT count(*) ${pendingOf('runs', '?1')}) FROM runs
           WHERE tenant_id = ?2 AND agent = ?3 AND last_at >= ?4 AND sample = 0 ${ofEnv.sql}
           ORDER BY last_at DESC LIMIT ?5`,
        [now, tenantId, agentId, since, limit, ...ofEnv.params],
      )
      .map(([session, standing, lastAt, pending]) => ({
        agentId,
        sessionId: givenText(String(session)),
        standing: standing as RunStanding,
        lastActivityAt: Number(lastAt),
        pendingApprovals: Number(pending),
      })),
  );
}

export const runStore = (db: Database): Sync<RunStore> => ({
  list: (tenantId, filter, page, time) => listRuns(db, tenantId, filter, page, time),
  get(tenantId, { agentId, sessionId }, now) {
    const row = db.get(
      `SELECT ${columns('?1')} FROM runs WHERE tenant_id = ?2 AND agent = ?3 AND session = ?4`,
      [now, tenantId, agentId, sessionId],
    );
    return row ? readRun(db, tenantId, row, now) : null;
  },
  listRecent: (tenantId, query, now) => recentRuns(db, tenantId, query, now),
  countPending(tenantId, { agentIds, env }, now) {
    const ofEnv = envClause(env);
    return agentIds.flatMap((agentId) => {
      const [count] = db.get(
        `SELECT count(*) FROM approvals
           WHERE tenant_id = ? AND agent_id = ? AND status = 'pending' AND deadline > ? ${ofEnv.sql}`,
        [tenantId, agentId, now, ...ofEnv.params],
      ) ?? [0];
      return Number(count) > 0 ? [[agentId, Number(count)] as const] : [];
    });
  },
});

/**
 * Rows of these statuses, by the rules of run/rules/run. Conditions that the index `runs_newest` can check come first,
 * because the total looks at every run.
 */
function ofStatuses(statuses: readonly RunStatus[], now: number, staleBefore: number): Clause {
  const waits = `EXISTS (SELECT 1 ${pendingOf('runs', '?')})`;
  const unlessWaiting: { readonly [S in RunStatus]: readonly [sql: string, ...params: SqlValue[]] } = {
    approval_pending: ["standing = 'asking'"],
    completed: ["standing = 'completed'"],
    blocked: ["standing = 'blocked'"],
    stale: ["standing = 'open' AND last_at < ?", staleBefore],
    active: ["standing = 'open' AND last_at >= ?", staleBefore],
  };
  const conditions = [...new Set(statuses)].map((status) => unlessWaiting[status]);
  const any = conditions.map(([sql]) => `(${sql})`).join(' OR ');
  const params = conditions.flatMap(([, ...values]) => values);
  return statuses.includes('approval_pending')
    ? { sql: `(${any} OR ${waits})`, params: [...params, now] }
    : { sql: `((${any}) AND NOT ${waits})`, params: [...params, now] };
}

/** Runs looked at in one step. */
const walkedAtOnce = 2_000;
const inOrder = 'ORDER BY last_at DESC, agent, session';

const isBehind = '(last_at < ? OR (last_at = ? AND (agent > ? OR (agent = ? AND session > ?))))';
const placeParams = ({ lastActivityAt: at, agentId, sessionId }: RunPlace): SqlValue[] => [
  at,
  at,
  at,
  agentId,
  agentId,
  sessionId,
];
const behind = (place: RunPlace): Clause => ({
  sql: `last_at <= ? AND ${isBehind}`,
  params: placeParams(place),
});
const upTo = (place: RunPlace): Clause => ({
  sql: `last_at >= ? AND NOT ${isBehind}`,
  params: placeParams(place),
});
const all = (clauses: readonly (Clause | null)[]): Clause => ({
  sql: clauses.flatMap((one) => (one ? [one.sql] : [])).join(' AND '),
  params: clauses.flatMap((one) => one?.params ?? []),
});

interface Walk {
  readonly now: number;
  readonly staleBefore: number;
  /** Takes the ids of the page's runs, and of one more when there is one. */
  readonly names: SqlValue[];
}

/**
 * Walks the runs in the order of the list, some at a time: the matches of a status are unknown before each run is read.
 * Returns how many fit.
 */
function* walkRuns(
  db: Database,
  tenantId: string,
  { env, agentId, sessionId, statuses }: RunFilter,
  { limit, offset, after }: RunPageRequest,
  { now, staleBefore, names }: Walk,
): Steps<number> {
  const exact = { tenant_id: tenantId, agent: agentId ?? null, session: sessionId ?? null };
  const filters = all([
    ...Object.entries(exact).map(([column, value]) =>
      value === null ? null : { sql: `${column} = ?`, params: [value] },
    ),
    env === null ? null : { sql: envTest(env), params: [envsParameter(env)] },
  ]);
  const countOf = ({ sql, params }: Clause): number =>
    Number(db.get(`SELECT count(*) FROM runs WHERE ${sql}`, params)?.[0] ?? 0);
  const fits = statuses ? ofStatuses(statuses, now, staleBefore) : null;
  let total = fits ? 0 : countOf(filters);
  let skip = offset;
  // Those in front of the page count as well, unless all do.
  let place = fits ? null : (after ?? null);
  for (;;) {
    const left = all([filters, place && behind(place)]);
    const end = db.get(
      `SELECT last_at, agent, session FROM runs WHERE ${left.sql} ${inOrder} LIMIT 1 OFFSET ?`,
      [...left.params, walkedAtOnce - 1],
    );
    const reached = end && {
      lastActivityAt: Number(end[0]),
      agentId: givenText(String(end[1])),
      sessionId: givenText(String(end[2])),
    };
    const step = all([left, reached ? upTo(reached) : null, fits]);
    if (fits) total += countOf(step);
    const missing = limit + 1 - names.length;
    if (missing > 0) {
      const page = all([step, after ? behind(after) : null]);
      const rows = db.all(`SELECT id FROM runs WHERE ${page.sql} ${inOrder} LIMIT ?`, [
        ...page.params,
        skip + missing,
      ]);
      for (const [id] of rows.slice(skip)) names.push(id as SqlValue);
      skip = Math.max(0, skip - rows.length);
    }
    if (!reached || (!fits && names.length > limit)) return total;
    place = reached;
    yield;
  }
}

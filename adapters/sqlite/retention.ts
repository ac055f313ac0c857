// Retention in SQLite. Each slice is one transaction on the writer, together with its count.
import type { EventInput } from '../../src/event/record.ts';
import { sessionOf } from '../../src/event/rules/decision.ts';
import type { RetentionSlice, RetentionStore } from '../../src/tenant/port/retention.ts';
import {
  keepEverything,
  type RetentionCounts,
  type RetentionKind,
  retentionKinds,
} from '../../src/tenant/rules/retention.ts';
import { removeApprovalLines } from './approval-lines.ts';
import { type Database, givenText, type SqlValue } from './database.ts';
import { segmentEventsOf, tenantNumber } from './events/segment.ts';
import { runTrimmer } from './runs.ts';
import type { Steps, Sync } from './sync.ts';

export const retentionTable = `
CREATE TABLE retention_counts (
  tenant_id TEXT NOT NULL, kind TEXT NOT NULL, removed INTEGER NOT NULL, PRIMARY KEY (tenant_id, kind)) WITHOUT ROWID;
`;

/** A row in the order of receipt. */
export interface ReceiptPlace {
  readonly at: number;
  readonly id: number;
}

/** Removes events that may go, from a place on; the segments of a slice take about `maxSegmentsMs`. */
export type RemoveOldEvents = (
  tenantId: string,
  before: number,
  after: ReceiptPlace | null,
  limit: number,
  mayGo: (event: EventInput) => boolean,
) => { readonly removed: number; readonly next: ReceiptPlace | null };

/** Segments that are read before other reads are let in. */
const countedPerStep = 16;

const placeIn = (text: string | null): ReceiptPlace | null => {
  if (text === null) return null;
  const [at = 0, id = 0] = text.split(':').map(Number);
  return { at, id };
};
const placeText = (place: ReceiptPlace | null): string | null => place && `${place.at}:${place.id}`;

/** True for a call of a run that had nothing since `before`, and for one without a run. */
type RunTest = (agentId: string, sessionId: string | null) => boolean;

function runTest(db: Database, tenantId: string, before: number): RunTest {
  const answers = new Map<string, boolean>();
  return (agentId, sessionId) => {
    if (sessionId === null) return true;
    const key = JSON.stringify([agentId, sessionId]);
    let answer = answers.get(key);
    if (answer === undefined) {
      const row = db.get('SELECT received_at FROM runs WHERE tenant_id = ? AND agent = ? AND session = ?', [
        tenantId,
        agentId,
        sessionId,
      ]);
      answer = row === undefined || Number(row[0]) < before;
      answers.set(key, answer);
    }
    return answer;
  };
}

/** The same, and marks each of these runs: it loses records in this transaction. */
function trimmingRuns(db: Database, tenantId: string, before: number): RunTest {
  const test = runTest(db, tenantId, before);
  const trim = runTrimmer(db, tenantId);
  return (agentId, sessionId) => {
    if (!test(agentId, sessionId)) return false;
    if (sessionId !== null) trim(agentId, sessionId);
    return true;
  };
}

/** Where the rows of a kind lie in the order of receipt. */
const tables = {
  approvals: {
    table: 'approvals',
    id: 'rowid',
    at: 'created_at',
    which: "status <> 'pending' AND unannounced_at IS NULL",
  },
  runs: { table: 'runs', id: 'id', at: 'received_at', which: 'true' },
  deliveries: { table: 'deliveries', id: 'rowid', at: 'updated_at', which: "status <> 'waiting'" },
} as const;

const pendingOfRun = `SELECT 1 FROM approvals a WHERE a.tenant_id = runs.tenant_id AND a.agent_id = runs.agent
  AND a.session_id = runs.session AND a.status = 'pending'`;

const isWaiting = (db: Database, runRow: SqlValue): boolean =>
  db.get(`SELECT 1 FROM runs WHERE id = ? AND EXISTS (${pendingOfRun})`, [runRow]) !== undefined;

/** Removes a row if it may go. */
function removeRow(
  db: Database,
  kind: Exclude<RetentionKind, 'events'>,
  row: number,
  mayGo: RunTest,
): boolean {
  if (kind === 'approvals') {
    const [tenantId, id, agent, session] =
      db.get('SELECT tenant_id, id, agent_id, session_id FROM approvals WHERE rowid = ?', [row]) ?? [];
    const sessionId = session === null ? null : givenText(String(session));
    if (!mayGo(givenText(String(agent)), sessionId)) return false;
    db.run('DELETE FROM approval_args WHERE tenant_id = ? AND id = ?', [String(tenantId), String(id)]);
    removeApprovalLines(db, String(tenantId), String(id));
  }
  if (kind === 'runs' && isWaiting(db, row)) return false;
  const { table, id } = tables[kind];
  return db.run(`DELETE FROM ${table} WHERE ${id} = ?`, [row]) > 0;
}

/** Rows of a kind behind a place, in the order of receipt. */
const rowsAfter = (
  db: Database,
  kind: Exclude<RetentionKind, 'events'>,
  tenantId: string,
  before: number,
  after: ReceiptPlace | null,
  limit: number,
): readonly ReceiptPlace[] => {
  const { table, id, at, which } = tables[kind];
  const from = after?.at ?? Number.MIN_SAFE_INTEGER;
  return db
    .all(
      `SELECT ${at}, ${id} FROM ${table} WHERE tenant_id = ?1 AND ${which}
         AND ${at} >= ?2 AND ${at} < ?3 AND (${at} > ?2 OR ${id} > ?4) ORDER BY ${at}, ${id} LIMIT ?5`,
      [tenantId, from, before, after?.id ?? -1, limit],
    )
    .map(([time, row]) => ({ at: Number(time), id: Number(row) }));
};

function removeRows(
  db: Database,
  kind: Exclude<RetentionKind, 'events'>,
  tenantId: string,
  before: number,
  after: ReceiptPlace | null,
  limit: number,
): { readonly removed: number; readonly next: ReceiptPlace | null } {
  const mayGo = trimmingRuns(db, tenantId, before);
  const rows = rowsAfter(db, kind, tenantId, before, after, limit);
  const removed = rows.filter(({ id }) => removeRow(db, kind, id, mayGo)).length;
  return { removed, next: rows.length < limit ? null : (rows.at(-1) ?? null) };
}

/** Parts of the writer that retention needs. */
export interface RetentionWriter {
  readonly removeOld: RemoveOldEvents;
  /** Writes what commits gathered in memory, of runs too. */
  readonly flush: () => void;
}

function removeSlice(
  db: Database,
  { removeOld, flush }: RetentionWriter,
  tenantId: string,
  kind: RetentionKind,
  before: number,
  after: string | null,
  limit: number,
): RetentionSlice {
  // A run may have had something that is not written to it yet.
  flush();
  const place = placeIn(after);
  const test = trimmingRuns(db, tenantId, before);
  const { removed, next } =
    kind === 'events'
      ? removeOld(tenantId, before, place, limit, (event) => test(event.agentId, sessionOf(event)))
      : removeRows(db, kind, tenantId, before, place, limit);
  if (removed > 0) {
    db.run(
      `INSERT INTO retention_counts VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET removed = removed + excluded.removed`,
      [tenantId, kind, removed],
    );
  }
  return { removed, next: placeText(next) };
}

/** Only the bodies of agents with runs that go on are read. */
function* countEvents(db: Database, tenantId: string, before: number): Steps<number> {
  const tenant = tenantNumber(db, tenantId);
  const mayGo = runTest(db, tenantId, before);
  let [count, last] = [0, { at: Number.MIN_SAFE_INTEGER, id: 0 }];
  while (tenant !== null) {
    const rows = db.all(
      `SELECT received_at, id, events, EXISTS (SELECT 1 FROM runs
           WHERE tenant_id = ?5 AND agent = s.agent AND received_at >= ?3) FROM segments s
         WHERE tenant = ?1 AND received_at >= ?2 AND received_at < ?3 AND (received_at > ?2 OR id > ?4)
         ORDER BY received_at, id LIMIT ${countedPerStep}`,
      [tenant, last.at, before, last.id, tenantId],
    );
    for (const [at, id, events, hasRuns] of rows) {
      last = { at: Number(at), id: Number(id) };
      if (hasRuns === 0) count += Number(events);
      else
        for (const event of segmentEventsOf(db, last.id))
          if (event && mayGo(event.agentId, sessionOf(event))) count++;
    }
    if (rows.length < countedPerStep) return count;
    yield;
  }
  return count;
}

function* countRows(
  db: Database,
  kind: Exclude<RetentionKind, 'events'>,
  tenantId: string,
  before: number,
): Steps<number> {
  const mayGo = runTest(db, tenantId, before);
  const perStep = 500;
  let count = 0;
  for (let after: ReceiptPlace | null = null; ; ) {
    const rows = rowsAfter(db, kind, tenantId, before, after, perStep);
    for (const { id } of rows) {
      if (kind === 'runs' && isWaiting(db, id)) continue;
      if (kind === 'approvals') {
        const [agent, session] =
          db.get('SELECT agent_id, session_id FROM approvals WHERE rowid = ?', [id]) ?? [];
        const sessionId = typeof session === 'string' ? givenText(session) : null;
        if (!mayGo(givenText(String(agent)), sessionId)) continue;
      }
      count++;
    }
    after = rows.at(-1) ?? null;
    if (rows.length < perStep) return count;
    yield;
  }
}

function settleCounts(db: Database, tenantId: string): RetentionCounts | null {
  const rows = db.all('SELECT kind, removed FROM retention_counts WHERE tenant_id = ?', [tenantId]);
  if (rows.length === 0) return null;
  db.run('DELETE FROM retention_counts WHERE tenant_id = ?', [tenantId]);
  const removed = new Map(rows.map(([kind, count]) => [String(kind), Number(count)]));
  const counts = retentionKinds.map((kind) => [kind, removed.get(kind) ?? 0] as const);
  return { ...keepEverything, ...Object.fromEntries(counts) };
}

export const retentionStore = (db: Database, writer: RetentionWriter): Sync<RetentionStore> => ({
  count: (tenantId, kind, before) =>
    kind === 'events' ? countEvents(db, tenantId, before) : countRows(db, kind, tenantId, before),
  remove: (tenantId, kind, before, after, limit) =>
    removeSlice(db, writer, tenantId, kind, before, after, limit),
  settle: (tenantId) => settleCounts(db, tenantId),
});

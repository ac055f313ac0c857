// The list of approvals in SQLite: walked newest first, some rows at a time, so that a search which finds little can be
// ended.
import { type Approval, asSeen } from '../../src/domain/approval.ts';
import type { ApprovalFilter, ApprovalPageRequest } from '../../src/ports/approvals.ts';
import type { Page } from '../../src/ports/page.ts';
import { type Database, lowered, type Row, type SqlValue } from './database.ts';
import { rowsOf } from './page.ts';
import type { Steps } from './sync.ts';

/** Rows looked at in one step. */
const atOnce = 2_000;

/** The status a reader sees at ?3. */
const seenStatus = `CASE WHEN status = 'pending' AND deadline <= ?3 THEN 'timeout' ELSE status END`;

const searched = ['agent_id', 'tool_name', 'message', 'contract_name', 'decided_by'];

const fits = `(?2 IS NULL OR env = ?2) AND (?4 IS NULL OR ${seenStatus} = ?4) AND (?5 IS NULL OR agent_id = ?5)
  AND (?6 IS NULL OR created_at >= ?6) AND (?11 IS NULL OR session_id = ?11)
  AND (?7 IS NULL OR ${searched.map((name) => `instr(lower(ifnull(${name}, '')), ?7) > 0`).join(' OR ')})`;

/** Behind the place ?8 (time), ?9 (row). */
const walk = `SELECT rowid, created_at, ${fits} FROM approvals
  WHERE tenant_id = ?1 AND created_at <= ?8 AND (created_at < ?8 OR rowid < ?9)
  ORDER BY created_at DESC, rowid DESC LIMIT ?10`;

interface Place {
  readonly createdAt: number;
  readonly row: number;
}

/** Later than any approval. */
const newest: Place = { createdAt: Number.MAX_SAFE_INTEGER, row: Number.MAX_SAFE_INTEGER };

export interface Reading {
  /** Selects the columns that `read` expects. */
  readonly select: string;
  read(row: Row): Approval;
}

export function* listApprovals(
  db: Database,
  { select, read }: Reading,
  tenantId: string,
  filter: ApprovalFilter,
  { limit, offset, after }: ApprovalPageRequest,
  now: number,
): Steps<Page<Approval>> {
  const { env, status = null, agentId = null, sessionId = null, since = null, until = null, search } = filter;
  const needle = search === undefined ? null : lowered(search);
  const start = until === null ? newest : { ...newest, createdAt: Math.floor(until) };
  let place: Place = after === undefined ? start : before(start, placeOf(db, tenantId, after));
  const names: SqlValue[] = [];
  let skip = offset;
  for (;;) {
    const rows = db.all(walk, [
      tenantId,
      env,
      now,
      status,
      agentId,
      since,
      needle,
      place.createdAt,
      place.row,
      atOnce,
      sessionId,
    ]);
    for (const [row, , match] of rows) {
      if (match !== 1 || skip-- > 0) continue;
      names.push(row as SqlValue);
      if (names.length > limit) break;
    }
    const last = rows.at(-1);
    const done = names.length > limit || rows.length < atOnce || !last;
    if (done || (since !== null && Number(last[1]) < since)) break;
    place = { createdAt: Number(last[1]), row: Number(last[0]) };
    yield;
  }
  const found = { row: `${select} WHERE rowid = ?`, read: (row: Row) => asSeen(read(row), now) };
  return db.snapshot(() => rowsOf(db, names, limit, found));
}

/** How many a list holds. One look at each of the tenant's approvals, none of which is read whole. */
export function countApprovals(db: Database, tenantId: string, filter: ApprovalFilter, now: number): number {
  const { env, status = null, agentId = null, sessionId = null, since = null, until = null, search } = filter;
  const needle = search === undefined ? null : lowered(search);
  const last = until === null ? newest.createdAt : Math.floor(until);
  const sql = `SELECT count(*) FROM approvals WHERE tenant_id = ?1 AND created_at <= ?8 AND ${fits}
    AND ?9 IS NULL AND ?10 IS NULL`;
  const row = db.get(sql, [tenantId, env, now, status, agentId, since, needle, last, null, null, sessionId]);
  return Number(row?.[0] ?? 0);
}

function placeOf(
  db: Database,
  tenantId: string,
  { createdAt, id }: NonNullable<ApprovalPageRequest['after']>,
): Place {
  const row = db.get('SELECT rowid FROM approvals WHERE tenant_id = ? AND id = ?', [tenantId, id]);
  return { createdAt, row: row ? Number(row[0]) : 0 };
}

const before = (one: Place, other: Place): Place =>
  other.createdAt < one.createdAt || (other.createdAt === one.createdAt && other.row < one.row) ? other : one;

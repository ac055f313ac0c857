// The list of approvals in SQLite: walked newest first, some rows at a time, so that a search which finds little can be
// ended.

import type { ApprovalFilter, ApprovalPageRequest } from '../../src/approval/port.ts';
import type { Approval } from '../../src/approval/record.ts';
import { asSeen } from '../../src/approval/rules/state.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { foldedText } from '../../src/shared/search-text.ts';
import type { Database, Row, SqlValue } from './database.ts';
import { mentions } from './mentions.ts';
import { rowsOf } from './page.ts';
import type { Steps } from './sync.ts';
import { envsParameter, inEnvs } from './table.ts';

/** Rows looked at in one step. */
const atOnce = 2_000;

/** The status a reader sees at ?3. */
const seenStatus = `CASE WHEN status = 'pending' AND deadline <= ?3 THEN 'timeout' ELSE status END`;

export const searchedColumns = ['agent_id', 'tool_name', 'message', 'contract_name', 'decided_by'];

const fits = `${inEnvs('?2', 'env')} AND (?4 IS NULL OR ${seenStatus} = ?4) AND (?5 IS NULL OR agent_id = ?5)
  AND (?6 IS NULL OR created_at >= ?6) AND (?10 IS NULL OR session_id = ?10)`;

/** Behind the place ?7 (time), ?8 (row); with the columns that are searched. */
const walk = (columns: readonly string[]) => `SELECT ${['rowid', 'created_at', fits, ...columns].join(', ')}
  FROM approvals WHERE tenant_id = ?1 AND created_at <= ?7 AND (created_at < ?7 OR rowid < ?8)
  ORDER BY created_at DESC, rowid DESC LIMIT ?9`;
const [walkAll, walkSearched] = [walk([]), walk(searchedColumns)];

interface Place {
  readonly createdAt: number;
  readonly row: number;
}

/** ?1 to ?10: the filter, and a place with a number. */
function paramsOf(
  tenantId: string,
  filter: ApprovalFilter,
  now: number,
  place: readonly [createdAt: number, row: number, number: number],
): SqlValue[] {
  const { env, status = null, agentId = null, sessionId = null, since = null } = filter;
  return [tenantId, envsParameter(env), now, status, agentId, since, ...place, sessionId];
}

/** Of the approvals that fit, where they are kept, newest first from a place on; some rows in each step. */
function* fitting(
  db: Database,
  tenantId: string,
  filter: ApprovalFilter,
  start: Place,
  now: number,
): Generator<readonly SqlValue[], void, undefined> {
  const { since = null, search } = filter;
  const needle = search === undefined ? null : foldedText(search);
  let place = start;
  for (;;) {
    const params = paramsOf(tenantId, filter, now, [place.createdAt, place.row, atOnce]);
    const rows = db.all(needle === null ? walkAll : walkSearched, params);
    yield rows.flatMap(([row, , fits, ...texts]) =>
      fits === 1 && mentions(texts, needle) ? [row as SqlValue] : [],
    );
    const last = rows.at(-1);
    if (rows.length < atOnce || !last || (since !== null && Number(last[1]) < since)) return;
    place = { createdAt: Number(last[1]), row: Number(last[0]) };
  }
}

/** Approvals that one step counts. */
const rowsPerCount = 20_000;

/** The approval that ends a step behind the place ?2 (time), ?3 (row). */
const lastOfCount = `SELECT created_at, rowid FROM approvals WHERE tenant_id = ?1 AND created_at <= ?2
  AND (created_at < ?2 OR rowid < ?3) ORDER BY created_at DESC, rowid DESC LIMIT 1 OFFSET ${rowsPerCount - 1}`;

/** Behind the place ?7 (time), ?8 (row), up to ?11 (time), ?9 (row). */
const countBetween = `SELECT count(*) FROM approvals WHERE tenant_id = ?1 AND created_at <= ?7
  AND (created_at < ?7 OR rowid < ?8) AND created_at >= ?11 AND (created_at > ?11 OR rowid >= ?9) AND ${fits}`;

/** Earlier than any approval. */
const oldest: Place = { createdAt: Number.MIN_SAFE_INTEGER, row: 0 };
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
  const { until = null } = filter;
  const start = until === null ? newest : { ...newest, createdAt: Math.floor(until) };
  const from = after === undefined ? start : before(start, placeOf(db, tenantId, after));
  const names: SqlValue[] = [];
  let skip = offset;
  for (const rows of fitting(db, tenantId, filter, from, now)) {
    for (const row of rows) {
      if (skip-- > 0) continue;
      names.push(row);
      if (names.length > limit) break;
    }
    if (names.length > limit) break;
    yield;
  }
  const rowSource = { row: `${select} WHERE rowid = ?`, read: (row: Row) => asSeen(read(row), now) };
  return db.snapshot(() => rowsOf(db, names, limit, rowSource));
}

/** How many a list holds. Looks at each approval of the tenant, some in each step; reads none of them whole. */
export function* countApprovals(
  db: Database,
  tenantId: string,
  filter: ApprovalFilter,
  now: number,
): Steps<number> {
  const { until = null, search } = filter;
  let place = until === null ? newest : { ...newest, createdAt: Math.floor(until) };
  let count = 0;
  if (search !== undefined) {
    for (const rows of fitting(db, tenantId, filter, place, now)) {
      count += rows.length;
      yield;
    }
    return count;
  }
  for (;;) {
    const last = db.get(lastOfCount, [tenantId, place.createdAt, place.row]);
    const end = last ? { createdAt: Number(last[0]), row: Number(last[1]) } : oldest;
    const params = paramsOf(tenantId, filter, now, [place.createdAt, place.row, end.row]);
    count += Number(db.get(countBetween, [...params, end.createdAt])?.[0] ?? 0);
    if (!last) return count;
    place = end;
    yield;
  }
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

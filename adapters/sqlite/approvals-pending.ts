// The list of pending approvals in SQLite: walked by deadline along the index of each environment, some rows at a time,
// so that a search with few matches can be ended.

import {
  type AlikeCount,
  type ApprovalFilter,
  type DeadlinePlace,
  maxAlike,
  type PendingPageRequest,
} from '../../src/approval/port.ts';
import type { Approval } from '../../src/approval/record.ts';
import { type Env, type EnvFilter, environments, isInFilter } from '../../src/shared/ids.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { foldedText } from '../../src/shared/search-text.ts';
import { type Reading, searchedColumns } from './approvals-list.ts';
import type { Database, Row, SqlValue } from './database.ts';
import { mentions } from './mentions.ts';
import { rowsOf } from './page.ts';
import type { Steps } from './sync.ts';

/** Rows looked at in one step. */
const atOnce = 2_000;

const fits = `(?2 IS NULL OR agent_id = ?2) AND (?3 IS NULL OR session_id = ?3) AND (?4 IS NULL OR created_at >= ?4)
  AND (?5 IS NULL OR created_at <= ?5)`;

/** Behind the place ?6 (deadline), ?7 (id); ?9 and on: the environments, whose parts SQLite merges in this order. */
const walk = (envCount: number, columns: readonly string[]): string => {
  const parts = Array.from(
    { length: envCount },
    (_, i) => `SELECT rowid AS place, deadline, id, ${[fits, ...columns].join(', ')} FROM approvals
      WHERE tenant_id = ?1 AND env = ?${9 + i} AND status = 'pending'
        AND deadline >= ?6 AND (deadline > ?6 OR id > ?7)`,
  );
  return `${parts.join(' UNION ALL ')} ORDER BY deadline, id LIMIT ?8`;
};

/** Rows behind a place, some at a time: rowid, deadline, id, true if it fits, and the columns. */
function* pendingRows(
  db: Database,
  tenantId: string,
  filter: Omit<ApprovalFilter, 'status' | 'search'>,
  start: DeadlinePlace,
  columns: readonly string[],
): Generator<readonly Row[], void, undefined> {
  const { env, agentId = null, sessionId = null, since = null, until = null } = filter;
  const envs = environments.filter((one) => isInFilter(env, one));
  if (envs.length === 0) return;
  const sql = walk(envs.length, columns);
  let place = start;
  for (;;) {
    const filters = [tenantId, agentId, sessionId, since, until];
    const rows = db.all(sql, [...filters, place.deadline, place.id, atOnce, ...envs]);
    yield rows;
    const last = rows.at(-1);
    if (rows.length < atOnce || !last) return;
    place = { deadline: Number(last[1]), id: String(last[2]) };
  }
}

function* fittingPending(
  db: Database,
  tenantId: string,
  { search, ...filter }: Omit<ApprovalFilter, 'status'>,
  start: DeadlinePlace,
): Generator<readonly SqlValue[], void, undefined> {
  const needle = search === undefined ? null : foldedText(search);
  for (const rows of pendingRows(db, tenantId, filter, start, needle === null ? [] : searchedColumns))
    yield rows.flatMap(([row, , , isFitting, ...texts]) =>
      isFitting === 1 && mentions(texts, needle) ? [row as SqlValue] : [],
    );
}

/** A place before every id of the first deadline that is not due, or a later one: deadlines are whole milliseconds. */
function startOf(after: DeadlinePlace | undefined, now: number): DeadlinePlace {
  const first: DeadlinePlace = { deadline: Math.floor(now) + 1, id: '' };
  return after !== undefined && after.deadline >= first.deadline ? after : first;
}

export function* listPending(
  db: Database,
  { select, read }: Reading,
  tenantId: string,
  filter: Omit<ApprovalFilter, 'status'>,
  { limit, offset, after }: PendingPageRequest,
  now: number,
): Steps<Page<Approval>> {
  const start = startOf(after, now);
  const names: SqlValue[] = [];
  let skip = offset;
  for (const rows of fittingPending(db, tenantId, filter, start)) {
    const own = rows.slice(skip);
    skip = Math.max(0, skip - rows.length);
    names.push(...own.slice(0, limit + 1 - names.length));
    if (names.length > limit) break;
    yield;
  }
  return db.snapshot(() => rowsOf(db, names, limit, { row: `${select} WHERE rowid = ?`, read }));
}

/** The columns that alike approvals share; contracts as a JSON list of their names. */
const alikeColumns = [
  'env',
  'tool_name',
  'contract_name',
  `CASE WHEN contracts IS NOT NULL
    THEN (SELECT json_group_array(json_extract(value, '$.name')) FROM json_each(contracts)) END`,
];

export function* countAlike(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  after: DeadlinePlace,
  now: number,
): Steps<readonly AlikeCount[]> {
  const counts = new Map<string, { count: number } & Omit<AlikeCount, 'count'>>();
  const start = startOf(after, now);
  for (const rows of pendingRows(db, tenantId, { env }, start, alikeColumns)) {
    for (const [, , , , envName, toolName, contractName, names] of rows) {
      const key = JSON.stringify([envName, toolName, contractName, names]);
      const alike = counts.get(key);
      if (alike) alike.count++;
      else if (counts.size < maxAlike)
        counts.set(key, {
          env: envName as Env,
          toolName: String(toolName),
          contractName: contractName === null ? null : String(contractName),
          contractNames: names === null ? null : JSON.parse(String(names)),
          count: 1,
        });
    }
    yield;
  }
  return [...counts.values()];
}

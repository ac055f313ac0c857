// The list of pending approvals in SQLite: walked by deadline along the index of each environment, some rows at a time,
// so that a search with few matches can be ended.

import type { ApprovalFilter, DeadlinePlace, PendingPageRequest } from '../../src/approval/port.ts';
import type { Approval } from '../../src/approval/record.ts';
import { environments, isInFilter } from '../../src/shared/ids.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { foldedText } from '../../src/shared/search-text.ts';
import { type Reading, searchedColumns } from './approvals-list.ts';
import type { Database, SqlValue } from './database.ts';
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

function* fittingPending(
  db: Database,
  tenantId: string,
  filter: Omit<ApprovalFilter, 'status'>,
  start: DeadlinePlace,
): Generator<readonly SqlValue[], void, undefined> {
  const { env, agentId = null, sessionId = null, since = null, until = null, search } = filter;
  const needle = search === undefined ? null : foldedText(search);
  const envs = environments.filter((one) => isInFilter(env, one));
  if (envs.length === 0) return;
  const sql = walk(envs.length, needle === null ? [] : searchedColumns);
  let place = start;
  for (;;) {
    const filters = [tenantId, agentId, sessionId, since, until];
    const rows = db.all(sql, [...filters, place.deadline, place.id, atOnce, ...envs]);
    yield rows.flatMap(([row, , , isFitting, ...texts]) =>
      isFitting === 1 && mentions(texts, needle) ? [row as SqlValue] : [],
    );
    const last = rows.at(-1);
    if (rows.length < atOnce || !last) return;
    place = { deadline: Number(last[1]), id: String(last[2]) };
  }
}

export function* listPending(
  db: Database,
  { select, read }: Reading,
  tenantId: string,
  filter: Omit<ApprovalFilter, 'status'>,
  { limit, offset, after }: PendingPageRequest,
  now: number,
): Steps<Page<Approval>> {
  // Before every id of the first deadline that is not due: deadlines are whole milliseconds.
  const first: DeadlinePlace = { deadline: Math.floor(now) + 1, id: '' };
  const start = after !== undefined && after.deadline >= first.deadline ? after : first;
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

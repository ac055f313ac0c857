// Lists and searches of living agents in SQLite: some registrations in each step, so that other reads come between.
// The order of times has no index, which each stream that connects would have to change: all registrations are looked
// at once, and the first of them kept.

import type { AgentQuery } from '../../src/agent/port.ts';
import type { AgentPlace, RegistrationSummary } from '../../src/agent/record.ts';
import { FirstOf } from '../../src/shared/concurrency/first-of.ts';
import type { Page } from '../../src/shared/ports/page.ts';
import { foldedText } from '../../src/shared/search-text.ts';
import { summaries } from './agent-seen.ts';
import { type Database, givenText, type SqlValue } from './database.ts';
import { mentions } from './mentions.ts';
import { rowsOf } from './page.ts';
import type { Steps } from './sync.ts';

/** Registrations that one step looks at. */
const atOnce = 2_000;

/** LIMIT without a limit. */
const unlimited = -1;

const living = 'FROM registrations WHERE tenant_id = ?1 AND retired_at IS NULL';

const times = { lastSeenAt: 'ifnull(last_seen_at, 0)', createdAt: 'created_at' } as const;

/** By agent id, behind ?2 if there is a place; at most ?3. */
const walkIds = (descending: boolean, hasPlace: boolean): string => {
  const behind = descending ? '<' : '>';
  return `SELECT rowid, agent_id, display_name ${living} ${hasPlace ? `AND agent_id ${behind} ?2` : 'AND ?2 IS NULL'}
    ORDER BY agent_id ${descending ? 'DESC' : 'ASC'} LIMIT ?3`;
};

/**
 * By time, behind the place ?2 (time), ?3 (agent id): of the ids behind ?4, in all steps but the last up to ?5; at most
 * ?6.
 */
function walkTimes(order: keyof typeof times, descending: boolean, isLast: boolean): string {
  const [direction, behind] = descending ? ['DESC', '<'] : ['ASC', '>'];
  const time = times[order];
  return `SELECT rowid, agent_id, display_name, ${time} ${living} AND agent_id > ?4
    AND ${isLast ? '?5 IS NULL' : 'agent_id <= ?5'}
    AND (${time} ${behind} ?2 OR (${time} = ?2 AND agent_id > ?3)) ORDER BY ${time} ${direction}, agent_id LIMIT ?6`;
}

const lastOfStep = `SELECT agent_id ${living} AND agent_id > ?2 ORDER BY agent_id LIMIT 1 OFFSET ${atOnce - 1}`;

/** The first `limit` that fit, by agent id. */
function* namesById(
  db: Database,
  tenantId: string,
  { descending, after }: AgentQuery,
  needle: string | null,
  limit: number,
): Steps<readonly SqlValue[]> {
  const names: SqlValue[] = [];
  const rowsAtOnce = needle === null ? limit : atOnce;
  for (let last = after?.agentId ?? null; ; ) {
    const rows = db.all(walkIds(descending, last !== null), [tenantId, last, rowsAtOnce]);
    for (const [rowid, ...texts] of rows) {
      if (names.length < limit && mentions(texts, needle)) names.push(rowid as SqlValue);
    }
    const [, lastId] = rows.at(-1) ?? [];
    if (names.length >= limit || rows.length < rowsAtOnce || lastId === undefined) return names;
    last = givenText(String(lastId));
    yield;
  }
}

interface Candidate {
  readonly rowid: SqlValue;
  readonly time: number;
  /** Rises with the agent id among those of one time. */
  readonly ordinal: number;
}

/** Before the first registration in the order of time. */
const beginning = (descending: boolean): AgentPlace => ({
  at: descending ? Number.MAX_SAFE_INTEGER : -1,
  agentId: '',
});

/** The first `limit` that fit, by time, then agent id. */
function* namesByTime(
  db: Database,
  tenantId: string,
  { descending, after }: AgentQuery,
  order: keyof typeof times,
  needle: string | null,
  limit: number,
): Steps<readonly SqlValue[]> {
  const { at, agentId } = after ?? beginning(descending);
  const first = new FirstOf<Candidate>(
    limit,
    (a, b) => (descending ? b.time - a.time : a.time - b.time) || a.ordinal - b.ordinal,
  );
  const limitAtOnce = needle === null ? limit : unlimited;
  let ordinal = 0;
  for (let last = ''; ; ) {
    const [upper = null] = db.get(lastOfStep, [tenantId, last]) ?? [];
    const sql = walkTimes(order, descending, upper === null);
    const params = [tenantId, at, agentId, last, upper as SqlValue, limitAtOnce];
    for (const [rowid, id, name, time] of db.all(sql, params)) {
      if (mentions([id, name], needle))
        first.add({ rowid: rowid as SqlValue, time: Number(time), ordinal: ordinal++ });
    }
    if (upper === null) return first.sorted().map(({ rowid }) => rowid);
    last = givenText(String(upper));
    yield;
  }
}

export function* searchAgents(
  db: Database,
  tenantId: string,
  query: AgentQuery,
): Steps<Page<RegistrationSummary>> {
  const { limit, search, order } = query;
  const needle = search === null ? null : foldedText(search);
  const names =
    order === 'agentId'
      ? yield* namesById(db, tenantId, query, needle, limit + 1)
      : yield* namesByTime(db, tenantId, query, order, needle, limit + 1);
  const row = `SELECT ${summaries.columns} FROM registrations WHERE rowid = ?`;
  return db.snapshot(() => rowsOf(db, names, limit, { row, read: summaries.read }));
}

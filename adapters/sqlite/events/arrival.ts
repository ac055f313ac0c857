// Events in the order of arrival, for those who follow them, and when agents reported last. Runs on the reader.

import type { Arrivals } from '../../../src/event/port.ts';
import type { StoredEvent } from '../../../src/event/record.ts';
import type { AgentsIn } from '../../../src/shared/ids.ts';
import { maxPageBytes } from '../../../src/shared/ports/page.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../sync.ts';
import { envClause } from '../table.ts';
import { markOf } from './search.ts';
import {
  bodyEvents,
  outcomesOf,
  placeOf,
  readSummary,
  segmentBody,
  segmentOf,
  storedEvent,
  summaryColumns,
  tenantNumber,
} from './segment.ts';

/** Segments that one query finds, and segments of any tenant that it looks at, at most. */
const [segmentsAtOnce, idsAtOnce] = [64, 2_000];

// By their numbers: with an index of the tenant, each query would sort all of the tenant's segments.
const selectSegments = `SELECT ${summaryColumns} FROM segments NOT INDEXED
  WHERE id >= ? AND id < ? AND tenant = ? ORDER BY id LIMIT ${segmentsAtOnce}`;
/** Looks at the tenant's entries in the index, without their rows. */
const selectNext = 'SELECT min(id) FROM segments INDEXED BY segments_arrival WHERE tenant = ? AND id >= ?';

/** At once, unless many segments of other tenants are in between. */
export function arrivals(
  db: Database,
  tenantId: string,
  after: number,
  limit: number,
): Arrivals | Steps<Arrivals> {
  const steps = readArrivals(db, tenantId, after, limit);
  const { done, value } = steps.next();
  return done ? value : steps;
}

function* readArrivals(db: Database, tenantId: string, after: number, limit: number): Steps<Arrivals> {
  const tenant = tenantNumber(db, tenantId);
  const events: StoredEvent[] = [];
  if (tenant === null) return { events, more: false };
  const mark = markOf(db);
  const newest = segmentOf(getNewestSeq(db));
  let bytes = 0;
  for (let from = segmentOf(after); from <= newest; ) {
    const rows = db.all(selectSegments, [from, from + idsAtOnce, tenant]).map(readSummary);
    for (const segment of rows) {
      const body = segmentBody(db, segment.id);
      if (!body) continue;
      const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
      bytes += body.text.length;
      for (const [position, event] of bodyEvents(body).entries()) {
        if (!event || placeOf(segment.id, position) <= after) continue;
        if (events.length === limit) return { events, more: true };
        events.push(storedEvent(event, mark, position, segment, outcomes?.get(position) ?? []));
      }
      if (bytes >= maxPageBytes) return { events, more: true };
    }
    const last = rows.length < segmentsAtOnce ? undefined : rows.at(-1);
    from = last ? last.id + 1 : from + idsAtOnce;
    if (from > newest) break;
    yield;
    if (rows.length > 0) continue;
    const next = db.get(selectNext, [tenant, from])?.[0];
    if (typeof next !== 'number') break;
    from = next;
  }
  return { events, more: false };
}

/** The last place of the newest segment. */
export const getNewestSeq = (db: Database): number =>
  placeOf(Number(db.get('SELECT ifnull(max(id), 0) FROM segments')?.[0]), 255);

export function newestOf(db: Database, tenantId: string, { agentIds, env }: AgentsIn) {
  const tenant = tenantNumber(db, tenantId);
  const ofEnv = envClause(env);
  return agentIds.flatMap((agentId) => {
    const row = db.get(`SELECT max(max_ts) FROM segments WHERE tenant = ? AND agent = ? ${ofEnv.sql}`, [
      tenant,
      agentId,
      ...ofEnv.params,
    ]);
    return typeof row?.[0] === 'number' ? [[agentId, row[0]] as const] : [];
  });
}

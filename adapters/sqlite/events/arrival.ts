// Events in the order of arrival, for those who follow them, and when agents reported last. Runs on the reader.

import type { Arrivals } from '../../../src/event/port.ts';
import type { StoredEvent } from '../../../src/event/record.ts';
import type { AgentsIn } from '../../../src/shared/ids.ts';
import { maxPageBytes } from '../../../src/shared/ports/page.ts';
import type { Database } from '../database.ts';
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

/** Segments looked for in one query. */
const segmentsAtOnce = 64;

export function arrivals(db: Database, tenantId: string, after: number, limit: number): Arrivals {
  const tenant = tenantNumber(db, tenantId);
  const events: StoredEvent[] = [];
  if (tenant === null) return { events, more: false };
  const mark = markOf(db);
  let bytes = 0;
  for (let from = segmentOf(after); ; ) {
    const rows = db
      .all(`SELECT ${summaryColumns} FROM segments WHERE id >= ? AND tenant = ? ORDER BY id LIMIT ?`, [
        from,
        tenant,
        segmentsAtOnce,
      ])
      .map(readSummary);
    for (const segment of rows) {
      const body = segmentBody(db, segment.id);
      from = segment.id + 1;
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
    if (rows.length < segmentsAtOnce) return { events, more: false };
  }
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

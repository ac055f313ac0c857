// Reads in the order of arrival go by the numbers of segments: what they cost follows what arrived since, not how many
// segments the tenant has.
import { expect, it } from 'vitest';
import { arrivals } from '../../../adapters/sqlite/events/arrival.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { exportStore } from '../../../adapters/sqlite/exports.ts';
import { finish, isSteps } from '../../../adapters/sqlite/sync.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, uuid } from '../../conformance/fixtures.ts';
import { openWriter } from './event-store.ts';

it('neither arrivals nor exports sort all segments of the tenant', () => {
  const { db, tenantId, writer } = openWriter();
  db.atomically(() => writer.ingest(encodeBatch(aBatch(tenantId, [anEvent(), anEvent()]))));
  const plans = new Map<string, string>();
  const all = db.all.bind(db);
  db.all = (sql, ...rest) => {
    if (/FROM segments/.test(sql))
      plans.set(
        sql,
        all(`EXPLAIN QUERY PLAN ${sql}`, ...rest)
          .map(([, , , detail]) => detail)
          .join('; '),
      );
    return all(sql, ...rest);
  };
  expect(finish(arrivals(db, tenantId, 0, 10)).events).toHaveLength(2);
  expect(finish(exportStore(db).list(tenantId, 'events', null, 10)).lines).toHaveLength(2);
  expect(plans.size).toBe(2);
  for (const plan of plans.values())
    expect(plan).toMatch(/^SEARCH segments USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/);
  db.close();
});

it('arrivals behind many segments of another tenant are read in steps, with one look for each gap', () => {
  const { db, tenantId, writer } = openWriter();
  const ingest = (tenant: string, count: number) => {
    const events = Array.from({ length: count }, (_, i) => anEvent({ agentId: `a${i}` }));
    db.atomically(() => writer.ingest(encodeBatch(aBatch(tenant, events))));
    return events.map(({ callId }) => callId);
  };
  const other = uuid();
  const callIds: string[] = [];
  for (let i = 0; i < 2; i++) {
    callIds.push(...ingest(tenantId, 70));
    for (let n = 0; n < 5; n++) ingest(other, 1000);
  }
  callIds.push(...ingest(tenantId, 1));
  const read = arrivals(db, tenantId, 0, 1000);
  expect(isSteps(read)).toBe(true);
  let steps = 1;
  for (; isSteps(read); steps++) {
    const { done, value } = read.next();
    if (!done) continue;
    expect(value.events.map(({ callId }) => callId)).toEqual(callIds);
    expect(value.more).toBe(false);
    break;
  }
  expect(steps).toBeLessThan(12);
  const newest = arrivals(db, tenantId, Number(db.get('SELECT max(id) FROM segments')?.[0]) * 256 - 1, 10);
  if (isSteps(newest)) throw new Error('Few segments take no steps.');
  expect(newest.events.map(({ callId }) => callId)).toEqual(callIds.slice(-1));
  db.close();
});

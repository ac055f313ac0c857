// A search by the call id of a hosted event: segments are found by their marks, and those of earlier builds without.
import { expect, it } from 'vitest';
import { countFitting } from '../../../adapters/sqlite/events/count.ts';
import { eventPages } from '../../../adapters/sqlite/events/search.ts';
import { readPage } from '../../../adapters/sqlite/events/stored-page.ts';
import { walk } from '../../../adapters/sqlite/events/walk.ts';
import { finish } from '../../../adapters/sqlite/sync.ts';
import { hosted, otherCalls } from '../../conformance/events-call-ids.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';
import { openEvents } from './event-store.ts';

const callId = 'call-77';
const filter = { env: null, callId };

/** A packed segment, one beside it that is not, and one of other calls. */
function stored() {
  const { db, tenantId, ingest, purge } = openEvents();
  ingest([hosted(callId, { timestamp: t0, verdict: 'call_asked' }), ...otherCalls(t0)]);
  ingest(otherCalls(t0 + 4000));
  ingest([hosted(callId, { timestamp: t0 + 5000, verdict: 'call_approval_granted' })]);
  ingest([anEvent({ callId, agentId: 'b', timestamp: t0 + 6000, verdict: 'call_executed' })]);
  const { search } = eventPages(db, () => 0);
  return {
    db,
    purge,
    search: () => readPage(finish(search(tenantId, filter, 100, null))).events.map(({ verdict }) => verdict),
    count: () => finish(countFitting(db, tenantId, filter)),
    walked: () =>
      [...walk(db, tenantId, filter, t0 * 2)].flatMap((segment) =>
        typeof segment === 'number' ? [] : [segment.id],
      ),
  };
}

const verdicts = ['call_executed', 'call_approval_granted', 'call_asked'];

it('reads the segments that are marked with it, and no others', () => {
  const { db, search, count, walked } = stored();
  expect(db.all('SELECT call_keys IS NULL FROM segment_bodies ORDER BY segment')).toEqual([
    [0],
    [0],
    [1],
    [1],
  ]);
  expect(walked()).toEqual([4, 3, 1]);
  expect([search(), count()]).toEqual([verdicts, 3]);
  db.close();
});

it('is whole when the table of calls contains the ids', () => {
  const { db, search, count, walked } = stored();
  db.exec(
    `UPDATE store SET merged = 4; INSERT INTO calls SELECT tenant, '${callId}', 4 * 8192 FROM segments LIMIT 1`,
  );
  expect(walked()).toEqual([4, 3, 1]);
  expect([search(), count()]).toEqual([verdicts, 3]);
  db.close();
});

it('is whole over segments of an earlier build, which have no marks', () => {
  const { db, search, count } = stored();
  const dropMarks = "UPDATE segments SET names = json_remove(names, '$[#-1]')";
  for (const where of ['WHERE id = 1', '']) {
    db.exec(`${dropMarks} ${where}`);
    expect([search(), count()]).toEqual([verdicts, 3]);
  }
  expect(db.get('SELECT names FROM segments WHERE id = 1')).toEqual(['[]']);
  db.close();
});

it('is whole after events of its segments were removed', () => {
  const { db, search, purge } = stored();
  expect(purge(1)).toBe(1);
  expect(search()).toEqual(verdicts.slice(0, 2));
  db.close();
});

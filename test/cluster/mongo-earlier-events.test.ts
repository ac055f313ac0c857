// Events that an earlier version stored in MongoDB, without the texts that a search reads.
import { MongoClient } from 'mongodb';
import { afterAll, expect, inject, it } from 'vitest';
import type { EventRow } from '../../adapters/mongo/event-filter.ts';
import { aBatch } from '../conformance/events.ts';
import { anEvent, t0, uuid } from '../conformance/fixtures.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
const client = new MongoClient(inject('mongoUrl'));
afterAll(() => client.close());

it('are found by their reason and arguments, and counted as they are listed', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const tenantId = uuid();
  const names = { agent_id: 'n', tool_name: 'n' };
  const payload = {
    reason: 'Geheim: \ud800 bleibt',
    tool_args: { path: '/srv/"Shop"/a.ts', list: [{ amount: 1200 }, true] },
  };
  const old = anEvent({ ...names, payload, timestamp: t0 });
  const empty = anEvent({ ...names, payload: null, timestamp: t0 + 1 });
  await store.events.ingest(aBatch(tenantId, [old, empty]));
  const rows = client.db(name).collection<EventRow>('events');
  expect((await rows.updateMany({ tenantId }, { $unset: { texts: '' } })).matchedCount).toBe(2);
  const added = anEvent({ ...names, payload, timestamp: t0 + 2 });
  const other = anEvent({ ...names, payload: { reason: 'other', hidden: 'x' }, timestamp: t0 + 3 });
  await store.events.ingest(aBatch(tenantId, [added, other]));

  const find = async (search: string) => {
    const filter = { env: null, search };
    const { events } = await store.events.search(tenantId, filter, 10, null);
    expect(await store.events.count(tenantId, filter), search).toBe(events.length);
    return events.map(({ call_id }) => call_id);
  };
  for (const text of ['GEHEIM', ': \ud800 B', 'srv/"shop"', '120', 'TRUE']) {
    expect(await find(text), text).toEqual([added.call_id, old.call_id]);
  }
  // Names of fields are found in what earlier versions stored, and there alone.
  expect(await find('tool_args')).toEqual([old.call_id]);
  for (const text of ['nothing', 'hidden', '.*', 'a.ts$']) expect(await find(text), text).toEqual([]);
  expect(await store.events.search(uuid(), { env: null, search: 'geheim' }, 10, null)).toMatchObject({
    events: [],
  });
});

// Counting what a removal would remove goes in steps: other reads of the one reader are let in between.
import { expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { countReceived } from '../../../adapters/sqlite/events/count.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';

it('counts each segment once, a few hundred in a step, whenever they were received', () => {
  const db = new Database(':memory:');
  configure(db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
  migrate(db);
  const calls = new CallIndex(db, { calls: 100_000, bytes: 1 << 30 });
  calls.load();
  const writer = eventWriter(db, calls, new UsageWriter(db));
  const tenantId = uuid();
  const segments = 1300;
  db.atomically(() => {
    for (let i = 0; i < segments; i++) {
      // Most of them at one moment.
      const batch = aBatch(tenantId, [anEvent(), anEvent()], { receivedAt: t0 + (i < 1000 ? 0 : i) });
      writer.ingest(encodeBatch(batch));
    }
  });
  const counted = (before: number) => {
    const count = countReceived(db, tenantId, before);
    for (let steps = 1; ; steps++) {
      const { done, value } = count.next();
      if (done) return { steps, events: value };
    }
  };
  expect(counted(t0 + segments)).toEqual({ steps: 3, events: 2 * segments });
  expect(counted(t0 + 1)).toEqual({ steps: 3, events: 2000 });
  expect(counted(t0 + 1100)).toEqual({ steps: 3, events: 2200 });
  expect(counted(t0)).toEqual({ steps: 1, events: 0 });
  db.close();
});

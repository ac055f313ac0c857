// A store of events in memory, for tests of what is read of it.
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import type { EventInput } from '../../../src/event/record.ts';
import { aBatch } from '../../conformance/events.ts';
import { t0, uuid } from '../../conformance/fixtures.ts';

/** With the writer itself, and the settings of a store. */
export function openWriter() {
  const db = new Database(':memory:');
  configure(db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
  migrate(db);
  const calls = new CallIndex(db, { calls: 100_000, bytes: 1 << 30 });
  calls.load();
  const usage = new UsageWriter(db);
  return { db, usage, writer: eventWriter(db, calls, usage), tenantId: uuid() };
}

export function openEvents() {
  const db = new Database(':memory:');
  migrate(db);
  const calls = new CallIndex(db);
  calls.load();
  const writer = eventWriter(db, calls, new UsageWriter(db));
  const tenantId = uuid();
  return {
    db,
    tenantId,
    /** @param sent bytes of the batch as its agent sent them */
    ingest: (events: readonly EventInput[], sent?: Uint8Array) =>
      db.atomically(() => writer.ingest(encodeBatch({ ...aBatch(tenantId, events), ...(sent && { sent }) }))),
    /** Removes the oldest events, `limit` at most. */
    purge: (limit: number) => db.atomically(() => writer.removeBefore(tenantId, t0 * 2, limit)),
  };
}

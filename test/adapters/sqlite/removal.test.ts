// Reads of a slice of a removal: the segments it removes, not the whole hour that they belong to, because the writer
// stores nothing else meanwhile.
import { expect, it } from 'vitest';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import type { EventInput } from '../../../src/event/record.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';
import { openWriter } from './event-store.ts';

it('grows with what it removes, and not with the hour', () => {
  expect(readsOfSlice(400)).toBeLessThan(1.5 * readsOfSlice(50));
});

it('does not grow with the hour when all of its events are of one moment', () => {
  expect(readsOfSlice(400, 0)).toBeLessThan(1.5 * readsOfSlice(50, 0));
});

it('looks for the newest events of all contracts in one walk', () => {
  expect(readsOfSlice(100, 0, 50)).toBeLessThan(4 * readsOfSlice(100, 0, 1));
});

it('keeps the ids of recorded decisions, and of nothing else', () => {
  const { db, tenantId, writer } = openWriter();
  const denied = (callId: string, payload: EventInput['payload']) =>
    anEvent({ callId, verdict: 'call_denied', payload });
  const ofRun = { session_id: 's' };
  const idCount = () => db.get('SELECT count(*) FROM audit_run_ids')?.[0];
  const ingest = (event: EventInput, more: object = {}) =>
    db.atomically(() => writer.ingest(encodeBatch(aBatch(tenantId, [event], more))));
  const remove = () => db.atomically(() => writer.removeBefore(tenantId, t0 * 2, 50));
  ingest(denied('alone', {}));
  ingest(denied('sample', ofRun), { sample: true });
  db.atomically(() => writer.removeSample(tenantId));
  expect([remove(), idCount()]).toEqual([1, 0]);
  ingest(denied('of-run', ofRun));
  expect([remove(), idCount()]).toEqual([1, 1]);
  // A repeat may name a run, where the event itself names none.
  ingest(anEvent({ callId: 'repeat', payload: null }));
  ingest(denied('repeat', ofRun));
  expect([remove(), idCount()]).toEqual([1, 2]);
  db.close();
});

/**
 * Reads that remove the first events of one agent's hour of so many segments: single rows, and the segments that the
 * search for newest events goes through.
 */
function readsOfSlice(segments: number, apartMs = 1, contracts = 1): number {
  const { db, usage, writer, tenantId } = openWriter();
  db.atomically(() => {
    for (let i = 0; i < segments; i++) {
      const events = Array.from({ length: 5 }, (_, n) =>
        anEvent({
          timestamp: t0 + (i * 5 + n) * apartMs,
          payload: { decision_name: `contract-${(i * 5 + n) % contracts}` },
        }),
      );
      writer.ingest(encodeBatch(aBatch(tenantId, events, { receivedAt: t0 + i })));
    }
    usage.flush();
  });
  let reads = 0;
  const get = db.get.bind(db);
  db.get = (...args: Parameters<typeof get>) => {
    reads++;
    return get(...args);
  };
  const all = db.all.bind(db);
  db.all = (...args: Parameters<typeof all>) => {
    const rows = all(...args);
    if (args[0].includes('SELECT id, outcomes, max_ts')) reads += rows.length;
    return rows;
  };
  const removed = db.atomically(() => writer.removeBefore(tenantId, t0 + 86_400_000, 50));
  expect(removed).toBe(50);
  db.close();
  return reads;
}

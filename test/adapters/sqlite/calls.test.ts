// The index of call ids while it merges, is rolled back, loses what it removed, and dies.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex, type CallLimits, placeOfEntry } from '../../../adapters/sqlite/events/calls.ts';
import { callKey, encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import {
  positionOf,
  segmentEventsOf,
  segmentOf,
  tenantNumber,
} from '../../../adapters/sqlite/events/segment.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';
import { runsOf } from '../../runs.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'calls-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A writer that merges all the time. */
function start(path: string, limits: CallLimits = { calls: 25, bytes: 1 << 30 }) {
  const db = new Database(path);
  configure(db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
  migrate(db);
  const calls = new CallIndex(db, limits);
  calls.load();
  return { db, calls, writer: eventWriter(db, calls, new UsageWriter(db)) };
}

const tenants = [uuid(), uuid()];
const ids = [
  ...Array.from({ length: 150 }, () => uuid()),
  ...Array.from({ length: 30 }, (_, i) => `call ${i}`),
];
const some = fc.array(fc.nat(ids.length - 1), { minLength: 1, maxLength: 20 });
const tenant = fc.nat(tenants.length - 1);

type Op =
  | { kind: 'ingest' | 'fail' | 'failCommit'; tenant: number; ids: number[] }
  | { kind: 'purge'; tenant: number; limit: number }
  | { kind: 'die' };

const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('ingest' as const), tenant, ids: some }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('fail' as const, 'failCommit' as const),
      tenant,
      ids: some,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('purge' as const),
      tenant,
      limit: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'die' as const }) },
);

const fault = new Error('fault');

describe('the index of call ids', () => {
  it('knows exactly what is stored, and where, after any history', () => {
    let n = 0;
    fc.assert(
      fc.property(fc.array(op, { minLength: 10, maxLength: 60 }), (history) => {
        const path = join(folder, `${n++}.db`);
        let { db, calls, writer } = start(path);
        const stored = tenants.map(() => new Set<string>());

        for (const step of history) {
          if (step.kind === 'die') {
            db.close();
            ({ db, calls, writer } = start(path));
            continue;
          }
          const tenantId = tenants[step.tenant] ?? '';
          const known = stored[step.tenant] ?? new Set();
          if (step.kind === 'purge') {
            db.atomically(() => {
              calls.maintain();
              // First in a way that is taken back.
              expect(() =>
                db.atomically(() => {
                  writer.removeBefore(tenantId, t0 * 2, step.limit);
                  throw fault;
                }),
              ).toThrow(fault);
              expect(writer.removeBefore(tenantId, t0 * 2, step.limit)).toBe(
                Math.min(known.size, step.limit),
              );
            });
            const number = tenantNumber(db, tenantId) ?? -1;
            for (const id of [...known]) if (calls.find(number, callKey(id)) === null) known.delete(id);
            continue;
          }
          const wanted = [...new Set(step.ids.map((i) => ids[i] ?? ''))];
          const batch = encodeBatch(
            aBatch(
              tenantId,
              wanted.map((callId) => anEvent({ callId })),
            ),
          );
          const accepted = wanted.filter((id) => !known.has(id)).length;
          const write = () => {
            calls.maintain();
            if (step.kind === 'ingest') return writer.ingest(batch).accepted;
            if (step.kind === 'fail') {
              expect(() =>
                db.atomically(() => {
                  expect(writer.ingest(batch).accepted).toBe(accepted);
                  throw fault;
                }),
              ).toThrow(fault);
              return 0;
            }
            writer.ingest(batch);
            throw fault;
          };
          if (step.kind === 'failCommit') expect(() => db.atomically(write)).toThrow(fault);
          else expect(db.atomically(write)).toBe(step.kind === 'ingest' ? accepted : 0);
          if (step.kind === 'ingest') for (const id of wanted) known.add(id);
        }

        tenants.forEach((tenantId, i) => {
          const number = tenantNumber(db, tenantId);
          if (number === null) return;
          for (const id of ids) {
            const entry = calls.find(number, callKey(id));
            expect(entry !== null).toBe(stored[i]?.has(id));
            if (entry === null) continue;
            const place = placeOfEntry(entry);
            expect(segmentEventsOf(db, segmentOf(place))[positionOf(place)]?.callId).toBe(id);
          }
        });
        db.close();
      }),
      { numRuns: runsOf(60, 15) },
    );
  }, 60_000);

  it('moves the oldest into the table while new ones come', () => {
    const { db, calls, writer } = start(join(folder, 'merge.db'));
    for (let i = 0; i < 20; i++) {
      const events = Array.from({ length: 10 }, (_, k) =>
        anEvent({ callId: k === 0 ? `text ${i}` : uuid() }),
      );
      db.atomically(() => {
        calls.maintain();
        writer.ingest(encodeBatch(aBatch(uuid(), events)));
      });
    }
    const inTable = Number(db.get('SELECT count(*) FROM calls')?.[0]);
    expect(inTable).toBeGreaterThan(100);
    expect(Number(db.get("SELECT count(*) FROM calls WHERE typeof(call_id) = 'text'")?.[0])).toBeGreaterThan(
      5,
    );
    expect(Number(db.get('SELECT merged FROM store')?.[0])).toBeGreaterThan(0);
    expect(Number(db.get("SELECT count(*) FROM calls WHERE typeof(tenant) <> 'integer'")?.[0])).toBe(0);
    expect(Number(db.get("SELECT count(*) FROM calls WHERE typeof(entry) <> 'integer'")?.[0])).toBe(0);
    db.close();
  });

  it('moves them less often into a larger table', () => {
    const limits = { calls: 25, mostCalls: 200, bytes: 1 << 30 };
    const { db, calls, writer } = start(join(folder, 'large.db'), limits);
    const mergesUpTo = (commits: number): number => {
      const ends = new Set<unknown>();
      for (let i = 0; i < commits; i++) {
        const events = Array.from({ length: 10 }, () => anEvent({ callId: uuid() }));
        db.atomically(() => {
          calls.maintain();
          writer.ingest(encodeBatch(aBatch(tenants[0] ?? '', events)));
        });
        ends.add(db.get('SELECT merged FROM store')?.[0]);
      }
      return ends.size - 1;
    };
    const callsOfTable = (): number => Number(db.get('SELECT count(*) FROM calls')?.[0]);
    expect(mergesUpTo(20)).toBeGreaterThanOrEqual(5);
    mergesUpTo(150);
    expect(callsOfTable()).toBeGreaterThan(1_200);
    expect(mergesUpTo(100)).toBeOneOf([4, 5]);
    expect(callsOfTable()).toBeGreaterThan(2_200);
    db.close();
  });

  it('knows what an earlier process stored, while it is still reading the table and afterwards', () => {
    const path = join(folder, 'earlier.db');
    const batch = (callIds: readonly string[]) =>
      encodeBatch(
        aBatch(
          tenants[0] ?? '',
          callIds.map((callId) => anEvent({ callId })),
        ),
      );
    const earlier = Array.from({ length: 2_600 }, () => uuid());
    const ingest = ({ db, calls, writer }: ReturnType<typeof start>, callIds: readonly string[]): number =>
      db.atomically(() => {
        calls.maintain();
        return writer.ingest(batch(callIds)).accepted;
      });
    const first = start(path);
    for (let i = 0; i < earlier.length; i += 100) ingest(first, earlier.slice(i, i + 100));
    for (let i = 0; i < 5; i++) ingest(first, [uuid()]);
    expect(Number(first.db.get('SELECT count(*) FROM calls')?.[0])).toBeGreaterThan(2_000);
    first.db.close();

    const again = start(path);
    for (let i = 0; i < 6; i++) {
      const repeated = earlier.slice(i * 400, i * 400 + 40);
      expect(ingest(again, [...repeated, uuid(), uuid()])).toBe(2);
    }
    again.db.close();
  });
});

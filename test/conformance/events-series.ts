// Every store's promises about counts over time: they equal a count of the stored events, one by one, and go with the
// events that are removed (event/port).
import { describe, expect, it } from 'vitest';
import { type CountedAs, countedAs, type EventInput, type StoredEvent } from '../../src/event/record.ts';
import { bucketsOf, byRefusals, type SeriesBy, seriesBy } from '../../src/event/rules/series.ts';
import { rowsFor } from '../runs.ts';
import { aBatch, readAll } from './events.ts';
import { anEvent, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const minute = 60_000;
const entries = new Map([['entry-1', 'contract-1']]);
const verdicts = [
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_asked',
  'odd',
  'call_approval_blocked',
];

function valuesOf(event: StoredEvent, by: SeriesBy): readonly string[] {
  const { payload, outcomes } = event;
  if (by === 'total') return [''];
  if (by === 'agent') return [event.agentId];
  if (by === 'tool') return [event.toolName];
  const text = (value: unknown) => (typeof value === 'string' ? [value] : []);
  if (by === 'version') return text(payload?.policy_version);
  const names = [
    ...text(payload?.decision_name),
    ...outcomes.flatMap((outcome) => text(outcome.decisionName)),
  ];
  return [...new Set(names.map((name) => entries.get(name) ?? name))];
}

function recount(
  all: readonly StoredEvent[],
  by: SeriesBy,
  range: { since: number; until: number },
  bucketMs: number,
) {
  const { start, count } = bucketsOf(range, bucketMs);
  const sums = new Map<string, Record<CountedAs, number[]>>();
  for (const event of all) {
    if (event.timestamp < range.since || event.timestamp >= range.until || event.sample) continue;
    for (const value of valuesOf(event, by)) {
      const zeros = () => Array.from({ length: count }, () => 0);
      const row = sums.get(value) ?? {
        allowed: zeros(),
        denied: zeros(),
        pending: zeros(),
        observed: zeros(),
      };
      sums.set(value, row);
      const at = Math.floor((event.timestamp - start) / bucketMs);
      const counts = row[countedAs(event.verdict, event.mode)];
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return sums;
}

export function eventsSeriesContract(name: string, open: Open): void {
  describe(`${name}: counts over time`, () => {
    const shared = sharedStore(open);

    it('equal a recount, by each property, whole or in part, before and after a purge', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = Array.from({ length: 240 }, (_, i) =>
        anEvent({
          agentId: `agent-${i % 5}`,
          toolName: `tool-${i % 3}`,
          verdict: verdicts[i % verdicts.length] ?? '',
          mode: i % 7 === 0 ? 'observe' : 'enforce',
          timestamp: t0 + ((i * 17) % 240) * 31_000,
          payload: {
            ...(i % 4 === 0 ? {} : { decision_name: i % 8 === 1 ? 'entry-1' : `contract-${i % 3}` }),
            ...(i % 10 === 0 ? {} : { policy_version: `hash-${i % 2}` }),
            tool_args: { i },
          },
        }),
      );
      for (let at = 0; at < events.length; at += 60) {
        await store.events.ingest(aBatch(tenantId, events.slice(at, at + 60), { receivedAt: t0 + at }));
      }
      const repeats = events
        .filter(({ verdict }) => verdict === 'call_asked')
        .slice(0, 6)
        .map((event) => ({
          ...event,
          verdict: 'call_denied',
          payload: { decision_name: 'contract-9', reason: null },
        }));
      // Two names of one contract in one call: the call counts once.
      const ofEntry = events
        .filter(({ payload }) => payload?.decision_name === 'entry-1')
        .slice(0, 4)
        .map((event) => ({
          ...event,
          verdict: 'call_failed',
          payload: { decision_name: 'contract-1', reason: null },
        }));
      await store.events.ingest(aBatch(tenantId, ofEntry, { receivedAt: t0 + 240 }));
      await store.events.ingest(aBatch(tenantId, repeats, { receivedAt: t0 + 240 }));
      await store.events.ingest(aBatch(tenantId, [anEvent({ timestamp: t0 })], { sample: true }));

      const ranges = [
        [t0, t0 + 240 * minute, 15 * minute],
        [t0 + 90_500, t0 + 61 * minute + 7, minute],
        [t0 - 5 * minute, t0 + 600 * minute, 60 * minute],
      ] as const;
      for (let turn = 0; turn < 2; turn++) {
        const all = await readAll(store, tenantId);
        for (const [since, until, bucketMs] of rowsFor(name, ranges, 2)) {
          for (const by of seriesBy) {
            const scope = { env: null, by, since, until, entries };
            const expected = recount(all, by, scope, bucketMs);
            const { top: totals, hasOthers } = await store.events.seriesTotals(tenantId, scope, 100);
            expect(hasOthers).toBe(false);
            const sum = (counts: readonly number[] = []) => counts.reduce((total, one) => total + one, 0);
            const expectedTotals = [...expected].map(([value, counts]) => ({
              value,
              events: Object.values(counts).reduce((total, one) => total + sum(one), 0),
              refused: sum(counts.denied) + sum(counts.observed),
            }));
            expect(totals, by).toEqual(expectedTotals.sort(byRefusals));
            const values = [...expected.keys(), 'nobody'];
            const series = await store.events.series(tenantId, { ...scope, values, bucketMs });
            expect(series.map(({ value }) => value)).toEqual(values);
            for (const { value, ...counts } of series) {
              if (value === 'nobody') expect(sum(counts.allowed)).toBe(0);
              else expect(counts, `${by} ${value}`).toEqual(expected.get(value));
            }
            const ranked = await store.events.rankedSeries(tenantId, { ...scope, bucketMs }, 3);
            const top = totals.slice(0, 3).map(({ value }) => ({ value, ...expected.get(value) }));
            expect(ranked, by).toEqual(top);
          }
        }
        // A part of the events goes.
        if (turn === 0) expect(await store.events.removeBefore(tenantId, t0 + 100, 1000)).toBeGreaterThan(60);
      }
    });

    it('count an empty text neither as a value nor as other', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const named = (decision_name: string, toolName = 'tool') =>
        anEvent({ toolName, payload: { decision_name } });
      const events = [...['a', 'a', 'b', 'c', '', ''].map((one) => named(one)), named('a', '')];
      const repeat = { ...events[0], verdict: 'call_failed', payload: { decision_name: '' } } as EventInput;
      for (const batch of [events, [repeat]]) await store.events.ingest(aBatch(tenantId, batch));
      const range = { env: null, since: t0, until: t0 + minute, bucketMs: minute };
      const countsOf = async (by: SeriesBy, maxValues: number, more: object = {}) =>
        (await store.events.rankedSeries(tenantId, { ...range, by, maxValues, ...more }, 9)).map(
          ({ value, allowed }) => [value, allowed[0]],
        );
      for (const more of [{}, { entries }]) {
        expect(await countsOf('contract', 9, more)).toEqual([
          ['a', 3],
          ['b', 1],
          ['c', 1],
        ]);
        expect(await countsOf('contract', 1, more)).toEqual([
          ['a', 3],
          ['other', 2],
        ]);
      }
      expect(await countsOf('tool', 1)).toEqual([['tool', 6]]);
      expect(await countsOf('total', 1)).toEqual([['', 7]]);
    });

    it('count the values beyond a bound as other, and all in the total', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const tools = 6;
      const events = Array.from({ length: tools + 1 }, (_, i) =>
        anEvent({
          toolName: `tool-${i % tools}`,
          verdict: i === tools ? 'call_denied' : 'call_allowed',
          timestamp: t0 + (i % 2) * 60 * minute,
        }),
      );
      await store.events.ingest(aBatch(tenantId, events));
      const scope = { env: null, by: 'tool' as const, since: t0, until: t0 + 120 * minute };
      const bucketMs = 60 * minute;
      const first = { value: 'tool-0', events: 2, refused: 1 };
      for (const [maxValues, others] of [
        [2, [2, 2]],
        [5, [0, 1]],
      ] as const) {
        const bounded = { ...scope, maxValues };
        expect(await store.events.seriesTotals(tenantId, bounded, 1)).toEqual({
          top: [first],
          hasOthers: true,
        });
        const request = { ...bounded, values: ['tool-0'], withOthers: true, bucketMs };
        const expected = [
          { value: 'tool-0', allowed: [1, 0], denied: [1, 0] },
          { value: 'other', allowed: others, denied: [0, 0] },
        ];
        expect(await store.events.series(tenantId, request)).toMatchObject(expected);
        expect(await store.events.rankedSeries(tenantId, { ...bounded, bucketMs }, 1)).toMatchObject(
          expected,
        );
      }
      const whole = await store.events.seriesTotals(tenantId, { ...scope, maxValues: tools }, 99);
      expect([whole.top.length, whole.hasOthers]).toEqual([tools, false]);
      const later = { ...scope, since: scope.until, until: scope.until + bucketMs, bucketMs };
      expect(await store.events.rankedSeries(tenantId, later, 3)).toEqual([]);
      const total = { ...scope, by: 'total' as const, values: [''], bucketMs };
      expect(await store.events.series(tenantId, total)).toMatchObject([{ allowed: [3, 3], denied: [1, 0] }]);
    });
  });
}

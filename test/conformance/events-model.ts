// Audit events against a model: any sequence of batches reads as a plain sorted list would (event/port).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventBatch, Facets } from '../../src/event/port.ts';
import {
  countedAs,
  type EventInput,
  eventOutcomeOf,
  keyAsOutcome,
  maxOutcomes,
  outcomeKey,
  type StoredEvent,
} from '../../src/event/record.ts';
import { facetOf } from '../../src/event/rules/facet.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { verdictWordOf } from '../../src/event/rules/query/match.ts';
import { type Env, type EnvFilter, environments, isInFilter } from '../../src/shared/ids.ts';
import { runsOf, sizeFor } from '../runs.ts';
import { readAll } from './events.ts';
import { type Open, sharedStore, t0, uuid } from './fixtures.ts';

type Kept = Omit<StoredEvent, 'id' | 'seq'>;

const verdicts = ['call_allowed', 'call_denied', 'call_would_deny', 'call_executed', 'pending', 'odd "one"'];
const uuids = Array.from({ length: 40 }, () => uuid());

const event: fc.Arbitrary<EventInput> = fc.record({
  callId: fc.oneof(
    fc.constantFrom(...uuids),
    fc.integer({ min: 0, max: 40 }).map((n) => `call-${n}`),
  ),
  agentId: fc.constantFrom('a', 'b', 'Agent "c"'),
  toolName: fc.constantFrom('read', 'write', 'tool\u0000'),
  verdict: fc.constantFrom(...verdicts),
  mode: fc.constantFrom('enforce', 'observe'),
  timestamp: fc.oneof(
    fc.integer({ min: 0, max: 20 }).map((n) => t0 + n),
    fc.integer({ min: -3, max: 3 }).map((n) => t0 + n * 1_800_000 + 0.25),
  ),
  payload: fc.option(
    fc.record({
      decision_name: fc.constantFrom('x', 'y', null),
      run_id: fc.constantFrom('run "1"', 'run-2', 3),
      reason: fc.constantFrom('zz top', null),
      tool_args: fc.constantFrom({ path: 'Zz' }, { text: 'an "odd" one' }, {}),
    }),
  ),
});

const batch = fc.record({
  env: fc.constantFrom<Env>(...environments),
  receivedAt: fc.integer({ min: 0, max: 5 }).map((n) => t0 + n),
  events: fc.array(event, { maxLength: 30 }),
});

const filter: fc.Arbitrary<EventFilter> = fc.record(
  {
    env: fc.option(
      fc.oneof(fc.constantFrom<Env>(...environments), fc.subarray([...environments], { minLength: 1 })),
      {
        freq: 1,
      },
    ),
    agentId: fc.constantFrom('a', 'b', 'Agent "c"'),
    toolName: fc.constantFrom('read', 'tool\u0000'),
    verdict: fc.constantFrom(...verdicts),
    mode: fc.constantFrom('enforce', 'observe'),
    since: fc.integer({ min: -5, max: 15 }).map((n) => t0 + n),
    until: fc.integer({ min: 0, max: 25 }).map((n) => t0 + n),
    decisionName: fc.constantFrom('x', 'y'),
    runId: fc.constantFrom('run "1"', 'run-2', 'run-3'),
    callId: fc.oneof(
      fc.constantFrom(...uuids),
      fc.integer({ min: 0, max: 40 }).map((n) => `call-${n}`),
    ),
    search: fc.constantFrom('A', 'read', 'CALL-1', 'x', 'zz', '"'),
  },
  { requiredKeys: ['env'] },
);

/** True when a repeat has a new outcome: neither the stored event nor an outcome has its key, and there is room. */
function addsOutcome(stored: Kept, repeat: EventInput): boolean {
  const keys = [
    keyAsOutcome(stored),
    ...stored.outcomes.map((one) => outcomeKey(one.verdict, one.decisionName)),
  ];
  return keys.length <= maxOutcomes && !keys.includes(keyAsOutcome(repeat));
}

/** Stores a batch in the list; the list is in order of arrival. */
function keep(list: Kept[], given: EventBatch): { accepted: number; duplicates: number } {
  let accepted = 0;
  for (const e of given.events) {
    const at = list.findIndex((k) => k.callId === e.callId);
    const known = list[at];
    if (!known) {
      list.push({ ...e, env: given.env, createdAt: given.receivedAt, outcomes: [] });
      accepted++;
    } else if (known.env === given.env && addsOutcome(known, e)) {
      list[at] = { ...known, outcomes: [...known.outcomes, eventOutcomeOf(e)] };
    }
  }
  return { accepted, duplicates: given.events.length - accepted };
}

/** The contracts that an event, or what repeats said of it, names. */
const namesOf = (e: Kept): string[] => [
  ...new Set(
    [e.payload?.decision_name, ...e.outcomes.map((o) => o.decisionName)].filter((n) => typeof n === 'string'),
  ),
];

/** The reason and the arguments, which the model has as texts alone. */
const detailsOf = ({ payload }: Kept): unknown[] => [
  payload?.reason,
  ...Object.values((payload?.tool_args ?? {}) as object),
];

const fits = (e: Kept, f: EventFilter): boolean =>
  isInFilter(f.env, e.env) &&
  (f.agentId === undefined || e.agentId === f.agentId) &&
  (f.toolName === undefined || e.toolName === f.toolName) &&
  (f.verdict === undefined || e.verdict === f.verdict || e.outcomes.some((o) => o.verdict === f.verdict)) &&
  (f.mode === undefined || e.mode === f.mode) &&
  (f.since === undefined || e.timestamp >= f.since) &&
  (f.until === undefined || e.timestamp <= f.until) &&
  (f.decisionName === undefined || namesOf(e).includes(f.decisionName)) &&
  (f.runId === undefined || e.payload?.run_id === f.runId) &&
  (f.callId === undefined || e.callId === f.callId) &&
  (f.search === undefined ||
    [e.agentId, e.toolName, e.callId, e.payload?.decision_name, ...detailsOf(e)].some(
      (text) => typeof text === 'string' && text.toLowerCase().includes(f.search?.toLowerCase() ?? ''),
    ));

const newestFirst = (list: readonly Kept[]): Kept[] =>
  [...list].reverse().sort((a, b) => b.timestamp - a.timestamp);

function histogram(list: readonly Kept[], f: EventFilter, width: number) {
  const buckets = new Map<number, { allowed: number; denied: number; pending: number; observed: number }>();
  for (const e of list) {
    if (!fits(e, f) || (f.until !== undefined && e.timestamp >= f.until)) continue;
    const start = Math.floor(e.timestamp / width) * width;
    const bucket = buckets.get(start) ?? { allowed: 0, denied: 0, pending: 0, observed: 0 };
    bucket[countedAs(e.verdict, e.mode)]++;
    buckets.set(start, bucket);
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, ...counts }));
}

function facets(
  list: readonly Kept[],
  f: EventFilter,
  limit: number,
  entries: ReadonlyMap<string, string> = new Map(),
): Facets {
  const found = list.filter((e) => fits(e, f));
  const by = (valuesOf: (e: Kept) => readonly string[]) => {
    const counts = new Map<string, number>();
    for (const value of found.flatMap((e) => [...new Set(valuesOf(e))])) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return facetOf(counts, limit);
  };
  return {
    events: found.length,
    by: {
      agentId: by((e) => [e.agentId]),
      toolName: by((e) => [e.toolName]),
      verdict: by((e) => [e.verdict, ...e.outcomes.map((o) => o.verdict)]),
      firstVerdict: by((e) => [verdictWordOf(e.verdict, e.mode)]),
      mode: by((e) => [e.mode]),
      decisionName: by((e) => namesOf(e).map((name) => entries.get(name) ?? name)),
      env: by((e) => [e.env]),
    },
  };
}

function counts(list: readonly Kept[], env: EnvFilter, since: number, activeSince: number) {
  const within = list.filter((e) => isInFilter(env, e.env) && e.timestamp >= since);
  return {
    events: within.length,
    denials: within.filter((e) => countedAs(e.verdict, e.mode) === 'denied').length,
    observeFindings: within.filter((e) => countedAs(e.verdict, e.mode) === 'observed').length,
    contractsTriggered: new Set(within.flatMap(namesOf)).size,
    activeAgents: new Set(within.filter((e) => e.timestamp > activeSince).map((e) => e.agentId)).size,
  };
}

export function eventsModelContract(name: string, open: Open): void {
  describe(`${name}: events like a list`, () => {
    const shared = sharedStore(open);

    it('any batches, filters, pages, histograms, counts and removals', async () => {
      const store = shared.get();
      await fc.assert(
        fc.asyncProperty(
          fc.array(batch, { minLength: 1, maxLength: 8 }),
          fc.array(filter, { minLength: 1, maxLength: 6 }),
          fc.integer({ min: 1, max: 15 }),
          fc.integer({ min: 0, max: 6 }),
          async (batches, filters, limit, purgeBefore) => {
            const tenantId = uuid();
            const list: Kept[] = [];
            for (const given of batches) {
              expect(await store.events.ingest({ ...given, tenantId })).toMatchObject(
                keep(list, { ...given, tenantId }),
              );
            }
            for (const round of [1, 2]) {
              for (const f of filters) {
                const found = await readAll(store, tenantId, f, limit);
                const expected = newestFirst(list).filter((e) => fits(e, f));
                expect(found.map(({ id: _id, seq: _seq, ...rest }) => rest)).toEqual(expected);
                for (const width of [60_000, 7_200_000]) {
                  expect(await store.events.histogram(tenantId, f, width)).toEqual(histogram(list, f, width));
                }
                expect(await store.events.facets(tenantId, f, 2)).toEqual(facets(list, f, 2));
                const [one, ...others] = new Set(list.flatMap(namesOf));
                const entries = new Map(
                  one === undefined ? [] : others.map((other) => [other, one] as const),
                );
                const merged = await store.events.facets(tenantId, f, 2, entries);
                expect(merged).toEqual(facets(list, f, 2, entries));
                expect(await store.events.count(tenantId, f)).toBe(facets(list, f, 2).events);
                const [since, active] = [t0 + limit - 3, t0 + limit];
                expect(await store.events.counts(tenantId, f.env, since, active)).toEqual(
                  counts(list, f.env, since, active),
                );
              }
              if (round === 2) break;
              const before = t0 + purgeBefore;
              let removed = 0;
              for (let n = -1; n !== 0; removed += n)
                n = await store.events.removeBefore(tenantId, before, limit);
              expect(removed).toBe(list.filter((e) => e.createdAt < before).length);
              list.splice(0, list.length, ...list.filter((e) => e.createdAt >= before));
            }
          },
        ),
        { numRuns: sizeFor(name, runsOf(25, 4), 2) },
      );
    }, 120_000);
  });
}

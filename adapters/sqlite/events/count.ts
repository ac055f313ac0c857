// Histogram, facets and counts of events: from tallies and summaries where they suffice, else from the bodies. Runs on
// the reader, in steps.
import type { EventCounts, Facets, HistogramBucket } from '../../../src/event/port.ts';
import {
  type CountedAs,
  countedAs,
  type EventOutcome,
  type FacetName,
  facetNames,
} from '../../../src/event/record.ts';
import { facetOf } from '../../../src/event/rules/facet.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { type ContractEntries, contractsOf } from '../../../src/event/rules/query/contract-entries.ts';
import { verdictWordOf } from '../../../src/event/rules/query/match.ts';
import type { EnvFilter } from '../../../src/shared/ids.ts';
import type { ContractNames } from '../../../src/usage/port.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../sync.ts';
import { contractSums } from '../usage/contracts.ts';
import { activeAgents } from '../usage/read.ts';
import { allEvents } from '../usage/rows.ts';
import { type CompiledFilter, compileFilter, fittingCounts, needsBodies } from './fitting.ts';
import { type Counted, type Summary, tenantNumber } from './segment.ts';
import { type AgentEvents, type Alike, type Telling, tallyFits, tellings } from './tallies.ts';
import { walk } from './walk.ts';

/** Segments looked at one by one before other reads are let in. */
const segmentsPerStep = 16;
/** Segments whose numbers are summed before other reads are let in. */
const summedPerStep = 500;

type Single = (segment: Summary) => void;

/** Hands the segments that may hold events that fit to `alike` and `agents`, or one by one to `single`. */
export function* countSegments(
  db: Database,
  tenantId: string,
  filter: CompiledFilter,
  telling: Telling,
  take: {
    readonly alike: (group: Alike) => void;
    readonly agents?: (sum: AgentEvents) => void;
    readonly single: Single;
  },
): Steps<void> {
  let read = 0;
  // Tallies do not contain versions.
  const isByVersion = filter.query?.terms.some(({ field }) => field === 'version') ?? false;
  if (needsBodies(filter) || isByVersion) {
    for (const segment of walk(db, tenantId, filter, filter.until ?? Number.MAX_VALUE)) {
      if (typeof segment !== 'number' && !segment.sample) take.single(segment);
      if (typeof segment === 'number' || ++read % segmentsPerStep === 0) yield;
    }
    return;
  }
  for (const { alike, agents, single } of tellings(db, tenantId, filter, telling)) {
    for (const group of alike) take.alike(group);
    for (const sum of agents) take.agents?.(sum);
    for (const segment of single) {
      take.single(segment);
      if (++read % segmentsPerStep === 0) yield;
    }
    yield;
  }
}

export function* histogram(
  db: Database,
  tenantId: string,
  wholeFilter: EventFilter,
  bucketMs: number,
): Steps<readonly HistogramBucket[]> {
  const filter = compileFilter(wholeFilter);
  const { until = Number.POSITIVE_INFINITY } = filter;
  const buckets = new Map<number, { [K in CountedAs]: number }>();
  function add(start: number, verdict: string, mode: string, events: number): void {
    const bucket = buckets.get(start) ?? { allowed: 0, denied: 0, pending: 0, observed: 0 };
    bucket[countedAs(verdict, mode)] += events;
    buckets.set(start, bucket);
  }
  const telling = { slotMs: bucketMs, outcomes: false };
  yield* countSegments(db, tenantId, filter, telling, {
    alike(group) {
      const { segments, start, tallies } = group;
      for (const tally of tallies) {
        const [, verdict, mode, events] = tally;
        if (tallyFits(tally, filter, group)) add(start, verdict, mode, events * segments);
      }
    },
    single(segment) {
      for (const { event } of fittingCounts(db, segment, filter)) {
        if (event.ts < until) add(Math.floor(event.ts / bucketMs) * bucketMs, event.verdict, event.mode, 1);
      }
    },
  });
  return [...buckets].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, ...counts }));
}

/** How many events fit. */
export function* countFitting(db: Database, tenantId: string, wholeFilter: EventFilter): Steps<number> {
  const filter = compileFilter(wholeFilter);
  let matches = 0;
  yield* countSegments(
    db,
    tenantId,
    filter,
    { outcomes: false },
    {
      alike(group) {
        for (const tally of group.tallies)
          if (tallyFits(tally, filter, group)) matches += tally[3] * group.segments;
      },
      single(segment) {
        for (const _ of fittingCounts(db, segment, filter)) matches++;
      },
    },
  );
  return matches;
}

export function* facets(
  db: Database,
  tenantId: string,
  wholeFilter: EventFilter,
  limit: number,
  entries?: ContractEntries,
): Steps<Facets> {
  const filter = compileFilter(wholeFilter);
  const by = Object.fromEntries(facetNames.map((name) => [name, new Map<string, number>()])) as {
    readonly [F in FacetName]: Map<string, number>;
  };
  const add = (facet: FacetName, value: string | null, events: number): void => {
    if (value !== null) by[facet].set(value, (by[facet].get(value) ?? 0) + events);
  };
  let total = 0;
  function addAll(
    { env, agent }: { readonly env: string; readonly agent: string | null },
    event: Omit<Counted, 'ts' | 'version'>,
    outcomes: readonly EventOutcome[],
    events: number,
  ) {
    total += events;
    add('agentId', agent, events);
    add('env', env, events);
    add('toolName', event.tool, events);
    add('mode', event.mode, events);
    add('firstVerdict', verdictWordOf(event.verdict, event.mode), events);
    for (const verdict of new Set([event.verdict, ...outcomes.map((o) => o.verdict)])) {
      add('verdict', verdict, events);
    }
    for (const name of contractsOf([event.name, ...outcomes.map((o) => o.decisionName)], entries)) {
      add('decisionName', name, events);
    }
  }
  yield* countSegments(
    db,
    tenantId,
    filter,
    { outcomes: true, agents: true },
    {
      alike(group) {
        for (const tally of group.tallies) {
          const [tool, verdict, mode, events, name = null] = tally;
          const event = { tool, verdict, mode, name };
          if (tallyFits(tally, filter, group)) addAll(group, event, [], events * group.segments);
        }
      },
      agents: ({ agent, events }) => add('agentId', agent, events),
      single(segment) {
        for (const { event, outcomes } of fittingCounts(db, segment, filter)) {
          addAll(segment, event, outcomes, 1);
        }
      },
    },
  );
  const facetEntries = facetNames.map((name) => [name, facetOf(by[name], limit)]);
  return { events: total, by: Object.fromEntries(facetEntries) as Facets['by'] };
}

export function* counts(
  db: Database,
  tenantId: string,
  env: EnvFilter,
  since: number,
  activeSince: number,
  entries?: ContractNames['entries'],
): Steps<EventCounts> {
  // Which contracts there are does not depend on how often one call names them.
  const names = entries && { entries, mayOverlap: false };
  const sums = yield* contractSums(db, tenantId, env, since, Number.POSITIVE_INFINITY, names);
  const all = sums.get(allEvents);
  const tenant = tenantNumber(db, tenantId);
  return {
    events: all?.events ?? 0,
    denials: all?.denied ?? 0,
    observeFindings: all?.observed ?? 0,
    contractsTriggered: sums.size - (all ? 1 : 0),
    activeAgents: tenant === null ? 0 : activeAgents(db, tenant, env, activeSince),
  };
}

/** How many events were received before `before`. */
export function* countReceived(db: Database, tenantId: string, before: number): Steps<number> {
  const tenant = tenantNumber(db, tenantId);
  let events = 0;
  let [at, last] = [Number.MIN_SAFE_INTEGER, 0];
  while (tenant !== null) {
    const rows = db.all(
      `SELECT received_at, id, events FROM segments INDEXED BY segments_arrival
         WHERE tenant = ? AND received_at >= ? AND received_at < ? AND (received_at > ? OR id > ?)
         ORDER BY received_at, id LIMIT ?`,
      [tenant, at, before, at, last, summedPerStep],
    );
    for (const row of rows) events += Number(row[2]);
    if (rows.length < summedPerStep) return events;
    [at, last] = [Number(rows.at(-1)?.[0]), Number(rows.at(-1)?.[1])];
    yield;
  }
  return events;
}

// Histogram, facets and counts of events: from tallies and summaries where they suffice, else from the bodies. Runs on
// the reader, in steps.
import { isWanted } from '../../src/domain/decision-event.ts';
import { type CountedAs, countedAs, type EventOutcome } from '../../src/domain/event.ts';
import { facetOf } from '../../src/domain/facet.ts';
import type { Env } from '../../src/domain/ids.ts';
import {
  type EventCounts,
  type EventFilter,
  type FacetName,
  type Facets,
  facetNames,
  type HistogramBucket,
} from '../../src/ports/events.ts';
import type { ContractNames } from '../../src/ports/usage.ts';
import type { Database } from './database.ts';
import { fittingCounts, needsBodies } from './events-search.ts';
import { walk } from './events-walk.ts';
import { type Counted, readTallies, type Summary, type Tally, tenantNumber } from './segment.ts';
import type { Steps } from './sync.ts';
import { contractSums } from './usage-contracts.ts';
import { activeAgents } from './usage-read.ts';
import { allEvents } from './usage-rows.ts';

/** Segments counted before other reads are let in. */
const segmentsPerStep = 16;

/** True when the tallies of a segment alone say which of its events fit, and how many. */
const talliesSuffice = (segment: Summary, filter: EventFilter): boolean =>
  !needsBodies(filter) &&
  ((filter.verdict ?? filter.verdicts ?? filter.decisionName) === undefined || segment.outcomes === 0) &&
  (filter.decisionName === undefined || readTallies(segment).every((tally) => tally.length === 5)) &&
  segment.minTs >= (filter.since ?? Number.NEGATIVE_INFINITY) &&
  segment.maxTs <= (filter.until ?? Number.POSITIVE_INFINITY);

/** For a segment whose tallies suffice. */
const tallyFits = ([tool, verdict, mode, , name]: Tally, filter: EventFilter): boolean =>
  (filter.toolName === undefined || tool === filter.toolName) &&
  (filter.verdict === undefined || verdict === filter.verdict) &&
  (filter.verdicts === undefined || isWanted(filter.verdicts, verdict)) &&
  (filter.mode === undefined || mode === filter.mode) &&
  (filter.decisionName === undefined || name === filter.decisionName);

export function* histogram(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  bucketMs: number,
): Steps<readonly HistogramBucket[]> {
  const { until = Number.POSITIVE_INFINITY } = filter;
  const buckets = new Map<number, { [K in CountedAs]: number }>();
  const startOf = (ts: number) => Math.floor(ts / bucketMs) * bucketMs;
  function add(start: number, verdict: string, mode: string, count: number): void {
    const bucket = buckets.get(start) ?? { allowed: 0, denied: 0, pending: 0, observed: 0 };
    bucket[countedAs(verdict, mode)] += count;
    buckets.set(start, bucket);
  }
  /** True when the summary alone says what the segment adds to which bucket. */
  const suffices = (s: Summary) =>
    talliesSuffice(s, filter) && s.maxTs < until && startOf(s.minTs) === startOf(s.maxTs);

  let read = 0;
  for (const segment of walk(db, tenantId, filter, filter.until ?? Number.MAX_VALUE)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    if (suffices(segment)) {
      for (const tally of readTallies(segment)) {
        const [, verdict, mode, count] = tally;
        if (tallyFits(tally, filter)) add(startOf(segment.maxTs), verdict, mode, count);
      }
    } else {
      for (const { event } of fittingCounts(db, segment, filter)) {
        if (event.ts < until) add(startOf(event.ts), event.verdict, event.mode, 1);
      }
    }
    if (++read % segmentsPerStep === 0) yield;
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, ...counts }));
}

/** How many events fit. */
export function* countFitting(db: Database, tenantId: string, filter: EventFilter): Steps<number> {
  let [count, read] = [0, 0];
  for (const segment of walk(db, tenantId, filter, filter.until ?? Number.MAX_VALUE)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    if (talliesSuffice(segment, filter)) {
      for (const tally of readTallies(segment)) if (tallyFits(tally, filter)) count += tally[3];
    } else for (const _ of fittingCounts(db, segment, filter)) count++;
    if (++read % segmentsPerStep === 0) yield;
  }
  return count;
}

export function* facets(db: Database, tenantId: string, filter: EventFilter, limit: number): Steps<Facets> {
  const by = Object.fromEntries(facetNames.map((name) => [name, new Map<string, number>()])) as {
    readonly [F in FacetName]: Map<string, number>;
  };
  const add = (facet: FacetName, value: string | null, count: number): void => {
    if (value !== null) by[facet].set(value, (by[facet].get(value) ?? 0) + count);
  };
  let events = 0;
  function addAll(
    segment: Summary,
    event: Omit<Counted, 'ts' | 'version'>,
    outcomes: readonly EventOutcome[],
    count: number,
  ) {
    events += count;
    add('agentId', segment.agent, count);
    add('env', segment.env, count);
    add('toolName', event.tool, count);
    add('mode', event.mode, count);
    for (const verdict of new Set([event.verdict, ...outcomes.map((o) => o.verdict)])) {
      add('verdict', verdict, count);
    }
    for (const name of new Set([event.name, ...outcomes.map((o) => o.decision_name)])) {
      add('decisionName', name, count);
    }
  }

  let read = 0;
  for (const segment of walk(db, tenantId, filter, filter.until ?? Number.MAX_VALUE)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    const tallies = readTallies(segment);
    const isTold = segment.outcomes === 0 && tallies.every((tally) => tally.length === 5);
    if (isTold && talliesSuffice(segment, filter)) {
      for (const tally of tallies) {
        const [tool, verdict, mode, count, name = null] = tally;
        if (tallyFits(tally, filter)) addAll(segment, { tool, verdict, mode, name }, [], count);
      }
    } else {
      for (const { event, outcomes } of fittingCounts(db, segment, filter)) {
        addAll(segment, event, outcomes, 1);
      }
    }
    if (++read % segmentsPerStep === 0) yield;
  }
  const found = facetNames.map((name) => [name, facetOf(by[name], limit)]);
  return { events, by: Object.fromEntries(found) as Facets['by'] };
}

export function* counts(
  db: Database,
  tenantId: string,
  env: Env | null,
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
export function countReceived(db: Database, tenantId: string, before: number): number {
  const tenant = tenantNumber(db, tenantId);
  const sum = 'SELECT ifnull(sum(events), 0) FROM segments WHERE tenant = ? AND received_at < ?';
  return tenant === null ? 0 : Number(db.get(sum, [tenant, before])?.[0]);
}

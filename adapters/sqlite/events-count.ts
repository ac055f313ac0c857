// Histogram and counts of events: from the summaries where they suffice, else from the bodies. Runs on the reader, in steps.
import { type CountedAs, countedAs } from '../../src/domain/event.ts';
import type { Env } from '../../src/domain/ids.ts';
import type { EventCounts, EventFilter, HistogramBucket } from '../../src/ports/events.ts';
import type { Database } from './database.ts';
import { fitting } from './events-search.ts';
import { walk } from './events-walk.ts';
import type { Summary, Tally } from './segment.ts';
import type { Steps } from './sync.ts';

/** Segments counted before other reads are let in. */
const segmentsPerStep = 16;

const tallies = (segment: Summary): readonly Tally[] => JSON.parse(segment.tallies) as Tally[];

export function* histogram(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  bucketMs: number,
): Steps<readonly HistogramBucket[]> {
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const buckets = new Map<number, { [K in CountedAs]: number }>();
  const startOf = (ts: number) => Math.floor(ts / bucketMs) * bucketMs;
  function add(start: number, verdict: string, mode: string, count: number): void {
    const bucket = buckets.get(start) ?? { allowed: 0, denied: 0, pending: 0, observed: 0 };
    bucket[countedAs(verdict, mode)] += count;
    buckets.set(start, bucket);
  }
  /** True when the summary alone says what the segment adds to which bucket. */
  const suffices = (s: Summary) =>
    filter.search === undefined &&
    filter.verdicts === undefined &&
    filter.sessionId === undefined &&
    filter.parentSessionId === undefined &&
    filter.fromSeq === undefined &&
    filter.toSeq === undefined &&
    (filter.verdict === undefined || s.outcomes === 0) &&
    s.minTs >= since &&
    s.maxTs < until &&
    startOf(s.minTs) === startOf(s.maxTs);

  let read = 0;
  for (const segment of walk(db, tenantId, filter, filter.until ?? Number.MAX_VALUE)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    if (suffices(segment)) {
      for (const [tool, verdict, mode, count] of tallies(segment)) {
        if (filter.toolName !== undefined && tool !== filter.toolName) continue;
        if (filter.verdict !== undefined && verdict !== filter.verdict) continue;
        if (filter.mode !== undefined && mode !== filter.mode) continue;
        add(startOf(segment.maxTs), verdict, mode, count);
      }
    } else {
      for (const { event } of fitting(db, segment, filter)) {
        if (event.timestamp < until) add(startOf(event.timestamp), event.verdict, event.mode, 1);
      }
    }
    if (++read % segmentsPerStep === 0) yield;
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, ...counts }));
}

export function* counts(
  db: Database,
  tenantId: string,
  env: Env | null,
  since: number,
  activeSince: number,
): Steps<EventCounts> {
  const names = new Set<string>();
  const active = new Set<string>();
  const sums = { events: 0, denials: 0, observeFindings: 0 };
  function add(verdict: string, mode: string, count: number): void {
    const as = countedAs(verdict, mode);
    sums.events += count;
    if (as === 'denied') sums.denials += count;
    if (as === 'observed') sums.observeFindings += count;
  }

  let read = 0;
  const filter = { env, since };
  for (const segment of walk(db, tenantId, filter, Number.MAX_VALUE)) {
    if (typeof segment === 'number') {
      yield;
      continue;
    }
    if (segment.sample) continue;
    if (segment.minTs >= since) {
      for (const [, verdict, mode, count] of tallies(segment)) add(verdict, mode, count);
      for (const name of JSON.parse(segment.names) as string[]) names.add(name);
    } else {
      for (const { event } of fitting(db, segment, filter)) {
        add(event.verdict, event.mode, 1);
        const name = event.payload?.decision_name;
        if (typeof name === 'string') names.add(name);
      }
    }
    if (segment.maxTs > activeSince) active.add(segment.agent);
    if (++read % segmentsPerStep === 0) yield;
  }
  return { ...sums, contractsTriggered: names.size, activeAgents: active.size };
}

// Searches that read payloads: in slices, so that a person's newer search ends the older one, and two of a tenant at
// once on a node.
import type { Admission } from '../../admission/admission.ts';
import type { Permit } from '../../shared/concurrency/semaphore.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Principal } from '../../shared/principal.ts';
import type { EventPage, EventStore, Facets, HistogramBucket } from '../port.ts';
import { type CountedAs, countedAs, type FacetName, facetNames } from '../record.ts';
import type { CountableEvent } from '../rules/countable.ts';
import { facetOf } from '../rules/facet.ts';
import type { EventFilter } from '../rules/filter.ts';
import { type ContractEntries, contractsOf } from '../rules/query/contract-entries.ts';
import { verdictWordOf } from '../rules/query/match.ts';

/** A scan looks at this interval whether it was ended. Milliseconds. */
const sliceMs = 100;
/** Events that a count reads at a time. */
const countedAtOnce = 2_000;

/** Progress of a count; `searchedTo` is absent if the count is whole. */
export interface CountProgress {
  readonly searchedTo?: number;
}

export interface EventScans {
  /** @throws HubError too_busy; otherwise as EventStore.search */
  search(
    principal: Principal,
    filter: EventFilter,
    limit: number,
    from: string | null,
    budgetMs: number,
  ): Promise<EventPage>;
  /** @param how `limit` and `entries` as of EventStore.facets */
  facets(principal: Principal, filter: EventFilter, how: FacetCount): Promise<Facets & CountProgress>;
  histogram(
    principal: Principal,
    filter: EventFilter,
    bucketMs: number,
    budgetMs: number,
  ): Promise<{ readonly buckets: readonly HistogramBucket[] } & CountProgress>;
}

interface FacetCount {
  readonly limit: number;
  readonly entries?: ContractEntries;
  readonly budgetMs: number;
}

interface Scan {
  /** The permit of the older scan that it replaced. */
  readonly permit: Permit;
  isEnded: boolean;
}

/** A part of a list, from a cursor on. */
interface Slice<E> extends Pick<EventPage, 'next' | 'searchedTo'> {
  readonly events: readonly E[];
}
type ReadSlice<E> = (limit: number, cursor: string | null, budgetMs: number) => Promise<Slice<E>>;

type ScanKind = 'page' | 'facets' | 'histogram';

/** Owner of a scan: the owner's newer scan ends the older one. */
const ownerOf = ({ tenantId, actor }: Principal, kind: ScanKind): string =>
  JSON.stringify([tenantId, actor, kind]);

class SlicedScans implements EventScans {
  readonly #events: EventStore;
  readonly #clock: Clock;
  readonly #scans = new Map<string, Scan>();
  readonly #admission: Admission;

  constructor(events: EventStore, clock: Clock, admission: Admission) {
    this.#events = events;
    this.#clock = clock;
    this.#admission = admission;
  }

  search(
    principal: Principal,
    filter: EventFilter,
    limit: number,
    from: string | null,
    budgetMs: number,
  ): Promise<EventPage> {
    const { tenantId } = principal;
    const read: ReadSlice<EventPage['events'][number]> = (size, cursor, sliceBudgetMs) =>
      this.#events.search(tenantId, filter, size, cursor, 'newest', sliceBudgetMs);
    return this.#running(principal, 'page', (scan) =>
      this.#fill(scan, read, limit, from, this.#clock.monotonic() + budgetMs),
    );
  }

  async facets(
    principal: Principal,
    filter: EventFilter,
    { limit, entries, budgetMs }: FacetCount,
  ): Promise<Facets & CountProgress> {
    const by = Object.fromEntries(facetNames.map((name) => [name, new Map<string, number>()])) as {
      readonly [F in FacetName]: Map<string, number>;
    };
    let total = 0;
    const partial = await this.#count(principal, 'facets', filter, budgetMs, (event) => {
      total++;
      for (const [facet, value] of facetValues(event, entries))
        by[facet].set(value, (by[facet].get(value) ?? 0) + 1);
    });
    const facets = facetNames.map((name) => [name, facetOf(by[name], limit)]);
    return { events: total, by: Object.fromEntries(facets) as Facets['by'], ...partial };
  }

  async histogram(
    principal: Principal,
    filter: EventFilter,
    bucketMs: number,
    budgetMs: number,
  ): Promise<{ readonly buckets: readonly HistogramBucket[] } & CountProgress> {
    const { until = Number.POSITIVE_INFINITY } = filter;
    const buckets = new Map<number, { [K in CountedAs]: number }>();
    const partial = await this.#count(
      principal,
      'histogram',
      filter,
      budgetMs,
      ({ timestamp, verdict, mode }) => {
        if (timestamp >= until) return;
        const start = Math.floor(timestamp / bucketMs) * bucketMs;
        const bucket = buckets.get(start) ?? { allowed: 0, denied: 0, pending: 0, observed: 0 };
        bucket[countedAs(verdict, mode)]++;
        buckets.set(start, bucket);
      },
    );
    const sorted = [...buckets].sort(([a], [b]) => a - b);
    return { buckets: sorted.map(([start, counts]) => ({ start, ...counts })), ...partial };
  }

  async #running<T>(principal: Principal, kind: ScanKind, task: (scan: Scan) => Promise<T>): Promise<T> {
    const owner = ownerOf(principal, kind);
    const older = this.#scans.get(owner);
    const permit = older?.permit ?? this.#admission.take(principal, 'textSearches');
    if (older) older.isEnded = true;
    const scan: Scan = { permit, isEnded: false };
    this.#scans.set(owner, scan);
    try {
      return await task(scan);
    } finally {
      if (this.#scans.get(owner) === scan) {
        this.#scans.delete(owner);
        permit.release();
      }
    }
  }

  /** Fills a page, slice by slice. */
  async #fill<E>(
    scan: Scan,
    read: ReadSlice<E>,
    limit: number,
    from: string | null,
    until: number,
  ): Promise<Slice<E>> {
    const matching: E[] = [];
    let cursor = from;
    for (;;) {
      const left = until - this.#clock.monotonic();
      const budget = Math.max(0, Math.min(sliceMs, left));
      const slice = await read(limit - matching.length, cursor, budget);
      matching.push(...slice.events);
      cursor = slice.next;
      if (slice.next === null || slice.searchedTo === undefined)
        return { events: matching, next: slice.next };
      if (scan.isEnded || this.#clock.monotonic() >= until)
        return { events: matching, next: slice.next, searchedTo: slice.searchedTo };
    }
  }

  /** Hands each matching event to `take`. */
  async #count(
    principal: Principal,
    kind: ScanKind,
    filter: EventFilter,
    budgetMs: number,
    take: (event: CountableEvent) => void,
  ): Promise<CountProgress> {
    const read: ReadSlice<CountableEvent> = (size, cursor, sliceBudgetMs) =>
      this.#events.listCountable(principal.tenantId, filter, size, cursor, sliceBudgetMs);
    const until = this.#clock.monotonic() + budgetMs;
    return this.#running(principal, kind, async (scan) => {
      for (let cursor: string | null = null; ; ) {
        const page: Slice<CountableEvent> = await this.#fill(scan, read, countedAtOnce, cursor, until);
        for (const event of page.events) take(event);
        if (page.next === null) return {};
        if (page.searchedTo !== undefined) return { searchedTo: page.searchedTo };
        cursor = page.next;
        const last = page.events.at(-1);
        // A newer count has taken the permit.
        const mustEnd = scan.isEnded || this.#clock.monotonic() >= until;
        if (mustEnd && last) return { searchedTo: last.timestamp };
      }
    });
  }
}

export const createEventScans = (events: EventStore, clock: Clock, admission: Admission): EventScans =>
  new SlicedScans(events, clock, admission);

/** The values that an event has in each facet, each once. */
function facetValues(
  event: CountableEvent,
  entries: FacetCount['entries'],
): readonly (readonly [FacetName, string])[] {
  const { outcomes } = event;
  const names = [event.decisionName, ...outcomes.map(({ decisionName }) => decisionName)];
  const verdicts = new Set([event.verdict, ...outcomes.map(({ verdict }) => verdict)]);
  return [
    ['agentId', event.agentId],
    ['toolName', event.toolName],
    ['firstVerdict', verdictWordOf(event.verdict, event.mode)],
    ['mode', event.mode],
    ['env', event.env],
    ...[...verdicts].map((verdict) => ['verdict', verdict] as const),
    ...[...contractsOf(names, entries)].map((value) => ['decisionName', value] as const),
  ];
}

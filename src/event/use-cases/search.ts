// Stored events: searched, counted and looked at. A key sees those of its environment and agents, a person all of the
// tenant's.

import type { Rulings } from '../../agent/use-cases/rulings.ts';
import { listedEnvs, seesEnv } from '../../shared/access.ts';
import { agentOf, requireAgent } from '../../shared/acting-agent.ts';
import { scopeTest } from '../../shared/agent-scope.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { EventOrder, EventPage, Facets, HistogramBucket } from '../port.ts';
import type { StoredEvent } from '../record.ts';
import type { EventFilter } from '../rules/filter.ts';
import { namesContracts, withContractEntries } from '../rules/query/contract-entries.ts';
import { queryTest } from '../rules/query/match.ts';
import { narrowedByQuery } from '../rules/query/narrow.ts';
import { createQueryReader, type QueryReader } from './query-text.ts';
import { type CountProgress, createEventScans, type EventScans } from './scans.ts';

type CountedBuckets = { readonly buckets: readonly HistogramBucket[] } & CountProgress;

export interface EventSearches {
  /**
   * A page, newest first by default.
   * @param from the cursor of the page before; null: from the first
   * @param budgetMs bounds a search with a query, here and in the counts
   * @throws HubError forbidden, search_timeout, too_busy
   */
  search(
    principal: Principal,
    filter: EventFilter,
    limit: number,
    from: string | null,
    order?: EventOrder,
    budgetMs?: number,
  ): Promise<EventPage>;
  /** The cursor behind the first `count` events; null if there are no more. @throws HubError as `search` */
  skip(principal: Principal, filter: EventFilter, count: number, order?: EventOrder): Promise<string | null>;
  /** @throws HubError not_found, also for what the principal does not see */
  get(principal: Principal, id: string): Promise<StoredEvent>;
  /**
   * The 50 most frequent values of each facet; entries of one contract count as the contract.
   * @throws HubError forbidden, search_timeout, too_busy
   */
  facets(principal: Principal, filter: EventFilter, budgetMs?: number): Promise<Facets & CountProgress>;
  /**
   * Counts per bucket, in order; those without events are left out.
   * @throws HubError forbidden, unprocessable (too many buckets), search_timeout, too_busy
   */
  histogram(
    principal: Principal,
    filter: EventFilter & { readonly since: number; readonly until: number },
    bucketSeconds: number,
    budgetMs?: number,
  ): Promise<CountedBuckets>;
  /**
   * The filter, in which the id of a contract of the library also stands for its other entries in documents. Pages and
   * counts take filters as they are.
   */
  withEntries<F extends EventFilter>(principal: Principal, filter: F): Promise<F>;
  /** The query of a text. @throws HubError validation_failed with the position of the mistake */
  readonly read: QueryReader;
}

/** Events read at once on the way to an offset. */
const skippedAtOnce = 1000;
/** Values that a facet names. */
const facetLimit = 50;
const maxBuckets = 11_000;
/** Seconds: narrower buckets than `narrow` are counted over `narrowRange` at most. */
const narrow = 60;
const narrowRange = 2 * 3600;

/**
 * The filter within what the principal sees.
 * @throws HubError forbidden when a key that is bound to agents asks for others
 */
export function eventsSeenBy<F extends EventFilter>(principal: Principal, filter: F): F {
  const env = listedEnvs(principal, filter.env);
  if (principal.agentPattern === null) return { ...filter, env };
  const agentId = filter.agentId ?? agentOf(principal);
  requireAgent(principal, agentId);
  return { ...filter, env, agentId };
}

const defaultBudgetMs = 1_000;
/** The part of a count's time that is kept for a scan. Milliseconds. */
const maxScanMs = 250;

const readsPayloads = ({ query }: EventFilter): boolean =>
  query !== undefined && queryTest(query).needsPayload;

type Ports = Pick<AppPorts, 'admission' | 'store' | 'clock'> & { readonly rulings: Pick<Rulings, 'entries'> };

class QuerySearches implements EventSearches {
  readonly #ports: Ports;
  readonly #scans: EventScans;
  readonly read: EventSearches['read'];

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#scans = createEventScans(ports.store.events, ports.clock, ports.admission);
    this.read = createQueryReader(ports);
  }

  async search(
    principal: Principal,
    filter: EventFilter,
    limit: number,
    from: string | null,
    order?: EventOrder,
    budgetMs: number = defaultBudgetMs,
  ): Promise<EventPage> {
    const visible = narrowedByQuery(eventsSeenBy(principal, filter));
    if (readsPayloads(visible)) return this.#scans.search(principal, visible, limit, from, budgetMs);
    const storeBudgetMs = visible.query === undefined ? undefined : budgetMs;
    return this.#ports.store.events.search(principal.tenantId, visible, limit, from, order, storeBudgetMs);
  }

  async withEntries<F extends EventFilter>({ tenantId }: Principal, filter: F): Promise<F> {
    if (!namesContracts(filter)) return filter;
    return withContractEntries(filter, await this.#ports.rulings.entries(tenantId));
  }

  async skip(
    principal: Principal,
    filter: EventFilter,
    count: number,
    order?: EventOrder,
  ): Promise<string | null> {
    const visible = eventsSeenBy(principal, filter);
    let from: string | null = null;
    for (let left = count; left > 0; ) {
      const page = await this.#ports.store.events.search(
        principal.tenantId,
        visible,
        Math.min(left, skippedAtOnce),
        from,
        order,
      );
      if (page.next === null) return null;
      from = page.next;
      left -= page.events.length;
    }
    return from;
  }

  async get(principal: Principal, id: string): Promise<StoredEvent> {
    const event = await this.#ports.store.events.get(principal.tenantId, id);
    if (!event || !seesEnv(principal, event.env) || !scopeTest(principal)(event.agentId)) {
      throw notFound('Event not found.');
    }
    return event;
  }

  async facets(
    principal: Principal,
    filter: EventFilter,
    budgetMs: number = defaultBudgetMs,
  ): Promise<Facets & CountProgress> {
    const visible = narrowedByQuery(eventsSeenBy(principal, filter));
    const entries = await this.#ports.rulings.entries(principal.tenantId);
    const scan = (scanMs: number) =>
      this.#scans.facets(principal, visible, { limit: facetLimit, entries, budgetMs: scanMs });
    if (readsPayloads(visible)) return scan(budgetMs);
    return this.#counted<Facets & CountProgress>(visible, budgetMs, scan, (storeMs) =>
      this.#ports.store.events.facets(principal.tenantId, visible, facetLimit, entries, storeMs),
    );
  }

  async histogram(
    principal: Principal,
    filter: EventFilter & { readonly since: number; readonly until: number },
    bucketSeconds: number,
    budgetMs: number = defaultBudgetMs,
  ): Promise<CountedBuckets> {
    const { since, until } = filter;
    const visible = narrowedByQuery(eventsSeenBy(principal, filter));
    const bucketMs = bucketSeconds * 1000;
    if (until <= since) return { buckets: [] };
    if ((until - since) / bucketMs > maxBuckets) {
      throw new HubError(
        'unprocessable',
        `The time range has more than ${maxBuckets} buckets. Choose larger bucket_seconds.`,
      );
    }
    if (bucketSeconds < narrow && until - since > narrowRange * 1000) {
      throw new HubError(
        'unprocessable',
        `bucket_seconds below ${narrow} need a time range of at most 2 hours. Choose a shorter range or larger buckets.`,
      );
    }
    const scan = (scanMs: number) => this.#scans.histogram(principal, visible, bucketMs, scanMs);
    if (readsPayloads(visible)) return scan(budgetMs);
    return this.#counted<CountedBuckets>(visible, budgetMs, scan, async (storeMs) => ({
      buckets: await this.#ports.store.events.histogram(principal.tenantId, visible, bucketMs, storeMs),
    }));
  }

  /** The store's whole count. For a query that takes it too long, a scan counts the newest events in the time left. */
  async #counted<R>(
    { query }: EventFilter,
    budgetMs: number,
    scan: (scanMs: number) => Promise<R>,
    count: (storeMs: number | undefined) => Promise<R>,
  ): Promise<R> {
    if (query === undefined) return count(undefined);
    const scanMs = Math.min(maxScanMs, budgetMs / 2);
    try {
      return await count(budgetMs - scanMs);
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'search_timeout') throw error;
      return scan(scanMs);
    }
  }
}

export const createEventSearches = (ports: Ports): EventSearches => new QuerySearches(ports);

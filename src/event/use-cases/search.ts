// Stored events: searched, counted and looked at. A key sees those of its environment and agents, a person all of the
// tenant's.

import { listedEnvs, seesEnv } from '../../shared/access.ts';
import { agentOf, requireAgent } from '../../shared/acting-agent.ts';
import { scopeTest } from '../../shared/agent-scope.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { EventOrder, EventPage, Facets, HistogramBucket } from '../port.ts';
import type { StoredEvent } from '../record.ts';
import type { EventFilter } from '../rules/filter.ts';

export interface EventSearches {
  /**
   * A page, newest first by default.
   * @param from the cursor of the page before; null: from the first
   * @throws HubError forbidden, search_timeout
   */
  page(
    principal: Principal,
    filter: EventFilter,
    limit: number,
    from: string | null,
    order?: EventOrder,
  ): Promise<EventPage>;
  /** The cursor behind the first `count` events; null when there are no more than those. @throws HubError as `page` */
  skip(principal: Principal, filter: EventFilter, count: number, order?: EventOrder): Promise<string | null>;
  /** @throws HubError not_found, also for what the principal does not see */
  get(principal: Principal, id: string): Promise<StoredEvent>;
  /** The 50 most frequent values of each facet. @throws HubError forbidden, search_timeout */
  facets(principal: Principal, filter: EventFilter): Promise<Facets>;
  /**
   * Counts per bucket, in order; those without events are left out.
   * @throws HubError forbidden, unprocessable (too many buckets), search_timeout
   */
  histogram(
    principal: Principal,
    filter: EventFilter & { readonly since: number; readonly until: number },
    bucketSeconds: number,
  ): Promise<readonly HistogramBucket[]>;
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

export function createEventSearches({ store }: Pick<AppPorts, 'store'>): EventSearches {
  const { events } = store;
  return {
    async page(principal, filter, limit, from, order) {
      return events.search(principal.tenantId, eventsSeenBy(principal, filter), limit, from, order);
    },

    async skip(principal, filter, count, order) {
      const seen = eventsSeenBy(principal, filter);
      let from: string | null = null;
      for (let left = count; left > 0; ) {
        const page = await events.search(
          principal.tenantId,
          seen,
          Math.min(left, skippedAtOnce),
          from,
          order,
        );
        if (page.next === null) return null;
        from = page.next;
        left -= page.events.length;
      }
      return from;
    },

    async get(principal, id) {
      const event = await events.get(principal.tenantId, id);
      if (!event || !seesEnv(principal, event.env) || !scopeTest(principal)(event.agent_id)) {
        throw notFound('Event not found.');
      }
      return event;
    },

    async facets(principal, filter) {
      return events.facets(principal.tenantId, eventsSeenBy(principal, filter), facetLimit);
    },

    async histogram(principal, filter, bucketSeconds) {
      const { since, until } = filter;
      const seen = eventsSeenBy(principal, filter);
      const bucketMs = bucketSeconds * 1000;
      if (until <= since) return [];
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
      return events.histogram(principal.tenantId, seen, bucketMs);
    },
  };
}

// Audit events in the console API's words: taken in, searched and counted.
import { List, Reply, Streamed } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
import { environments } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import { type FacetName, facetNames, policyVersionOf } from '../record.ts';
import type { Facet } from '../rules/facet.ts';
import type { EventFilter } from '../rules/filter.ts';
import { eventGrammar } from '../rules/query/fields.ts';
import { ingestBatch, readBatch, repairContext } from './batch.ts';
import { csvHeader, csvLine, ndjsonLine, piecesOf } from './lines.ts';
import { type EventQuery, filterOf, render, shortenPayload } from './query.ts';
import type { eventRoutes } from './routes.ts';

/** The fields of facets as filters name them. */
const facetWords = {
  agentId: 'agent_id',
  toolName: 'tool_name',
  verdict: 'verdict',
  firstVerdict: 'first_verdict',
  mode: 'mode',
  decisionName: 'decision_name',
  env: 'env',
} as const satisfies { readonly [F in FacetName]: string };
type FacetWord = (typeof facetWords)[FacetName];

/** The filter of a request with its query. @throws HubError validation_failed */
async function queriedFilter(
  { app: { eventSearches } }: Pick<Hub, 'app'>,
  principal: Principal,
  query: EventQuery & { readonly q?: string | undefined },
): Promise<EventFilter> {
  const { q } = query;
  const terms = q === undefined ? undefined : await eventSearches.read(principal, q, eventGrammar);
  return eventSearches.withEntries(principal, filterOf(query, terms));
}

/** The headers of an answer to a query: whether the search came to the end of its page, else how far it came. */
const progressOf = ({ searchedTo }: { readonly searchedTo?: number }): { [name: string]: string } => ({
  'X-Search-Complete': String(searchedTo === undefined),
  ...(searchedTo === undefined ? {} : { 'X-Searched-To': iso(Math.max(0, Math.floor(searchedTo))) }),
});

export const events: Handlers<typeof eventRoutes> = {
  async ingestEvents(hub, { body }, caller, request) {
    await turns.next(body.byteLength);
    const batch = await readBatch(body, repairContext(hub, caller), turns);
    return ingestBatch(hub, keyPrincipalOf(caller), batch, request.limits);
  },

  async searchEvents(hub, { query }, caller) {
    const scope = { tenantId: caller.tenantId, list: 'events' } as const;
    const from = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const principal = principalOf(caller);
    const filter = await queriedFilter(hub, principal, query);
    const page = await hub.app.eventSearches.search(
      principal,
      filter,
      query.limit,
      from,
      'newest',
      query.budget_ms,
    );
    const next = page.next === null ? null : { cursor: sealCursor(hub, scope, page.next) };
    const headers = query.q === undefined ? {} : progressOf(page);
    return new List(page.events.map(render), next, { shorten: shortenPayload, headers });
  },

  async getEvent({ app }, { params }, caller) {
    const event = await app.eventSearches.get(principalOf(caller), params.event_id);
    const env = environments.find((one) => one === event.env);
    const rulesetVersion =
      caller.kind === 'user' && env !== undefined
        ? await app.runs.names.resolve(caller.tenantId, env, policyVersionOf(event))
        : null;
    return {
      ...render(event),
      policy_bundle: rulesetVersion && { name: rulesetVersion.name, version: rulesetVersion.version },
    };
  },

  async eventFacets(hub, { query }, caller) {
    const principal = principalOf(caller);
    const filter = await queriedFilter(hub, principal, query);
    const counted = await hub.app.eventSearches.facets(principal, filter, query.budget_ms);
    const { events: total, by } = counted;
    const renderFacet = ({ top, rest }: Facet) => ({ top: [...top], rest });
    const facets = Object.fromEntries(facetNames.map((name) => [facetWords[name], renderFacet(by[name])]));
    const body = { total, facets: facets as { [W in FacetWord]: ReturnType<typeof renderFacet> } };
    return query.q === undefined ? body : new Reply(body, { headers: progressOf(counted) });
  },

  async exportEvents(hub, { query }, caller) {
    const principal = principalOf(caller);
    const filter = await queriedFilter(hub, principal, query);
    const { pages, end } = hub.app.eventExports.start(principal, filter);
    const isCsv = query.format === 'csv';
    const name = `events-${iso(hub.clock.now()).slice(0, 19).replaceAll(':', '')}.${query.format}`;
    return new Streamed(piecesOf(pages, isCsv ? csvLine : ndjsonLine, isCsv ? csvHeader : ''), {
      headers: {
        'Content-Type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
        'Content-Disposition': `attachment; filename="${name}"`,
      },
      ended: end,
    });
  },

  async eventHistogram(hub, { query }, caller) {
    const principal = principalOf(caller);
    const { since, until, bucket_seconds, budget_ms } = query;
    const filter = { ...(await queriedFilter(hub, principal, query)), since, until };
    const counted = await hub.app.eventSearches.histogram(principal, filter, bucket_seconds, budget_ms);
    const body = counted.buckets.map(({ start, ...counts }) => ({ bucket_start: iso(start), ...counts }));
    return query.q === undefined ? body : new Reply(body, { headers: progressOf(counted) });
  },
};

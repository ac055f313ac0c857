// Audit events in the console API's words: taken in, searched and counted.
import { List, Streamed } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
import { environments } from '../../shared/ids.ts';
import { type FacetName, facetNames, policyVersionOf } from '../record.ts';
import type { Facet } from '../rules/facet.ts';
import { acceptBatch, readBatch, repairContext } from '../wire/batch.ts';
import { csvHeader, csvLine, ndjsonLine, piecesOf } from './lines.ts';
import { filterOf, render, shortenPayload } from './query.ts';
import type { eventRoutes } from './routes.ts';

/** The fields of facets as filters name them. */
const facetWords = {
  agentId: 'agent_id',
  toolName: 'tool_name',
  verdict: 'verdict',
  mode: 'mode',
  decisionName: 'decision_name',
  env: 'env',
} as const satisfies { readonly [F in FacetName]: string };
type FacetWord = (typeof facetWords)[FacetName];

export const events: Handlers<typeof eventRoutes> = {
  async ingestEvents(hub, { body }, caller, request) {
    await turns.next(body.byteLength);
    const batch = await readBatch(body, repairContext(hub, caller), turns);
    return acceptBatch(hub, keyPrincipalOf(caller), batch, request.limits.count);
  },

  async searchEvents(hub, { query }, caller) {
    const scope = { tenantId: caller.tenantId, list: 'events' } as const;
    const from = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const page = await hub.app.eventSearches.page(principalOf(caller), filterOf(query), query.limit, from);
    const next = page.next === null ? null : { cursor: sealCursor(hub, scope, page.next) };
    return new List(page.events.map(render), next, { shorten: shortenPayload });
  },

  async getEvent({ app }, { params }, caller) {
    const event = await app.eventSearches.get(principalOf(caller), params.event_id);
    const env = environments.find((one) => one === event.env);
    const found =
      caller.kind === 'user' && env !== undefined
        ? await app.runs.names.resolve(caller.tenantId, env, policyVersionOf(event))
        : null;
    return { ...render(event), policy_bundle: found && { name: found.name, version: found.version } };
  },

  async eventFacets({ app }, { query }, caller) {
    const { events: total, by } = await app.eventSearches.facets(principalOf(caller), filterOf(query));
    const shown = ({ top, rest }: Facet) => ({ top: [...top], rest });
    const facets = Object.fromEntries(facetNames.map((name) => [facetWords[name], shown(by[name])]));
    return { total, facets: facets as { [W in FacetWord]: ReturnType<typeof shown> } };
  },

  async exportEvents(hub, { query }, caller) {
    const { pages, end } = hub.app.eventExports.start(principalOf(caller), filterOf(query));
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

  async eventHistogram({ app }, { query }, caller) {
    const filter = { ...filterOf(query), since: query.since, until: query.until };
    const buckets = await app.eventSearches.histogram(principalOf(caller), filter, query.bucket_seconds);
    return buckets.map(({ start, ...counts }) => ({ bucket_start: iso(start), ...counts }));
  },
};

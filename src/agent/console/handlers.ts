// Agents: who is connected and drifts, what they report, how they are registered and assigned.
import { agentGrammar } from '../../event/rules/query/fields.ts';
import { type Caller, List } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { unableText } from '../../http/contract/render.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { coverageRecord } from '../../usage/record.ts';
import {
  type AgentOrder,
  type AgentPlace,
  agentStatusRecord,
  fleetAgentRecord,
  matrixDeploymentRecord,
  matrixVersionRecord,
  openStreamRecord,
  registrationRecord,
} from '../record.ts';
import { agentQueryTest, envOfQuery } from '../rules/query.ts';
import type { FleetAgent } from '../use-cases/fleet.ts';
import type { MatrixCell } from '../use-cases/matrix.ts';
import type { RegistrationView, StatusStart } from '../use-cases/registrations.ts';
import type { agentRoutes } from './routes.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;

const renderCell = ({ env, deployment, connected, versions }: MatrixCell) => ({
  env,
  deployment: deployment && matrixDeploymentRecord.render('console', deployment),
  connected,
  versions: versions.map((one) => matrixVersionRecord.render('console', one)),
});

const orders: { readonly [field: string]: AgentOrder } = {
  agent_id: 'agentId',
  last_seen_at: 'lastSeenAt',
  created_at: 'createdAt',
};

export const agents: Handlers<typeof agentRoutes> = {
  async fleetMatrix(hub, { query }, caller) {
    const scope = { tenantId: caller.tenantId, list: 'matrix' } as const;
    const after = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const { bundles, unassigned, next } = await hub.app.matrices.get(principalOf(caller), {
      env: query.env ?? null,
      after,
    });
    return {
      bundles: bundles.map(({ name, cells }) => ({ name, cells: cells.map(renderCell) })),
      unassigned,
      next_cursor: next === null ? null : sealCursor(hub, scope, next),
    };
  },

  async listAgents(hub, { query }, caller) {
    const { sort, cursor, limit, status, connected, tag, bundle, search, policy_version } = query;
    const scope = { tenantId: caller.tenantId, list: 'agents' } as const;
    const [name = '', value = null] = tag?.split(/:(.*)/s) ?? [];
    const principal = principalOf(caller);
    const terms =
      query.q === undefined ? null : await hub.app.eventSearches.read(principal, query.q, agentGrammar);
    const env = query.env ?? (terms && envOfQuery(terms));
    const page = await hub.app.fleet.list(principal, {
      env,
      status: status ?? null,
      connected: connected === undefined ? null : connected === 'true',
      tag: tag === undefined ? null : { name, value },
      bundleName: bundle ?? null,
      search: search ?? null,
      policyVersion: policy_version ?? null,
      matches: terms && agentQueryTest(terms),
      byDrift: sort === 'drift_since',
      order: orders[sort.replace('-', '')] ?? 'agentId',
      descending: sort.startsWith('-'),
      limit,
      after: cursor === undefined ? null : readAgentPlace(openCursor(hub, scope, cursor), sort),
    });
    const covered = await hub.app.coverage.listAgentCoverage(
      principal,
      { env, since: hub.clock.now() - dayMs },
      page.agents.map(({ registration }) => registration),
    );
    const rendered = page.agents.map((agent) => {
      const counts = covered.get(agent.registration.agentId);
      return {
        ...renderFleetAgent(agent),
        coverage: counts ? coverageRecord.render('console', counts) : null,
      };
    });
    const next = (sent: number) => {
      const place = page.next(sent);
      return (
        place && { cursor: sealCursor(hub, scope, JSON.stringify([sort, place.at, place.agentId])), limit }
      );
    };
    const headers = sort === 'drift_since' ? { 'X-Search-Complete': String(page.isComplete) } : {};
    return new List(rendered, next, { headers });
  },

  async agentStatus(hub, { query }, caller) {
    const { limit, cursor, env = null, bundle_name: bundleName = null } = query;
    const scope = { tenantId: caller.tenantId, list: 'agent_status' } as const;
    const start = cursor === undefined ? null : readPlace(openCursor(hub, scope, cursor));
    const request = { env, bundleName, limit, start };
    const page = await hub.app.registrations.status(principalOf(caller), request);
    const next = page.next && { cursor: sealCursor(hub, scope, JSON.stringify(page.next)), limit };
    return new List(
      page.entries.map((one) => agentStatusRecord.render('console', one)),
      next,
      { field: 'agents' },
    );
  },

  async listAgentStreams({ app }, { params, query }, caller) {
    const { agent_id } = params;
    const principal = principalOf(caller);
    const { total, streams } = await app.fleet.streams(principal, agent_id, query.limit);
    const rendered = streams.map((one) =>
      openStreamRecord.render('console', { ...one, node: principal.roles.has('admin') ? one.node : null }),
    );
    return { agent_id, total, streams: rendered };
  },

  reportVersion: (hub, { body }, caller) => reportVersion(hub, caller, body),

  async listRegistrations(hub, { query }, caller) {
    const { limit, cursor } = query;
    const scope = { tenantId: caller.tenantId, list: 'registrations' } as const;
    const after = cursor === undefined ? null : openCursor(hub, scope, cursor);
    const page = { limit, after };
    const {
      items,
      more,
      leftOut,
      last: lastOfPage,
    } = await hub.app.registrations.list(principalOf(caller), page);
    const next = (sent: number) => {
      const lastSent = items[sent - 1]?.registration.agentId;
      const last = sent < items.length ? lastSent : more ? lastOfPage : null;
      return last == null ? null : { cursor: sealCursor(hub, scope, last), limit };
    };
    return new List(items.map(render), next, { headers: { 'X-Agents-Not-Registered': String(leftOut) } });
  },

  getRegistration: async ({ app }, { params }, caller) =>
    render(await app.registrations.get(principalOf(caller), params.agent_id)),

  async updateRegistration({ app }, { params, body }, caller) {
    const patch = omitUndefined({
      displayName: body.display_name === '' ? null : body.display_name,
      tags: body.tags === null ? {} : body.tags,
      bundleName: body.bundle_name === undefined ? undefined : body.bundle_name || null,
    });
    const changed = render(await app.registrations.update(principalOf(caller), params.agent_id, patch));
    return { ...changed, ...(await warningsOf(app, caller.tenantId, [params.agent_id], body.bundle_name)) };
  },

  bulkAssign: async ({ app }, { body }, caller) => ({
    updated: await app.registrations.assign(principalOf(caller), body.agent_ids, body.bundle_name || null),
    ...(await warningsOf(app, caller.tenantId, body.agent_ids, body.bundle_name)),
  }),
};

/** Warnings about these agents that cannot load what they were assigned just now. */
async function warningsOf(
  { vocabularies }: Pick<Hub['app'], 'vocabularies'>,
  tenantId: string,
  agentIds: readonly string[],
  bundleName: string | null | undefined,
): Promise<{ readonly warnings?: string[] }> {
  if (!bundleName) return {};
  const unable = await vocabularies.ofAgents(tenantId, agentIds, bundleName);
  return unable.length === 0 ? {} : { warnings: unable.map((one) => unableText(one, 'console')) };
}

/** Takes an agent's report, over a route or a socket. */
export async function reportVersion(
  { app }: Pick<Hub, 'app'>,
  caller: KeyCaller,
  body: { readonly bundle_name?: string | null | undefined; readonly policy_version: string },
) {
  const bundleName = body.bundle_name ?? null;
  const policyVersion = body.policy_version;
  const agentId = await app.registrations.report(keyPrincipalOf(caller), { bundleName, policyVersion });
  return { agent_id: agentId, bundle_name: bundleName, policy_version: policyVersion };
}

const renderFleetAgent = ({ registration, resolution, state, ...agent }: FleetAgent) =>
  fleetAgentRecord.render('console', {
    ...registration,
    ...agent,
    resolvedBundle: resolution.bundleName,
    assignmentSource: resolution.source,
    followedBundle: state && state.streams > 0 ? state.bundleName : null,
    policyVersion: state?.policyVersion ?? null,
    status: state?.status ?? 'unknown',
    connected: (state?.streams ?? 0) > 0,
    streams: state?.streams ?? 0,
    driftSince: state?.driftSince ?? null,
    connectedAt: state?.connectedAt ?? null,
  });

/**
 * A cursor was sealed by this hub: what it holds is what was written.
 * @throws HubError bad_request for one of another order
 */
function readAgentPlace(text: string, sort: string): AgentPlace {
  const [sorted, at, agentId] = JSON.parse(text) as [string, number, string];
  if (sorted === sort) return { at, agentId };
  throw new HubError('bad_request', `This cursor belongs to sort=${sorted}. Start again without a cursor.`);
}

const render = ({ registration, resolution }: RegistrationView) =>
  registrationRecord.render('console', { ...registration, resolvedBundle: resolution.bundleName });

/** A cursor was sealed by this hub: what it holds is what was written. */
const readPlace = (text: string): StatusStart => JSON.parse(text) as StatusStart;

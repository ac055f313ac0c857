// Agents: who is connected and drifts, what they report, how they are registered and assigned.

import { agentKey, environmentKey, type StatusEntry, type StatusPlace } from '../../../actors/protocol.ts';
import type { agentRoutes } from '../../api/agents.ts';
import { type Caller, List } from '../../api/call.ts';
import { actingAgent } from '../../app/acting-agent.ts';
import type { CoverageCounts } from '../../app/coverage.ts';
import type { FleetAgent } from '../../app/fleet.ts';
import { bytesPerTurn, turns } from '../../concurrency/event-loop-budget.ts';
import type { AgentOrder, Registration } from '../../domain/agent.ts';
import { type Resolution, type RuleSet, unassigned } from '../../domain/assignment.ts';
import { HubError, notFound } from '../../domain/error.ts';
import { type Env, environments } from '../../domain/ids.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { AgentPlace } from '../../ports/agents.ts';
import { openCursor, sealCursor } from '../common/cursor.ts';
import type { Handlers, Hub } from '../common/hub.ts';
import { iso, isoOrNull } from '../common/render.ts';
import { renderCounts } from './coverage.ts';
import { touchAgents } from './last-seen.ts';
import { principalOf } from './principal.ts';

const dayMs = 24 * 3_600_000;

type KeyCaller = Extract<Caller, { kind: 'key' }>;

const orders: { readonly [field: string]: AgentOrder } = {
  agent_id: 'agentId',
  last_seen_at: 'lastSeenAt',
  created_at: 'createdAt',
};

export const agents: Handlers<typeof agentRoutes> = {
  async listAgents(hub, { query }, caller) {
    const { sort, cursor, limit, env, status, connected, tag, bundle, search } = query;
    const scope = { tenantId: caller.tenantId, list: 'agents' } as const;
    const [name = '', value = null] = tag?.split(/:(.*)/s) ?? [];
    const principal = principalOf(caller);
    const page = await hub.app.fleet.list(principal, {
      env: env ?? null,
      status: status ?? null,
      connected: connected === undefined ? null : connected === 'true',
      tag: tag === undefined ? null : { name, value },
      bundleName: bundle ?? null,
      search: search ?? null,
      order: orders[sort.replace('-', '')] ?? 'agentId',
      descending: sort.startsWith('-'),
      limit,
      after: cursor === undefined ? null : readAgentPlace(openCursor(hub, scope, cursor), sort),
    });
    const covered = await hub.app.coverage.ofAgents(
      principal,
      { env: env ?? null, since: hub.clock.now() - dayMs },
      page.agents.map(({ registration }) => registration),
    );
    const rendered = page.agents.map((agent) => ({
      ...renderFleetAgent(agent),
      coverage: renderCoverage(covered.get(agent.registration.agentId)),
    }));
    return new List(rendered, (sent) => {
      const place = page.next(sent);
      return (
        place && { cursor: sealCursor(hub, scope, JSON.stringify([sort, place.at, place.agentId])), limit }
      );
    });
  },

  async agentStatus(hub, { query }, { tenantId }) {
    const { limit, cursor } = query;
    const bundleName = query.bundle_name ?? null;
    const scope = { tenantId, list: 'agent_status' } as const;
    const start = cursor === undefined ? startOfStatus : readPlace(openCursor(hub, scope, cursor));
    const entries: StatusEntry[] = [];
    let rest: StatusStart | null = null;
    const wanted = query.env === undefined ? environments : [query.env];
    for (const env of wanted.slice(Math.max(0, wanted.indexOf(start.env)))) {
      rest = { env, after: env === start.env ? start.after : null };
      if (entries.length >= limit) break;
      const request = { bundleName, limit: limit - entries.length, after: rest.after };
      const page = await hub.actors.ask('environment', environmentKey(tenantId, env), 'status', request);
      entries.push(...page.entries);
      rest = page.next === null ? null : { env, after: page.next };
      if (rest !== null) break;
    }
    const next = rest === null ? null : { cursor: sealCursor(hub, scope, JSON.stringify(rest)), limit };
    return new List(entries.map(renderStatus), next, { field: 'agents' });
  },

  reportVersion: (hub, { body }, caller) => reportVersion(hub, caller, body),

  async listRegistrations(hub, { query }, { tenantId }) {
    const { limit, cursor } = query;
    const scope = { tenantId, list: 'registrations' } as const;
    const after = cursor === undefined ? null : openCursor(hub, scope, cursor);
    const [{ items, more }, rules, leftOut] = await Promise.all([
      hub.store.agents.list(tenantId, { limit, after }),
      hub.store.rules.list(tenantId),
      hub.registrar.leftOut(tenantId),
    ]);
    const resolutions = await resolveAll(hub.ruleSets.of(tenantId, rules), items);
    const rendered = items.map((registration, i) => render(registration, resolutions[i] ?? unassigned));
    const next = (sent: number) => {
      const last = sent < items.length || more ? items[sent - 1] : undefined;
      return last === undefined ? null : { cursor: sealCursor(hub, scope, last.agentId), limit };
    };
    return new List(rendered, next, { headers: { 'X-Agents-Not-Registered': String(leftOut) } });
  },

  async getRegistration(hub, { params }, { tenantId }) {
    const registration = await hub.store.agents.get(tenantId, params.agent_id);
    if (!registration) throw unknown();
    const rules = await hub.store.rules.list(tenantId);
    return render(registration, resolve(hub.ruleSets.of(tenantId, rules), registration));
  },

  async updateRegistration(hub, { params, body }, caller) {
    const { tenantId } = caller;
    const agentId = params.agent_id;
    const patch = omitUndefined({
      displayName: body.display_name === '' ? null : body.display_name,
      tags: body.tags === null ? {} : body.tags,
    });
    const before = await hub.store.agents.get(tenantId, agentId);
    if (!before) throw unknown();
    if (Object.keys(patch).length > 0) await hub.store.agents.update(tenantId, agentId, patch);
    const wanted = body.bundle_name === undefined ? before.bundleName : body.bundle_name || null;
    if (wanted !== before.bundleName) {
      await hub.actors.ask('tenant', tenantId, 'assign', {
        agentIds: [agentId],
        bundleName: wanted,
        bulk: false,
      });
    } else if (patch.tags !== undefined) {
      // Tags decide which rules match, and the agent may be connected in any environment.
      for (const env of environments) {
        await hub.actors.tell('agent', agentKey(tenantId, env, agentId), 'resolve', null);
      }
    }
    const after = await hub.store.agents.get(tenantId, agentId);
    if (!after) throw unknown();
    const rules = await hub.store.rules.list(tenantId);
    return render(after, resolve(hub.ruleSets.of(tenantId, rules), after));
  },

  async bulkAssign(hub, { body }, caller) {
    const assigned = await hub.actors.ask('tenant', caller.tenantId, 'assign', {
      agentIds: [...new Set(body.agent_ids)],
      bundleName: body.bundle_name || null,
      bulk: true,
    });
    return { updated: assigned.length };
  },
};

/** Takes an agent's word for the version it runs now. @throws HubError forbidden, overloaded, unavailable */
export async function reportVersion(
  hub: Hub,
  caller: KeyCaller,
  body: { readonly bundle_name?: string | null | undefined; readonly policy_version: string },
) {
  const agentId = actingAgent(caller);
  const bundleName = body.bundle_name ?? null;
  const policyVersion = body.policy_version;
  // A report is kept of an agent that is registered.
  await touchAgents(hub, caller, new Set([agentId]));
  await hub.actors.ask('agent', agentKey(caller.tenantId, caller.env, agentId), 'report', {
    bundleName,
    policyVersion,
    at: hub.clock.now(),
  });
  return { agent_id: agentId, bundle_name: bundleName, policy_version: policyVersion };
}

const unknown = () => notFound('Agent not found.');

const renderStatus = (entry: StatusEntry) => ({
  agent_id: entry.agentId,
  env: entry.env,
  bundle_name: entry.bundleName,
  policy_version: entry.policyVersion,
  status: entry.status,
  connected_at: iso(entry.connectedAt),
});

const renderCoverage = (counts: CoverageCounts | undefined) => (counts ? renderCounts(counts) : null);

const renderFleetAgent = ({ registration, env, resolution, state, version }: FleetAgent) => ({
  agent_id: registration.agentId,
  display_name: registration.displayName,
  tags: { ...registration.tags },
  env,
  bundle_name: registration.bundleName,
  resolved_bundle: resolution.bundleName,
  assignment_source: resolution.source,
  followed_bundle: state && state.streams > 0 ? state.bundleName : null,
  policy_version: state?.policyVersion ?? null,
  version,
  status: state?.status ?? ('unknown' as const),
  connected: (state?.streams ?? 0) > 0,
  streams: state?.streams ?? 0,
  connected_at: isoOrNull(state?.connectedAt ?? null),
  last_seen_at: isoOrNull(registration.lastSeenAt),
  created_at: iso(registration.createdAt),
});

/** A cursor was sealed by this hub: what it holds is what was written. @throws HubError bad_request for one of another order */
function readAgentPlace(text: string, sort: string): AgentPlace {
  const [sorted, at, agentId] = JSON.parse(text) as [string, number, string];
  if (sorted === sort) return { at, agentId };
  throw new HubError('bad_request', `This cursor belongs to sort=${sorted}. Start again without one.`);
}

const render = (registration: Registration, { bundleName }: Resolution) => ({
  id: registration.id,
  agent_id: registration.agentId,
  display_name: registration.displayName,
  tags: { ...registration.tags },
  bundle_name: registration.bundleName,
  resolved_bundle: bundleName,
  last_seen_at: isoOrNull(registration.lastSeenAt),
  created_at: iso(registration.createdAt),
});

/** What the rules of its last environment give an agent that has no assignment. */
const resolve = (rules: RuleSet, { agentId, lastEnv, bundleName, tags }: Registration): Resolution =>
  rules.resolve({ agentId, env: lastEnv, explicit: bundleName, tags });

/** Matches of an agent with a rule that are worked out in one turn of the event loop: a hundred thousand rules may have to be tried for one list. */
const matchesPerTurn = 2_000;

async function resolveAll(rules: RuleSet, agents: readonly Registration[]): Promise<Resolution[]> {
  const atOnce = Math.max(1, Math.floor(matchesPerTurn / Math.max(1, rules.rules.length)));
  const resolutions: Resolution[] = [];
  for (let i = 0; i < agents.length; i += atOnce) {
    if (agents.length > atOnce) await turns.next(bytesPerTurn);
    resolutions.push(...agents.slice(i, i + atOnce).map((agent) => resolve(rules, agent)));
  }
  return resolutions;
}

/** Where a page of the status list begins. */
interface StatusStart {
  readonly env: Env;
  readonly after: StatusPlace | null;
}

const startOfStatus: StatusStart = { env: environments[0], after: null };

/** A cursor was sealed by this hub: what it holds is what was written. */
const readPlace = (text: string): StatusStart => JSON.parse(text) as StatusStart;

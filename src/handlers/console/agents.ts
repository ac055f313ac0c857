// Agents: who is connected and drifts, what they report, how they are registered and assigned.

import { agentKey, environmentKey, type StatusEntry } from '../../../actors/protocol.ts';
import type { agentRoutes } from '../../api/agents.ts';
import type { Caller } from '../../api/call.ts';
import { actingAgent } from '../../app/acting-agent.ts';
import type { Registration } from '../../domain/agent.ts';
import type { Resolution, RuleSet } from '../../domain/assignment.ts';
import { notFound } from '../../domain/error.ts';
import { environments } from '../../domain/ids.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';

import type { Handlers, Hub } from './hub.ts';
import { iso, isoOrNull } from './render.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;

export const agents: Handlers<typeof agentRoutes> = {
  async agentStatus(hub, { query }, caller) {
    const bundleName = query.bundle_name ?? null;
    const lists = await Promise.all(
      environments.map((env) =>
        hub.actors.ask('environment', environmentKey(caller.tenantId, env), 'status', { bundleName }),
      ),
    );
    return { agents: lists.flat().map(renderStatus) };
  },

  reportVersion: (hub, { body }, caller) => reportVersion(hub, caller, body),

  async listRegistrations(hub, _input, { tenantId }) {
    const [registrations, rules] = await Promise.all([
      hub.store.agents.list(tenantId),
      hub.store.rules.list(tenantId),
    ]);
    const set = hub.ruleSets.of(tenantId, rules);
    return registrations.map((registration) => render(registration, resolve(set, registration)));
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
  await hub.actors.ask('agent', agentKey(caller.tenantId, caller.env, agentId), 'report', {
    bundleName,
    policyVersion,
    at: hub.clock.now(),
  });
  return { agent_id: agentId, bundle_name: bundleName, policy_version: policyVersion };
}

const unknown = () => notFound('Agent not found.');

const renderStatus = (entry: StatusEntry) => ({ ...entry, connected_at: iso(entry.connected_at) });

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

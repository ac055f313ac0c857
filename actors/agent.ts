// The agent actor: an agent's open streams and its effective assignment in one environment. Registrations and rules live in the store.
import { type Resolution, resolveAssignment, type Tags } from '../src/domain/agent.ts';
import { agentsOf } from '../src/domain/frame.ts';
import type { Env } from '../src/domain/ids.ts';
import type { ActorPorts } from './ports.ts';
import { type AgentMessages, environmentKey, readKey, streamLifeMs, tellTo } from './protocol.ts';
import { actorKind } from './runtime/kind.ts';

interface State {
  readonly tenantId: string;
  readonly env: Env;
  readonly agentId: string;
  /** Oldest connection first. */
  readonly streams: Map<string, { readonly pinned: boolean; readonly at: number }>;
  /** Tags of the newest stream that is not pinned; they overlay the registration's. */
  tags: Tags;
  /** What the streams that are not pinned follow; null until known to this activation. */
  effective: Resolution | null;
}

async function resolve(
  { tenantId, env, agentId, tags }: State,
  registration: { readonly bundleName: string | null; readonly tags: Tags } | null,
  { store, matches }: ActorPorts,
): Promise<Resolution> {
  const explicit = registration?.bundleName ?? null;
  // An explicit assignment wins over any rule.
  const rules = explicit === null ? await store.rules.list(tenantId) : [];
  const merged = { ...registration?.tags, ...tags };
  return resolveAssignment({ agentId, env, explicit, tags: merged, agentProvided: null, rules }, matches);
}

export const agent = actorKind<AgentMessages, State, ActorPorts>({
  kind: 'agent',

  async activate({ key }) {
    return { ...readKey(key), streams: new Map(), tags: {}, effective: null };
  },

  handlers: {
    async connect(state, { connectionId, requested, policyVersion, tags, at }, { ports, now }) {
      const { tenantId, env, agentId, streams } = state;
      const registration = await ports.store.agents.seen(tenantId, agentId, env, now(), ports.secrets.uuid());
      let resolution: Resolution;
      if (requested === null) {
        state.tags = tags;
        resolution = await resolve(state, registration, ports);
        state.effective = resolution;
      } else {
        resolution = { bundleName: requested, source: 'agent_provided', ruleId: null, rulePattern: null };
      }
      const oldest = now() - streamLifeMs;
      for (const [id, stream] of streams) {
        if (stream.at >= oldest) break;
        streams.delete(id);
      }
      streams.set(connectionId, { pinned: requested !== null, at });
      if (!policyVersion) return { reply: resolution };
      const report = { agentId, bundleName: resolution.bundleName, policyVersion, at };
      return {
        reply: resolution,
        tells: [tellTo('environment', environmentKey(tenantId, env), 'ran', report)],
      };
    },

    async disconnect({ streams }, { connectionId }) {
      streams.delete(connectionId);
      return { reply: null };
    },

    async resolve(state, _body, { ports }) {
      const { tenantId, env, agentId } = state;
      const before = state.effective;
      const next = await resolve(state, await ports.store.agents.get(tenantId, agentId), ports);
      state.effective = next;
      // Pinned streams hear of it, too (document 1, Agent stream events: "bundle assignment changes", of any stream), but follow what they
      // did. A new activation does not know what its streams follow, so it says it again.
      const changed = before ? state.streams.size > 0 && before.bundleName !== next.bundleName : true;
      if (!changed) return { reply: next };
      const { bundleName, source } = next;
      const type = 'assignment_changed';
      return {
        reply: next,
        frames: [
          {
            audience: agentsOf(tenantId, env),
            type,
            data: { type, agent_id: agentId, bundle_name: bundleName, source },
            toAgent: agentId,
          },
        ],
        tells: [tellTo('environment', environmentKey(tenantId, env), 'retarget', { agentId, bundleName })],
      };
    },

    async report({ tenantId, env, agentId }, { bundleName, policyVersion, at }, { ports, now }) {
      const report = { agentId, bundleName, policyVersion, at: Math.min(at, now()) };
      await ports.store.agents.report(tenantId, env, report);
      return { reply: null, tells: [tellTo('environment', environmentKey(tenantId, env), 'ran', report)] };
    },
  },

  idle: ({ streams }, now) => [...streams.values()].every((stream) => stream.at < now - streamLifeMs),
});

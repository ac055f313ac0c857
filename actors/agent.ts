// The agent actor: an agent's open streams and its effective assignment in one environment. Registrations and rules
// live in the store.
import type { AssignmentRule, Tags } from '../src/agent/record.ts';
import { assignedExplicitly, type Resolution } from '../src/agent/rules/assignment.ts';
import type { ActorPorts } from './ports.ts';
import { type AgentMessages, environmentKey, readKey, streamLifeMs, tellTo } from './protocol.ts';
import type { ActorContext, Outcome } from './runtime/define.ts';
import { actorKind } from './runtime/kind.ts';

/** An open stream. */
interface Connection {
  readonly id: string;
  readonly at: number;
}

/** Small, because every connected agent has one: a list that is replaced, and a key that is read when needed. */
interface State {
  readonly key: string;
  /** Oldest connection first. */
  connections: readonly Connection[];
  /** Tags of the newest stream that is not pinned; they overlay the registration's. */
  tags: Tags;
  /** Bundle that unpinned streams follow; null before this activation has read it. */
  effective: Resolution | null;
}

const noTags: Tags = {};

type Registered = { readonly bundleName: string | null; readonly tags: Tags } | null;

/** An agent that is assigned a bundle itself: no rules are read for it. */
const isAssigned = (registration: Registered): boolean => (registration?.bundleName ?? null) !== null;

function resolve(
  { key, tags }: State,
  registration: Registered,
  rules: readonly AssignmentRule[],
  { ruleSets }: ActorPorts,
): Resolution {
  const { tenantId, env, agentId } = readKey(key);
  const explicit = registration?.bundleName ?? null;
  if (explicit !== null) return assignedExplicitly(explicit);
  const merged =
    registration === null || tags !== noTags ? { ...registration?.tags, ...tags } : registration.tags;
  return ruleSets.of(tenantId, rules).resolve({ agentId, env, tags: merged, explicit });
}

const byName = (bundleName: string): Resolution => ({
  bundleName,
  source: 'agent_provided',
  ruleId: null,
  rulePattern: null,
});

/** Notes a stream, and what it follows. Apart from `connect`, all of which an agent's actor keeps while it waits. */
function connected(
  state: State,
  { connectionId, policyVersion, at }: AgentMessages['connect']['body'],
  resolution: Resolution,
  { now, epoch }: ActorContext<ActorPorts>,
): Outcome<AgentMessages['connect']['reply']> {
  const oldest = now() - streamLifeMs;
  const kept = state.connections.filter((one) => one.at >= oldest && one.id !== connectionId);
  state.connections = kept.concat({ id: connectionId, at });
  const { bundleName, source, ruleId, rulePattern } = resolution;
  const reply = { bundleName, source, ruleId, rulePattern, resolvedAt: { epoch, at: now() } };
  if (!policyVersion) return { reply };
  const { tenantId, env, agentId } = readKey(state.key);
  const report = { agentId, bundleName, policyVersion, at };
  return {
    reply,
    tells: [tellTo('environment', environmentKey(tenantId, env), 'reportVersion', report)],
  };
}

export const agent = actorKind<AgentMessages, State, ActorPorts>({
  kind: 'agent',

  activate({ key }) {
    return { key, connections: [], tags: noTags, effective: null };
  },

  handlers: {
    async connect(state, stream, context) {
      const { ports } = context;
      const { tenantId, env, agentId } = readKey(state.key);
      const registered = ports.registrar.seen({ tenantId, env, keyId: stream.keyId, on: stream.on }, agentId);
      if (stream.requested !== null) {
        await registered;
        return connected(state, stream, byName(stream.requested), context);
      }
      // Read beside the registration, although an assigned agent needs no rules: most agents have no assignment, and
      // wait once. A rule change during the read makes the agents that connected earlier resolve again.
      const [registration, rules] = await Promise.all([registered, ports.store.rules.list(tenantId)]);
      state.tags = Object.keys(stream.tags).length === 0 ? noTags : stream.tags;
      state.effective = resolve(state, registration, rules, ports);
      return connected(state, stream, state.effective, context);
    },

    disconnect(state, { connectionId }) {
      state.connections = state.connections.filter(({ id }) => id !== connectionId);
      return { reply: null };
    },

    async resolve(state, body, { ports, now, epoch }) {
      const { tenantId, env, agentId } = readKey(state.key);
      const before = state.effective;
      const registration = await ports.store.agents.get(tenantId, agentId);
      const rules = isAssigned(registration) ? [] : await ports.store.rules.list(tenantId);
      const next = resolve(state, registration, rules, ports);
      state.effective = next;
      // Pinned streams receive the change too, but keep their bundle. A new activation does not know which bundle
      // its streams follow, so it announces the bundle again.
      const changed = before ? state.connections.length > 0 && before.bundleName !== next.bundleName : true;
      const environment = environmentKey(tenantId, env);
      const onward = body?.onward ? [tellTo('environment', environment, 'rulesChanged', { rest: true })] : [];
      if (!changed) return { reply: next, tells: onward };
      const { bundleName, source } = next;
      // A stream may be open that was announced neither here nor to the environment since they moved.
      const seenHere =
        registration?.lastEnv === env && (registration.lastSeenAt ?? 0) >= now() - streamLifeMs;
      const connected = state.connections.length > 0 || seenHere;
      const moved = { agentId, bundleName, connected, resolvedAt: { epoch, at: now() } };
      return {
        reply: next,
        announcements: [{ kind: 'agentReassigned', tenantId, env, agentId, bundleName, source }],
        tells: [tellTo('environment', environment, 'retarget', moved), ...onward],
      };
    },

    async report({ key }, { bundleName, policyVersion, at }, { ports, now }) {
      const { tenantId, env, agentId } = readKey(key);
      const report = { agentId, bundleName, policyVersion, at: Math.min(at, now()) };
      await ports.store.agents.report(tenantId, env, report);
      return {
        reply: null,
        tells: [tellTo('environment', environmentKey(tenantId, env), 'reportVersion', report)],
      };
    },
  },

  patient: ['connect'],

  idle: ({ connections }, now) => connections.every(({ at }) => at < now - streamLifeMs),
});

// The agent actor: an agent's open streams and its effective assignment in one environment. Registrations and rules
// live in the store.
import type { AssignmentRule, Tags } from '../src/agent/record.ts';
import { assignedExplicitly, type Resolution } from '../src/agent/rules/assignment.ts';
import type { ActorPorts } from './ports.ts';
import { type AgentMessages, environmentKey, readKey, streamLifeMs, tellTo } from './protocol.ts';
import type { ActorContext, Effects, Outcome, Tell } from './runtime/define.ts';
import { actorKind } from './runtime/kind.ts';

/** An open stream, in a list: an array for each agent would take as much again. */
interface Connection {
  readonly id: string;
  /** Whole seconds since 1970: a small number, where epoch milliseconds would be an object each. */
  readonly openedAt: number;
  next: Connection | null;
}

/** Small, because every connected agent has one. */
interface State {
  /**
   * The newest connection; null without an open stream. Undefined before this activation has received one: an
   * earlier activation failed or moved, and its streams may still be open.
   */
  connections: Connection | null | undefined;
  /** Tags of the newest stream that is not pinned; they overlay the registration's. */
  tags: Tags;
  /** Bundle that unpinned streams follow; null before this activation has read it. */
  effective: Resolution | null;
}

const noTags: Tags = {};

type Registered = { readonly bundleName: string | null; readonly tags: Tags } | null;

/** An agent that is assigned a bundle itself: no rules are read for it. */
const isAssigned = (registration: Registered): boolean => (registration?.bundleName ?? null) !== null;

/** The connections that `stays` holds for. */
function kept(first: State['connections'], stays: (one: Connection) => boolean): Connection | null {
  let newest = first ?? null;
  while (newest && !stays(newest)) newest = newest.next;
  for (let one = newest; one; ) {
    if (one.next && !stays(one.next)) one.next = one.next.next;
    else one = one.next;
  }
  return newest;
}

/** True for a stream whose end must have come, with or without notice. */
const isOver = ({ openedAt }: Connection, now: number): boolean => openedAt * 1000 < now - streamLifeMs;

function resolve(
  { tags }: State,
  registration: Registered,
  rules: readonly AssignmentRule[],
  { tenantId, env, agentId }: ReturnType<typeof readKey>,
  { ports: { ruleSets } }: ActorContext<ActorPorts>,
): Resolution {
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
  { key, now, epoch }: ActorContext<ActorPorts>,
): Outcome<AgentMessages['connect']['reply']> {
  const next = kept(state.connections, (one) => one.id !== connectionId && !isOver(one, now()));
  state.connections = { id: connectionId, openedAt: Math.floor(at / 1000), next };
  const { bundleName, source, ruleId, rulePattern } = resolution;
  const reply = { bundleName, source, ruleId, rulePattern, resolvedAt: { epoch, at: now() } };
  if (!policyVersion) return { reply };
  const { tenantId, env, agentId } = readKey(key);
  const report = { agentId, bundleName, policyVersion, at };
  return {
    reply,
    tells: [tellTo('environment', environmentKey(tenantId, env), 'reportVersion', report)],
  };
}

const ignore = (): void => undefined;

/**
 * Notes a stream that follows its agent's assignment. A function of its own, because `connect` keeps room for its
 * variables as long as it waits.
 */
function connectToAssignment(
  state: State,
  stream: AgentMessages['connect']['body'],
  { registration, rules }: { readonly registration: Registered; readonly rules: readonly AssignmentRule[] },
  context: ActorContext<ActorPorts>,
): Outcome<AgentMessages['connect']['reply']> {
  const key = readKey(context.key);
  const { tags, effective: before } = state;
  state.tags = Object.keys(stream.tags).length === 0 ? noTags : stream.tags;
  const next = resolve(state, registration, rules, key, context);
  state.effective = next;
  // A `resolve` that follows a change of rules or of the assignment finds no difference any more. A stream's own
  // tags move no other stream.
  const shouldMove =
    before !== null &&
    before.bundleName !== next.bundleName &&
    hasOther(state.connections, stream.connectionId, context.now()) &&
    resolve({ ...state, tags }, registration, rules, key, context).bundleName !== before.bundleName;
  const outcome = connected(state, stream, next, context);
  return shouldMove ? { ...outcome, ...moveStreams(next, true, context, outcome.tells) } : outcome;
}

/** True with an open stream other than `id`. */
function hasOther(first: State['connections'], id: string, now: number): boolean {
  for (let one = first; one; one = one.next) if (one.id !== id && !isOver(one, now)) return true;
  return false;
}

/** Moves the agent's streams that are not pinned to a bundle, `onward` after them. */
function moveStreams(
  { bundleName, source }: Resolution,
  isConnected: boolean,
  { key, now, epoch }: ActorContext<ActorPorts>,
  onward: readonly Tell[] = [],
): Effects {
  const { tenantId, env, agentId } = readKey(key);
  const moved = { agentId, bundleName, connected: isConnected, resolvedAt: { epoch, at: now() } };
  return {
    announcements: [{ kind: 'agentReassigned', tenantId, env, agentId, bundleName, source }],
    tells: [tellTo('environment', environmentKey(tenantId, env), 'retarget', moved), ...onward],
  };
}

export const agent = actorKind<AgentMessages, State, ActorPorts>({
  kind: 'agent',

  activate: () => ({ connections: undefined, tags: noTags, effective: null }),

  handlers: {
    async connect(state, stream, context) {
      const { ports } = context;
      const { tenantId, env, agentId } = readKey(context.key);
      const registered = ports.registrar.noteSeen(
        { tenantId, env, keyId: stream.keyId, on: stream.on },
        agentId,
      );
      if (stream.requested !== null) {
        await registered;
        return connected(state, stream, byName(stream.requested), context);
      }
      // Read beside the registration, although an assigned agent needs no rules: most agents have no assignment, and
      // wait once. A rule change during the read makes the agents that connected earlier resolve again.
      const rulesRead = ports.store.rules.list(tenantId);
      // Thrown below, unless the registration fails, too. Promise.all would take more than both.
      rulesRead.catch(ignore);
      return connectToAssignment(
        state,
        stream,
        { registration: await registered, rules: await rulesRead },
        context,
      );
    },

    disconnect(state, { connectionId }) {
      if (state.connections) state.connections = kept(state.connections, ({ id }) => id !== connectionId);
      return { reply: null };
    },

    async resolve(state, body, context) {
      const { key, ports, now } = context;
      const parts = readKey(key);
      const { tenantId, env, agentId } = parts;
      const before = state.effective;
      const registration = await ports.store.agents.get(tenantId, agentId);
      const rules = isAssigned(registration) ? [] : await ports.store.rules.list(tenantId);
      const next = resolve(state, registration, rules, parts, context);
      state.effective = next;
      // A stream may be open that was announced neither here nor to the environment since they moved.
      const seenHere =
        registration?.lastEnv === env && (registration.lastSeenAt ?? 0) >= now() - streamLifeMs;
      const isConnected = Boolean(state.connections) || seenHere;
      // Pinned streams receive the change too, but keep their bundle. A new activation does not know which bundle
      // its streams follow, so it announces the bundle again.
      const hasMoved = before?.bundleName !== next.bundleName;
      const changed = before === null || (hasMoved && isConnected && state.connections !== null);
      const environment = environmentKey(tenantId, env);
      const onward = body?.onward ? [tellTo('environment', environment, 'rulesChanged', { rest: true })] : [];
      if (!changed) return { reply: next, tells: onward };
      return { reply: next, ...moveStreams(next, isConnected, context, onward) };
    },

    async report(_state, { bundleName, policyVersion, at }, { key, ports, now }) {
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

  idle({ connections }, now) {
    for (let one = connections; one; one = one.next) if (!isOver(one, now)) return false;
    return true;
  },
});

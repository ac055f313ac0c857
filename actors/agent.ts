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
  /** Absent for a stream without tags: nearly all are, and share the agent's result. */
  readonly own?: OwnResult;
}

/** The tags of a stream, which overlay the registration's, and the bundle that it follows by them. */
interface OwnResult {
  readonly tags: Tags;
  effective: Resolution;
}

/** Small, because every connected agent has one. */
interface State {
  /** The newest connection that is not pinned. */
  connections: Connection | null;
  pinned: Connection | null;
  /** Bundle that unpinned streams without tags follow; null before this activation has read it. */
  effective: Resolution | null;
}

const noTags: Tags = {};

type Registered = { readonly bundleName: string | null; readonly tags: Tags } | null;

/** An agent that is assigned a bundle itself: no rules are read for it. */
const isAssigned = (registration: Registered): boolean => (registration?.bundleName ?? null) !== null;

/** The connections that `stays` holds for. */
function kept(first: Connection | null, stays: (one: Connection) => boolean): Connection | null {
  let newest = first;
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
  tags: Tags,
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

/** The connection of a stream, before those of the list that stay beside it. */
function joined(
  first: Connection | null,
  { connectionId: id, at }: AgentMessages['connect']['body'],
  now: number,
  own?: OwnResult,
): Connection {
  const next = kept(first, (one) => one.id !== id && !isOver(one, now));
  const openedAt = Math.floor(at / 1000);
  return own ? { id, openedAt, next, own } : { id, openedAt, next };
}

/**
 * Replies with the bundle of a stream, and reports the version that it runs. Apart from `connect`, all of which an
 * agent's actor keeps while it waits.
 */
function connected(
  { policyVersion, at }: AgentMessages['connect']['body'],
  resolution: Resolution,
  { key, now, epoch }: ActorContext<ActorPorts>,
): Outcome<AgentMessages['connect']['reply']> {
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
  const tags = Object.keys(stream.tags).length === 0 ? noTags : stream.tags;
  const next = resolve(tags, registration, rules, readKey(context.key), context);
  const now = context.now();
  const outcome = connected(stream, next, context);
  if (tags !== noTags) {
    state.connections = joined(state.connections, stream, now, { tags, effective: next });
    return outcome;
  }
  const before = state.effective;
  state.effective = next;
  state.connections = joined(state.connections, stream, now);
  // A `resolve` that follows a change of rules or of the assignment finds no difference any more.
  if (before === null || before.bundleName === next.bundleName) return outcome;
  const others = openStreams(state, now).filter(({ id }) => id !== stream.connectionId);
  const moved = others.filter(({ own }) => !own);
  if (moved.length === 0) return outcome;
  const some = moved.length < others.length && { connectionIds: moved.map(({ id }) => id) };
  return { ...outcome, ...moveStreams([{ resolution: next, ...some }], true, context, outcome.tells) };
}

/** The streams that are not pinned, the newest first. */
function openStreams({ connections }: State, now: number): readonly Connection[] {
  const open: Connection[] = [];
  for (let one = connections; one; one = one.next) if (!isOver(one, now)) open.push(one);
  return open;
}

/** Streams that follow another bundle than before. */
interface Move {
  readonly resolution: Resolution;
  /** Absent: all streams of the agent. */
  readonly connectionIds?: readonly string[];
}

/**
 * Resolves for each stream, and returns the moves of those whose result changed.
 * @param before the result for streams without tags; null: unknown
 */
function resolveStreams(
  open: readonly Connection[],
  before: Resolution | null,
  resolveFor: (tags: Tags) => Resolution,
): readonly Move[] {
  const next = resolveFor(noTags);
  const moves = new Map<
    string | null,
    { readonly resolution: Resolution; readonly connectionIds: string[] }
  >();
  let moved = 0;
  for (const { id, own } of open) {
    const earlier = own ? own.effective : before;
    const resolution = own ? resolveFor(own.tags) : next;
    if (own) own.effective = resolution;
    if (earlier?.bundleName === resolution.bundleName) continue;
    moved++;
    const move = moves.get(resolution.bundleName) ?? { resolution, connectionIds: [] };
    moves.set(resolution.bundleName, move);
    move.connectionIds.push(id);
  }
  const [first] = moves.values();
  return first && moves.size === 1 && moved === open.length
    ? [{ resolution: first.resolution }]
    : [...moves.values()];
}

/** Moves streams of the agent that are not pinned to other bundles, `onward` after them. */
function moveStreams(
  moves: readonly Move[],
  isConnected: boolean,
  { key, now, epoch }: ActorContext<ActorPorts>,
  onward: readonly Tell[] = [],
): Effects {
  const { tenantId, env, agentId } = readKey(key);
  const resolvedAt = { epoch, at: now() };
  return {
    announcements: moves.map(({ resolution: { bundleName, source }, connectionIds }) => ({
      kind: 'agentReassigned',
      ...{ tenantId, env, agentId, bundleName, source },
      ...(connectionIds && { connectionIds }),
    })),
    tells: [
      ...moves.map(({ resolution: { bundleName }, connectionIds }) =>
        tellTo('environment', environmentKey(tenantId, env), 'retarget', {
          ...{ agentId, bundleName, connected: isConnected, resolvedAt },
          ...(connectionIds && { connectionIds }),
        }),
      ),
      ...onward,
    ],
  };
}

export const agent = actorKind<AgentMessages, State, ActorPorts>({
  kind: 'agent',

  activate: () => ({ connections: null, pinned: null, effective: null }),

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
        state.pinned = joined(state.pinned, stream, context.now());
        return connected(stream, byName(stream.requested), context);
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
      const stays = ({ id }: Connection): boolean => id !== connectionId;
      state.connections = kept(state.connections, stays);
      state.pinned = kept(state.pinned, stays);
      return { reply: null };
    },

    async resolve(state, body, context) {
      const { key, ports, now } = context;
      const parts = readKey(key);
      const { tenantId, env, agentId } = parts;
      const registration = await ports.store.agents.get(tenantId, agentId);
      const rules = isAssigned(registration) ? [] : await ports.store.rules.list(tenantId);
      const resolveFor = (tags: Tags) => resolve(tags, registration, rules, parts, context);
      const before = state.effective;
      const next = resolveFor(noTags);
      state.effective = next;
      const open = openStreams(state, now());
      const environment = environmentKey(tenantId, env);
      const onward = body?.onward ? [tellTo('environment', environment, 'rulesChanged', { rest: true })] : [];
      // Pinned streams receive the change too, but keep their bundle. A new activation does not know which bundle
      // its streams follow, so it announces the bundle again.
      const isOfPinned = before === null || (state.pinned !== null && before.bundleName !== next.bundleName);
      const ofNone = isOfPinned ? [{ resolution: next }] : [];
      const moves = open.length > 0 ? resolveStreams(open, before, resolveFor) : ofNone;
      const reply = open[0]?.own?.effective ?? next;
      if (moves.length === 0) return { reply, tells: onward };
      // A stream may be open that was announced neither here nor to the environment since they moved.
      const seenHere =
        registration?.lastEnv === env && (registration.lastSeenAt ?? 0) >= now() - streamLifeMs;
      const isConnected = open.length > 0 || state.pinned !== null || seenHere;
      return { reply, ...moveStreams(moves, isConnected, context, onward) };
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

  idle({ connections, pinned }, now) {
    const stays = (one: Connection): boolean => !isOver(one, now);
    return kept(connections, stays) === null && kept(pinned, stays) === null;
  },
});

// The environment actor: orders deployments and approvals of a tenant's environment; knows who is connected and who
// drifts. Keeps promise P8.

import { type Deployment, deploymentSubject, deploymentTags } from '../src/deployment/record.ts';
import type { Announcement, Announcements } from '../src/shared/announcement.ts';
import type { Env } from '../src/shared/ids.ts';
import { requireMatch } from '../src/shared/if-match.ts';
import {
  announce,
  decide,
  expire,
  expireDue,
  findRepeated,
  isApprovalTimer,
  loadPending,
  type Pending,
  remove,
  request,
} from './approvals.ts';
import { advance, allAttested, missingDeployments } from './current-deployments.ts';
import { namedActor, undeployNote } from './deployment-notes.ts';
import { FleetWatch, fleetTimer } from './fleet-watch.ts';
import type { ActorPorts } from './ports.ts';
import { agentKey, type EnvironmentMessages, readKey, streamLifeMs, tellTo } from './protocol.ts';
import { maxAbsent, Roster } from './roster.ts';
import { followedBundles } from './roster-matrix.ts';
import type { ActorContext, Effects } from './runtime/define.ts';
import { actorKind } from './runtime/kind.ts';
import { deployedYaml, signAndDeploy } from './signing.ts';
import { historyTimer, StreamHistory } from './stream-history.ts';

interface State {
  readonly tenantId: string;
  readonly env: Env;
  /** The current deployment of each bundle. */
  readonly current: Map<string, Deployment>;
  readonly pending: Pending;
  readonly roster: Roster;
  readonly fleet: FleetWatch;
  readonly history: StreamHistory;
  /** Bundles whose deployment was recent when this activation began, still to be announced again. */
  readonly toAnnounce: Set<string>;
  /** Agents still to be resolved again. */
  readonly toResolve: Set<string>;
  rulesChangedAt: number;
}

type Context = ActorContext<ActorPorts>;

/** Bundles announced again in one go: each is up to 1.4 MB of text in memory. */
const announceAtOnce = 8;
/** Agents that resolve in one go: each reads the store. The last one of a group sends word that the next group may. */
const resolveAtOnce = 200;
/** Without that word it goes on after this time. */
const resolveLateMs = 5000;
/**
 * How long after a deployment a new activation announces it again, in case that was not done: longer than an outage
 * usually lasts, shorter than names are remembered.
 */
const announceAgainMs = 15 * 60_000;
const pruneEveryMs = 10 * 60_000;
/** Streams that have been open for so long are stored before they end. */
const openSinceMs = 60_000;
/**
 * A connection this much younger than a change of rules may still have been resolved by the old ones (clocks of two
 * nodes).
 */
const clockSlackMs = 5000;

const timers = { announce: 'announce', resolve: 'resolve', prune: 'prune' } as const;

/** @throws HubError changed unless the environment runs what the request replaces. A repeat of a deployment passes. */
function requireRunning(
  { env, current }: State,
  bundleName: string,
  ifMatch: readonly string[] | undefined,
  id: string | null,
): void {
  const running = current.get(bundleName);
  if (ifMatch === undefined || (running && running.id === id)) return;
  requireMatch(ifMatch, running ? deploymentTags(running) : [], deploymentSubject(env, bundleName));
}

/** True when another deployment of the bundle, or none, is the current one. */
async function isOver({ ports }: Context, { id, tenantId, env, bundleName }: Deployment): Promise<boolean> {
  return (await ports.store.deployments.getCurrent(tenantId, env, bundleName))?.id !== id;
}

/** Announcements of the current deployments of these bundles, with the bytes of each. */
async function announcementsOf(
  { current }: State,
  names: readonly string[],
  { ports }: Context,
  announce: (deployed: Announcements['bundleDeployed']) => Announcement,
): Promise<Announcement[]> {
  const announcements: Announcement[] = [];
  for (const name of names) {
    const deployment = current.get(name);
    if (!deployment) continue;
    const yaml = await deployedYaml(ports, deployment);
    announcements.push(announce(await deployedBytes(ports, deployment, yaml)));
  }
  return announcements;
}

/** A deployment with all that its clients check it by. */
async function deployedBytes(ports: ActorPorts, deployment: Deployment, yaml: Uint8Array) {
  const successions = await ports.store.signing.listSuccessions(deployment.tenantId);
  return { deployment, yaml, successions };
}

async function announceRecent(state: State, context: Context): Promise<Effects> {
  const names = [...state.toAnnounce].slice(0, announceAtOnce);
  const announcements = await announcementsOf(state, names, context, (deployed) => ({
    kind: 'bundleDeployed',
    ...deployed,
  }));
  for (const name of names) state.toAnnounce.delete(name);
  if (state.toAnnounce.size > 0) context.setTimer(timers.announce, context.now());
  return { announcements };
}

function resolveSome(state: State, context: Context): Effects {
  const ids = [...state.toResolve].slice(0, resolveAtOnce);
  for (const id of ids) state.toResolve.delete(id);
  const last = state.toResolve.size > 0 ? ids.at(-1) : undefined;
  if (last === undefined) context.clearTimer(timers.resolve);
  else context.setTimer(timers.resolve, context.now() + resolveLateMs);
  const body = (id: string) => (id === last ? ({ onward: true } as const) : null);
  return {
    tells: ids.map((id) => tellTo('agent', agentKey(state.tenantId, state.env, id), 'resolve', body(id))),
  };
}

/** Forgets streams whose life is over, and has the store learn of ends and of those that have been open for a while. */
function pruneStreams({ roster, history }: State, context: Context): void {
  const [now, { isGone }] = [context.now(), context.ports];
  roster.prune(now - streamLifeMs, isGone, now, (agentId, stream) =>
    history.left(agentId, stream, roster.streamsOf(agentId, 1, isGone).streams, context, false),
  );
  history.sweep(roster, isGone, now - openSinceMs, context);
}

export const environment = actorKind<EnvironmentMessages, State, ActorPorts>({
  kind: 'environment',

  async activate(context) {
    const { tenantId, env } = readKey(context.key);
    const { store } = context.ports;
    const [deployed, pending, reports, open] = await Promise.all([
      store.deployments.listCurrent(tenantId, env),
      loadPending(tenantId, env, context),
      store.agents.listReports(tenantId, env, maxAbsent),
      store.agentStreams.listOpen(tenantId, env, 1, null),
    ]);
    const history = new StreamHistory(tenantId, env);
    if (open.length > 0) history.takeOver(context);
    const current = await allAttested(deployed, context.ports);
    const roster = new Roster();
    for (const report of reports) roster.reportVersion(report);
    // Recent deployments may be unannounced: an owner may have died, or lost the bus, after storing one.
    const since = context.now() - announceAgainMs;
    const recent = current.filter(({ createdAt }) => createdAt >= since).map(({ bundleName }) => bundleName);
    if (recent.length > 0) context.setTimer(timers.announce, context.now());
    return {
      tenantId,
      env,
      current: new Map(current.map((deployment) => [deployment.bundleName, deployment])),
      pending,
      roster,
      fleet: new FleetWatch(context.now()),
      history,
      toAnnounce: new Set(recent),
      toResolve: new Set(),
      rulesChangedAt: 0,
    };
  },

  onActivate: ({ tenantId, env }) => ({ control: [{ kind: 'roster_wanted', tenantId, env }] }),

  handlers: {
    async deploy(
      state,
      { id, bundleName, version, deployedBy, forced, reason, documentKind, actor, ifMatch },
      context,
    ) {
      requireRunning(state, bundleName, ifMatch, id);
      const { tenantId, env, current } = state;
      const createdAt = context.now();
      const notEnded = { undeployedAt: null, undeployedBy: null };
      const about = { deployedBy, createdAt, forced, reason, documentKind, ...notEnded };
      const deploymentRequest = { id, tenantId, env, bundleName, version, ...about };
      const { deployment, yaml, repeated } = await signAndDeploy(
        context.ports,
        deploymentRequest,
        context.epoch,
        actor,
      );
      // A late repeat of an older deployment must not look like a new one, nor bring back what was taken away since.
      if (repeated && (await isOver(context, deployment))) return { reply: deployment };
      const before = current.get(bundleName);
      if (!advance(current, deployment)) return { reply: deployment };
      state.fleet.changed(state, context);
      const announced = await deployedBytes(context.ports, deployment, yaml);
      const previousVersion = before && before.id !== deployment.id ? before.version : null;
      return {
        reply: deployment,
        announcements: [{ kind: 'bundleDeployed', ...announced, previousVersion, acceptedAt: createdAt }],
      };
    },

    async undeploy(state, { bundleName, undeployedBy, actor, ifMatch }, context) {
      requireRunning(state, bundleName, ifMatch, null);
      const { tenantId, env, current } = state;
      const { store, secrets } = context.ports;
      const note = undeployNote(
        { tenantId, env, bundleName, at: context.now(), id: secrets.uuid() },
        actor ?? namedActor(undeployedBy),
      );
      const { deployments } = store.noting({ note, fromAnswer: { version: 'version' } });
      const end = { at: context.now(), by: undeployedBy };
      const ended = await deployments.undeploy(tenantId, env, bundleName, context.epoch, end);
      current.delete(bundleName);
      state.fleet.changed(state, context);
      if (!ended) return { reply: null };
      return {
        reply: ended,
        announcements: [{ kind: 'bundleUndeployed', deployment: ended, undeployedBy }],
      };
    },

    async reannounce(state, body, context) {
      const { tenantId, env } = state;
      if (body === null) {
        const current = await context.ports.store.deployments.listCurrent(tenantId, env);
        state.current.clear();
        for (const deployment of current) state.current.set(deployment.bundleName, deployment);
        state.fleet.changed(state, context);
      }
      const left = [...state.current.keys()].filter((name) => body === null || name > body.after).sort();
      const names = left.slice(0, announceAtOnce);
      const after = left.length > names.length ? names.at(-1) : undefined;
      const announcements = await announcementsOf(state, names, context, (deployed) => ({
        kind: 'deploymentResigned',
        ...deployed,
      }));
      // A message carries the rest, because it outlives this activation.
      if (after === undefined) return { reply: null, announcements };
      const rest = tellTo('environment', context.key, 'reannounce', { after });
      return { reply: null, announcements, tells: [rest] };
    },

    requestApproval({ pending, roster, current }, { approval, fingerprint, keyId }, context) {
      const { agentId } = approval;
      const follows = roster.stateOf({ agentId, bundleName: null }, current, context.ports.isGone).bundleName;
      const namedApproval = { ...approval, rulesetName: approval.rulesetName ?? follows };
      return request(pending, namedApproval, context, fingerprint, keyId);
    },
    findRepeatedApproval: async ({ pending }, { fingerprint }, context) => ({
      reply: await findRepeated(pending, fingerprint, context),
    }),
    async approvalRead({ pending }, { id }) {
      pending.recent.deleteWhere((recentId) => recentId === id);
      return { reply: null };
    },
    decideApproval: ({ pending }, { id, decision, actor }, context) =>
      decide(pending, id, decision, context, actor),
    expireApproval: ({ pending }, { id }, context) => expire(pending, id, context),
    announceApproval: ({ pending }, { id }, context) => announce(pending, id, context),
    removeApproval: ({ pending }, { id }, context) => remove(pending, id, context),

    join(state, notice, context) {
      const { roster, tenantId, env } = state;
      if (roster.empty) context.setTimer(timers.prune, context.now() + pruneEveryMs);
      const { agentId, pinned, connectedAt, policyVersion } = notice;
      const bundleName = roster.join(notice, context.now());
      state.history.joined(notice);
      const at = Math.min(connectedAt, context.now());
      if (policyVersion) roster.reportVersion({ agentId, bundleName, policyVersion, at });
      state.fleet.changed(state, context);
      const stale = !pinned && connectedAt <= state.rulesChangedAt + clockSlackMs;
      return {
        reply: { catchUp: missingDeployments(state.current, bundleName, policyVersion), bundleName },
        tells: stale ? [tellTo('agent', agentKey(tenantId, env, agentId), 'resolve', null)] : [],
      };
    },

    leave(state, { agentId, connectionId }, context) {
      const { roster, fleet, history } = state;
      const stream = roster.leave(agentId, connectionId);
      history.left(agentId, stream, roster.streamsOf(agentId, 1, context.ports.isGone).streams, context);
      fleet.changed(state, context);
      if (roster.empty) context.clearTimer(timers.prune);
      return { reply: null };
    },

    fetched(state, fetch, context) {
      if (state.roster.fetched(fetch, context.now())) state.fleet.changed(state, context);
      return { reply: null };
    },

    async retarget(state, assignment, context) {
      const { agentId, bundleName } = assignment;
      const hasChanged = state.roster.retarget(assignment, context.now());
      if (hasChanged) state.fleet.changed(state, context);
      const names = hasChanged && bundleName !== null ? [bundleName] : [];
      const announcements = await announcementsOf(state, names, context, (deployed) => ({
        kind: 'deploymentDue',
        ...deployed,
        agentId,
      }));
      return { reply: null, announcements };
    },

    reportVersion(state, report, context) {
      const changed = state.roster.reportVersion({ ...report, at: Math.min(report.at, context.now()) });
      if (changed) state.fleet.changed(state, context);
      return { reply: null };
    },

    reportVersions(state, { reports }, context) {
      const now = context.now();
      let changed = false;
      for (const report of reports) {
        changed = state.roster.reportVersion({ ...report, at: Math.min(report.at, now) }) || changed;
      }
      if (changed) state.fleet.changed(state, context);
      return { reply: null };
    },

    async rulesChanged(state, body, context) {
      // An activation that knows of no change cannot know what is left of it.
      if (body === null || state.rulesChangedAt === 0) {
        state.rulesChangedAt = context.now();
        for (const id of state.roster.assignable()) state.toResolve.add(id);
      }
      return { reply: null, ...resolveSome(state, context) };
    },

    async status({ env, roster, current }, request, { ports }) {
      return { reply: roster.status(env, current, request, ports.isGone) };
    },

    async streamsOf({ roster, history }, { agentId, limit }, { ports }) {
      const { total, streams } = roster.streamsOf(agentId, limit, ports.isGone);
      const begun = streams.map((stream) => ({ ...stream, startedAt: history.startOf(stream) }));
      return { reply: { total, streams: begun, ended: history.ofAgent(agentId) } };
    },

    async rollout({ roster }, request, { ports }) {
      return { reply: roster.rollout(request, ports.isGone) };
    },

    async fleet({ roster, current }, _body, { ports }) {
      return { reply: roster.numbers(current, ports.isGone) };
    },

    async followed({ roster, current }, _body, { ports }) {
      return { reply: followedBundles(roster, current, ports.isGone) };
    },

    async streamsByKey({ roster }, _body, { ports }) {
      return { reply: roster.streamsByKey(ports.isGone) };
    },

    async agentStates({ roster, current }, { agents }, { ports }) {
      return { reply: agents.map((agent) => roster.stateOf(agent, current, ports.isGone)) };
    },
  },

  async onTimer(state, name, context) {
    if (isApprovalTimer(name)) return expireDue(state.pending, context);
    if (name === timers.announce) return announceRecent(state, context);
    if (name === fleetTimer) return state.fleet.count(state, context);
    if (name === timers.resolve) return resolveSome(state, context);
    if (name === historyTimer) {
      await state.history.store(state.roster, context);
      return {};
    }
    pruneStreams(state, context);
    state.fleet.changed(state, context);
    if (!state.roster.empty) context.setTimer(timers.prune, context.now() + pruneEveryMs);
    return {};
  },

  patient: ['join'],

  idle: ({ roster, history }) => roster.empty && history.idle,
});

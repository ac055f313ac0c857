// Agents that are connected to an environment, with the versions that they run. In memory: edges announce their streams
// again to a new activation.

import {
  type FleetNumbers,
  maxReportedBundles,
  type OpenStream,
  type Reported,
} from '../src/agent/record.ts';
import {
  type FetchedRuleset,
  fetchedMs,
  fetchedName,
  mergedFetches,
} from '../src/agent/rules/fetched-ruleset.ts';
import { FirstOf } from '../src/shared/concurrency/first-of.ts';
import { keepNewest } from '../src/shared/concurrency/keep-newest.ts';
import { SharedTexts } from '../src/shared/concurrency/shared-texts.ts';
import type { Env } from '../src/shared/ids.ts';
import type {
  AgentState,
  Rollout,
  RolloutRequest,
  RosterPage,
  StatusEntry,
  StatusPlace,
  StatusRequest,
  StreamNotice,
} from './protocol.ts';
import {
  type Assignment,
  type CurrentVersions,
  comparePlaces,
  compareTexts,
  driftSince,
  followed,
  type IsGone,
  isBefore,
  kindToLoad,
  newest,
  newestOf,
  RosterAgent,
  type RosterBounds,
  RosterStream,
  SharedRosterTerms,
  statusOf,
} from './roster-agent.ts';

/** Agents without a stream whose versions are remembered. */
export const maxAbsent = 20_000;

/** Ids of API keys of which one copy is kept. */
const maxKeyIds = 10_000;
/** API keys per agent whose fetches are remembered. */
const maxFetches = 4;
/** Versions that a roll-out lists. */
const maxVersions = 50;

/** Joining, leaving and reporting cost the same whatever the number of agents. */
export class Roster {
  readonly #connected = new Map<string, RosterAgent>();
  readonly #absent = new Map<string, RosterAgent>();
  readonly #terms = new SharedRosterTerms();
  readonly #keyIds = new SharedTexts(maxKeyIds);
  /** Nodes with streams that were gone at the last pruning. */
  #goneNodes = new Set<string>();
  /** Ids of the streams of nodes that have been gone for longer. */
  readonly #lost = new Set<string>();
  readonly #absentCap: number;
  readonly #versionsCap: number;

  constructor(bounds: RosterBounds = {}) {
    this.#absentCap = bounds.absent ?? maxAbsent;
    this.#versionsCap = bounds.versions ?? maxReportedBundles;
  }

  /** True without an open stream. */
  get empty(): boolean {
    return this.#connected.size === 0;
  }

  /**
   * Adds or renews a stream; returns the bundle it follows, which a retarget that came later than the connection may
   * have changed.
   */
  join(notice: StreamNotice, now = 0): string | null {
    let agent = this.#connected.get(notice.agentId);
    if (!agent) {
      agent = this.#absent.get(notice.agentId);
      if (agent) this.#absent.delete(notice.agentId);
      else agent = new RosterAgent();
      this.#connected.set(notice.agentId, agent);
    }
    const { pinned, connectedAt } = notice;
    const moved = !pinned && agent.assigned && connectedAt <= agent.assigned.at ? agent.assigned : notice;
    const id = notice.connectionId;
    const terms = this.#terms.of(notice);
    const stream = new RosterStream(id, moved.bundleName, connectedAt, terms);
    agent.streams = agent.streams.filter((one) => one.id !== id).concat(stream);
    const { keyId } = terms;
    const { fetched, agentId } = notice;
    if (fetched) this.fetched({ agentId, keyId, fetched }, now);
    return moved.bundleName;
  }

  /** Remembers what an agent fetched. True when that changes what a connected agent is taken to run. */
  fetched(
    { agentId, keyId, fetched }: { agentId: string; keyId: string; fetched: FetchedRuleset },
    now: number,
  ): boolean {
    const agent = this.#agent(agentId);
    const before = agent.fetches.find((one) => one.keyId === keyId);
    const merged = mergedFetches(before?.fetched ?? null, fetched);
    const bundleName = fetchedName(merged, now);
    const others = agent.fetches.filter((one) => one !== before);
    agent.fetches = [{ keyId: this.#keyIds.shared(keyId), fetched: merged, bundleName }, ...others].slice(
      0,
      maxFetches,
    );
    return agent.streams.length > 0 && (before?.bundleName ?? null) !== bundleName;
  }

  /** Returns the stream that left; undefined if it is not in the roster. */
  leave(agentId: string, connectionId: string): RosterStream | undefined {
    const agent = this.#connected.get(agentId);
    const stream = agent?.streams.find(({ id }) => id === connectionId);
    if (!agent || !stream) return undefined;
    this.#lost.delete(connectionId);
    agent.streams = agent.streams.filter((one) => one !== stream);
    if (agent.streams.length === 0) this.#part(agentId, agent);
    return stream;
  }

  /**
   * Forgets streams from before `before`, those of nodes that were gone at three calls in a row, and old fetches. A
   * node that hung or lost Redis comes back with its streams, and does not announce them again.
   * @param onEnd called for a stream that is forgotten, or whose node was gone at two calls in a row; again only if the
   *   node came back
   */
  prune(
    before: number,
    isGone: IsGone = () => false,
    now = before,
    onEnd: (agentId: string, stream: RosterStream) => void = () => undefined,
  ): void {
    const goneBefore = this.#goneNodes;
    this.#goneNodes = new Set();
    for (const [agentId, agent] of this.#connected) {
      if (agent.fetches.length > 0) {
        agent.fetches = agent.fetches
          .filter(({ fetched }) => now < fetched.at + fetchedMs)
          .map((one) => ({ ...one, bundleName: fetchedName(one.fetched, now) }));
      }
      const ended: RosterStream[] = [];
      const kept = agent.streams.filter((stream) => {
        const isNodeGone = isGone(stream.node);
        if (isNodeGone) this.#goneNodes.add(stream.node);
        const isLost = isNodeGone && goneBefore.has(stream.node);
        const wasLost = this.#lost.delete(stream.id);
        const stays = stream.connectedAt >= before && !(isLost && wasLost);
        if (isLost && stays) this.#lost.add(stream.id);
        if (!wasLost && (isLost || !stays)) ended.push(stream);
        return stays;
      });
      if (kept.length < agent.streams.length) {
        agent.streams = kept;
        if (kept.length === 0) this.#part(agentId, agent);
      }
      for (const stream of ended) onEnd(agentId, stream);
    }
  }

  /**
   * Makes the agent's streams that are not pinned follow the bundle, unless it was resolved before the last assignment.
   * True when the agent must receive its current deployment. Also true when a stream follows the bundle already, or is
   * not known here, but this roster did not receive the assignment. An earlier activation may have received the
   * assignment, and ended before the agent received the deployment.
   */
  retarget({ agentId, bundleName, connected = false, resolvedAt }: Assignment, now: number): boolean {
    const agent = this.#agent(agentId);
    const before = agent.assigned;
    if (before && isBefore(resolvedAt, before.resolvedAt)) return false;
    agent.assigned = { bundleName, at: now, resolvedAt };
    let changed = false;
    for (const stream of agent.streams) {
      if (stream.pinned || stream.bundleName === bundleName) continue;
      stream.bundleName = bundleName;
      changed = true;
    }
    if (changed) return true;
    const follows = agent.streams.length === 0 ? connected : agent.streams.some(({ pinned }) => !pinned);
    return follows && before?.bundleName !== bundleName;
  }

  /**
   * Records a version; one older than what is known changes nothing. True when it is another one, of an agent that is
   * connected.
   */
  reportVersion(report: Reported): boolean {
    const agent = this.#agent(report.agentId);
    const { bundleName, policyVersion, at } = report;
    const before = agent.versions.find((version) => version.bundleName === bundleName);
    if (before && before.at > at) return false;
    const since = before?.policyVersion === policyVersion ? (before.since ?? before.at) : at;
    const reported = { bundleName, policyVersion, at };
    const version = since === at ? reported : { ...reported, since };
    if (before) agent.versions = agent.versions.map((one) => (one === before ? version : one));
    else agent.versions = agent.versions.concat(version);
    if (agent.versions.length > this.#versionsCap) {
      const oldest = agent.versions.reduce((a, b) => (b.at < a.at ? b : a));
      agent.versions = agent.versions.filter((one) => one !== oldest);
    }
    return agent.streams.length > 0 && before?.policyVersion !== policyVersion;
  }

  /** Connected agents with a stream that follows assignments. */
  assignable(): string[] {
    const ids: string[] = [];
    for (const [agentId, agent] of this.#connected) {
      if (agent.streams.some(({ pinned }) => !pinned)) ids.push(agentId);
    }
    return ids;
  }

  /**
   * One entry per stream, by agent id then time of connection; none for a stream of a node that is gone. Takes little
   * more time than to look at each agent once, whatever the page.
   */
  status(
    env: Env,
    deployed: CurrentVersions,
    { bundleName, limit, after }: StatusRequest,
    isGone: IsGone = () => false,
  ): RosterPage {
    const first = new FirstOf<StatusPlace>(limit + 1, comparePlaces);
    for (const [agentId, agent] of this.#connected) {
      if (after !== null && agentId < after.agentId) continue;
      for (const stream of agent.streams) {
        if (bundleName !== null && followed(agent, stream) !== bundleName) continue;
        if (isGone(stream.node)) continue;
        const place = { agentId, connectedAt: stream.connectedAt, streamId: stream.id };
        if (after !== null && comparePlaces(place, after) <= 0) continue;
        first.add(place);
      }
    }
    const sortedFirst = first.sorted();
    const firstStreams = sortedFirst.slice(0, limit);
    const last = sortedFirst.length > limit ? firstStreams.at(-1) : undefined;
    return { entries: firstStreams.map((place) => this.#entry(env, deployed, place)), next: last ?? null };
  }

  /** The open streams of an agent, the newest first; none of a node that is gone. */
  streamsOf(
    agentId: string,
    limit: number,
    isGone: IsGone = () => false,
  ): { readonly total: number; readonly streams: readonly Omit<OpenStream, 'startedAt'>[] } {
    const agent = this.#connected.get(agentId);
    const open = agent?.streams.filter(({ node }) => !isGone(node)) ?? [];
    const newest = [...open].sort((a, b) => b.connectedAt - a.connectedAt || compareTexts(a.id, b.id));
    const streams = newest
      .slice(0, limit)
      .map((stream) => ({ ...stream.fields, bundleName: agent ? followed(agent, stream) : null }));
    return { total: open.length, streams };
  }

  /** How an agent stands; `bundleName` counts when no stream of it is open. */
  stateOf(
    { agentId, bundleName }: { readonly agentId: string; readonly bundleName: string | null },
    deployed: CurrentVersions,
    isGone: IsGone = () => false,
  ): AgentState {
    const agent = this.#connected.get(agentId) ?? this.#absent.get(agentId);
    const streams = agent?.streams.filter(({ node }) => !isGone(node)) ?? [];
    const last = newestOf(streams, isGone);
    const follows = last === null || !agent ? bundleName : followed(agent, last);
    const policyVersion = newest(agent?.versions ?? [], follows);
    const status = statusOf(policyVersion, follows, deployed);
    const running = [...deployed].find(
      ([name, { revisionHash }]) => revisionHash === policyVersion && (follows === null || name === follows),
    );
    return {
      streams: streams.length,
      connectedAt: last?.connectedAt ?? null,
      bundleName: follows,
      policyVersion,
      version: running?.[1].version ?? null,
      status,
      documentKind: kindToLoad(policyVersion, follows, deployed),
      driftSince: agent ? driftSince(agent, follows, deployed) : null,
    };
  }

  /** How far a document has come. Looks at each connected agent once. */
  rollout({ bundleName, revisionHash, limit, after }: RolloutRequest, isGone: IsGone = () => false): Rollout {
    const counts = new Map<string, number>();
    const rest = new FirstOf<Rollout['rest'][number]>(limit + 1, (a, b) =>
      compareTexts(a.agentId, b.agentId),
    );
    let connected = 0;
    for (const [agentId, agent] of this.#connected) {
      const streams = agent.streams.filter(
        (stream) => !isGone(stream.node) && [null, bundleName].includes(followed(agent, stream)),
      );
      const connectedAt = streams.at(-1)?.connectedAt;
      if (connectedAt === undefined) continue;
      connected++;
      const policyVersion = newest(agent.versions, bundleName);
      if (policyVersion !== null) counts.set(policyVersion, (counts.get(policyVersion) ?? 0) + 1);
      if (policyVersion === revisionHash || (after !== null && compareTexts(agentId, after) <= 0)) continue;
      rest.add({ agentId, policyVersion, connectedAt });
    }
    const running = counts.get(revisionHash) ?? 0;
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const versions = [...counts]
      .map(([policyVersion, agents]) => ({ policyVersion, agents }))
      .sort((a, b) => b.agents - a.agents || compareTexts(a.policyVersion, b.policyVersion))
      .slice(0, maxVersions);
    const sortedRest = rest.sorted();
    return {
      connected,
      running,
      behind: total - running,
      unknown: connected - total,
      versions,
      rest: sortedRest.slice(0, limit),
      more: sortedRest.length > limit,
    };
  }

  /** Connected agents, each by the status of its newest stream. */
  numbers(deployed: CurrentVersions, isGone: IsGone = () => false): FleetNumbers {
    const counts = { connected: 0, current: 0, drift: 0, unknown: 0 };
    for (const agent of this.#connected.values()) {
      const stream = newestOf(agent.streams, isGone);
      if (stream === null) continue;
      counts.connected++;
      const follows = followed(agent, stream);
      counts[statusOf(newest(agent.versions, follows), follows, deployed)]++;
    }
    return counts;
  }

  /** Those with a stream, streams of nodes that are gone included, by agent id. */
  connectedAgents(): Iterable<readonly [agentId: string, agent: RosterAgent]> {
    return this.#connected;
  }

  get size(): number {
    return this.#connected.size;
  }

  /** Open streams by the API key that opened them. */
  streamsByKey(isGone: IsGone = () => false): { readonly [keyId: string]: number } {
    const counts = new Map<string, number>();
    for (const { streams } of this.#connected.values()) {
      for (const { keyId, node } of streams) {
        if (!isGone(node)) counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
      }
    }
    return Object.fromEntries(counts);
  }

  #entry(env: Env, deployed: CurrentVersions, { agentId, connectedAt, streamId }: StatusPlace): StatusEntry {
    const agent = this.#connected.get(agentId);
    const stream = agent?.streams.find(({ id }) => id === streamId);
    const bundleName = agent && stream ? followed(agent, stream) : null;
    const version = newest(agent?.versions ?? [], bundleName);
    return {
      agentId,
      env,
      bundleName,
      policyVersion: version,
      status: statusOf(version, bundleName, deployed),
      connectedAt,
      documentKind: kindToLoad(version, bundleName, deployed),
    };
  }

  #agent(agentId: string): RosterAgent {
    const connected = this.#connected.get(agentId);
    if (connected) return connected;
    const agent = this.#absent.get(agentId) ?? new RosterAgent();
    this.#remember(agentId, agent);
    return agent;
  }

  #part(agentId: string, agent: RosterAgent): void {
    this.#connected.delete(agentId);
    if (agent.versions.length > 0 || agent.fetches.length > 0) this.#remember(agentId, agent);
  }

  #remember(agentId: string, agent: RosterAgent): void {
    this.#absent.delete(agentId);
    this.#absent.set(agentId, agent);
    keepNewest(this.#absent, this.#absentCap);
  }
}

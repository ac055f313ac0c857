// The fleet as a list: who is registered, what each agent should run and runs, and whether it is connected.
// Registrations come from the store, the rest from the environments' actors, some hundred agents at a time.
import { type AgentState, environmentKey } from '../../../actors/protocol.ts';
import {
  requireRole,
  requireSight,
  seesAgent,
  seesEnv,
  visibleEnvOf,
  visibleEnvs,
} from '../../shared/access.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { notFound } from '../../shared/error.ts';
import { type Env, type EnvFilter, environments } from '../../shared/ids.ts';
import type { Page } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { isUnable } from '../../shared/vocabulary.ts';
import type { AgentOrder, AgentPlace, DriftStatus, OpenStream, RegistrationSummary } from '../record.ts';
import type { Resolution } from '../rules/assignment.ts';
import type { AgentTest, QueriedAgent } from '../rules/query.ts';

export interface FleetFilter {
  /** Agents that were last seen, are connected or reported a version in this environment; null: all. */
  readonly env: Env | null;
  readonly status: DriftStatus | null;
  readonly connected: boolean | null;
  /** A tag's name, and its value unless any will do. */
  readonly tag: { readonly name: string; readonly value: string | null } | null;
  /** The bundle that it follows or should run. */
  readonly bundleName: string | null;
  /** The hash of the document that it runs. */
  readonly policyVersion?: string | null;
  /** Part of the agent id or the display name. */
  readonly search: string | null;
  /** The test of a query; null: none. */
  readonly matches?: AgentTest | null;
}

export interface FleetQuery extends FleetFilter {
  readonly order: AgentOrder;
  readonly descending: boolean;
  /** Only agents that run another document than they should, the longest first, in place of `order`. */
  readonly byDrift?: boolean;
  readonly limit: number;
  readonly after: AgentPlace | null;
}

export interface FleetAgent {
  readonly registration: RegistrationSummary;
  /** The environment that the rest is of: where it is connected, else where it was last seen. */
  readonly env: Env | null;
  readonly resolution: Resolution;
  /** Null where it was never seen. */
  readonly state: AgentState | null;
  /** True if the agent receives a document of the vocabulary that it does not speak, and keeps the one that it has. */
  readonly cannotLoad: boolean;
  /** The bundle version it runs, as far as it was deployed in the environment among the newest. */
  readonly version: number | null;
  /** The version that the environment runs under the bundle that it should run; null: none. */
  readonly wantedVersion: number | null;
}

/** An agent without the versions that only lists name. */
export type DescribedAgent = Omit<FleetAgent, 'version' | 'wantedVersion'>;

export interface FleetPage {
  readonly agents: readonly FleetAgent[];
  /**
   * Where the next page begins after the first `sent` of these agents; null when nothing is left. A page may be short,
   * or empty, before the end.
   */
  next(sent: number): AgentPlace | null;
  /** False if the time ran out before all agents were looked at. Only lists by drift are cut. */
  readonly isComplete: boolean;
}

export interface AgentStreamList {
  /** Of all environments; more than are listed where the limit is reached. */
  readonly total: number;
  readonly streams: readonly (OpenStream & { readonly env: Env })[];
}

/** Registrations looked at in one go where most may be left out. */
const portion = 500;
/** Registrations looked at for one page: what no filter of the store decides is decided here. */
const maxLookedAt = 10_000;
/** A list by drift looks at all registrations in this time. Milliseconds. */
const maxDriftMs = 6_000;
/** Deployments looked at for the version of an agent that drifts. */
const maxDeployments = 200;
/** Bundles of a page whose deployments are looked at. */
const maxBundles = 20;

/** Milliseconds for a count that a page asks again and again. */
const countMs = 1000;

type Ports = Pick<AppPorts, 'store' | 'actors' | 'ruleSets' | 'clock'>;

export class Fleet {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Null for an agent that is not registered. */
  async get(principal: Principal, agentId: string): Promise<DescribedAgent | null> {
    const registration = await this.#ports.store.agents.get(principal.tenantId, agentId);
    if (!registration || registration.retiredAt !== null) return null;
    const [fleetAgent] = await this.#describe(principal, [registration], null);
    return fleetAgent ?? null;
  }

  /** The registered agents of these that were seen, in their order. */
  ofRegistrations(
    principal: Principal,
    registrations: readonly RegistrationSummary[],
  ): Promise<readonly DescribedAgent[]> {
    return this.#describe(principal, registrations, null);
  }

  /**
   * Agents of the caller's tenant with an open stream. An environment whose node does not answer within a second counts
   * as 0.
   */
  async countConnected(principal: Principal): Promise<number> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const { actors, clock } = this.#ports;
    const visible = environments.filter((env) => seesEnv(principal, env));
    const answers = await Promise.allSettled(
      visible.map((env) => {
        const answer = actors.ask('environment', environmentKey(tenantId, env), 'fleet', null);
        return withTimeout(clock, countMs, answer, () => new Error('The environment does not answer.'));
      }),
    );
    return answers.reduce(
      (sum, answer) => sum + (answer.status === 'fulfilled' ? answer.value.connected : 0),
      0,
    );
  }

  /** The open streams of an agent on all nodes, the newest first. @throws HubError not_found */
  async streams(principal: Principal, agentId: string, limit: number): Promise<AgentStreamList> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const registration = await this.#ports.store.agents.get(tenantId, agentId);
    if (!registration) throw notFound('Agent not found.');
    const visible = environments.filter((env) => seesEnv(principal, env));
    const perEnv = await Promise.all(
      visible.map((env) =>
        this.#ports.actors.ask('environment', environmentKey(tenantId, env), 'streamsOf', { agentId, limit }),
      ),
    );
    const streams = perEnv
      .flatMap(({ streams }, i) => streams.map((one) => ({ ...one, env: visible[i] ?? 'production' })))
      .sort((a, b) => b.connectedAt - a.connectedAt);
    if (streams.length === 0 && !seesAgent(principal, registration)) throw notFound('Agent not found.');
    return { total: perEnv.reduce((sum, { total }) => sum + total, 0), streams: streams.slice(0, limit) };
  }

  async list(principal: Principal, query: FleetQuery): Promise<FleetPage> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const { order, descending, search, limit } = query;
    if (query.env !== null) requireSight(principal, query.env);
    if (query.byDrift) return this.#listByDrift(principal, query);
    const isHidden = visibleEnvs(principal) !== null;
    const placeIn = ({ agentId, ...times }: RegistrationSummary): AgentPlace => ({
      agentId,
      at: order === 'agentId' ? 0 : (times[order] ?? 0),
    });
    const matchingAgents: DescribedAgent[] = [];
    let after = query.after;
    let left = true;
    const atOnce = isOpen(query) && !isHidden ? limit : portion;
    for (let looked = 0; left && matchingAgents.length < limit && looked < maxLookedAt; ) {
      const page = { order, descending, search, limit: atOnce, after };
      const { items, more } = await this.#ports.store.agents.search(tenantId, page);
      const described = await this.#describe(principal, items, query.env);
      const visibleAgents = described.filter(({ env }) => env === null || seesEnv(principal, env));
      matchingAgents.push(...visibleAgents.filter((agent) => fits(agent, query)));
      looked += items.length;
      const last = items.at(-1);
      if (last) after = placeIn(last);
      left = more && last !== undefined;
    }
    const listedAgents = matchingAgents.slice(0, limit);
    const agents = await this.#withVersions(tenantId, listedAgents);
    return {
      agents,
      isComplete: true,
      next(sent) {
        const last = agents[sent - 1];
        if (last && (sent < agents.length || matchingAgents.length > limit))
          return placeIn(last.registration);
        return left ? after : null;
      },
    };
  }

  async #describe(
    principal: Principal,
    registrations: readonly RegistrationSummary[],
    requestedEnv: Env | null,
  ): Promise<readonly DescribedAgent[]> {
    if (registrations.length === 0) return [];
    const { tenantId } = principal;
    const rules = this.#ports.ruleSets.of(tenantId, await this.#ports.store.rules.list(tenantId));
    const resolve = ({ agentId, bundleName, tags }: RegistrationSummary, env: EnvFilter): Resolution =>
      rules.resolve({ agentId, env, explicit: bundleName, tags });
    const envs =
      requestedEnv === null ? environments.filter((env) => seesEnv(principal, env)) : [requestedEnv];
    const states = new Map<Env, readonly AgentState[]>(
      await Promise.all(
        envs.map(async (env) => {
          const agents = registrations.map((one) => ({
            agentId: one.agentId,
            bundleName: resolve(one, env).bundleName,
          }));
          const key = environmentKey(tenantId, env);
          return [env, await this.#ports.actors.ask('environment', key, 'agentStates', { agents })] as const;
        }),
      ),
    );
    return registrations.flatMap((registration, i) => {
      const stateIn = (env: Env): AgentState | null => states.get(env)?.[i] ?? null;
      const env =
        requestedEnv === null
          ? placeOf(principal, registration, stateIn)
          : isIn(requestedEnv, registration, stateIn)
            ? requestedEnv
            : null;
      if (env === null && requestedEnv !== null) return [];
      const state = env === null ? null : stateIn(env);
      const cannotLoad = state !== null && isUnable(registration, state);
      return [
        {
          registration,
          env,
          resolution: resolve(registration, env ?? visibleEnvs(principal)),
          state,
          cannotLoad,
        },
      ];
    });
  }

  /** Versions by environment, bundle and hash, of agents that run none of those that are deployed now. */
  async #versionsOf(tenantId: string, agents: readonly DescribedAgent[]) {
    const bundleKeys = new Map<string, { readonly env: Env; readonly bundleName: string }>();
    for (const { env, state } of agents) {
      if (env === null || !state?.policyVersion || state.version !== null || state.bundleName === null)
        continue;
      const { bundleName } = state;
      if (bundleKeys.size < maxBundles)
        bundleKeys.set(JSON.stringify([env, bundleName]), { env, bundleName });
    }
    const versionByKey = new Map<string, number>();
    await Promise.all(
      [...bundleKeys.values()].map(async (filter) => {
        const page = { limit: maxDeployments, offset: 0 };
        const { items } = await this.#ports.store.deployments.list(tenantId, filter, page);
        for (const { env, bundleName, revisionHash, version } of items) {
          // The newest deployment comes first, and names the document.
          const key = JSON.stringify([env, bundleName, revisionHash]);
          if (!versionByKey.has(key)) versionByKey.set(key, version);
        }
      }),
    );
    return ({ env, state }: DescribedAgent): number | null =>
      state?.version ??
      versionByKey.get(JSON.stringify([env, state?.bundleName, state?.policyVersion])) ??
      null;
  }

  async #withVersions(tenantId: string, agents: readonly DescribedAgent[]): Promise<readonly FleetAgent[]> {
    const envs = environments.filter((env) => agents.some((agent) => agent.env === env));
    const [versionOf, ...current] = await Promise.all([
      this.#versionsOf(tenantId, agents),
      ...envs.map((env) => this.#ports.store.deployments.listCurrent(tenantId, env)),
    ]);
    const deployed = current.flat();
    const wantedBy = ({ env, state }: DescribedAgent): number | null =>
      deployed.find((one) => one.env === env && one.bundleName === state?.bundleName)?.version ?? null;
    return agents.map((agent) => ({ ...agent, version: versionOf(agent), wantedVersion: wantedBy(agent) }));
  }

  async #listByDrift(principal: Principal, query: FleetQuery): Promise<FleetPage> {
    const { clock, store } = this.#ports;
    const { tenantId } = principal;
    const drifting: { readonly agent: DescribedAgent; readonly place: AgentPlace }[] = [];
    let after: AgentPlace | null = null;
    let isComplete = false;
    for (const end = clock.monotonic() + maxDriftMs; clock.monotonic() < end; ) {
      const request = {
        order: 'agentId',
        descending: false,
        search: query.search,
        limit: portion,
        after,
      } as const;
      const { items, more }: Page<RegistrationSummary> = await store.agents.search(tenantId, request);
      for (const agent of await this.#describe(principal, items, query.env)) {
        const at = agent.state?.driftSince ?? null;
        if (at === null || (agent.env !== null && !seesEnv(principal, agent.env)) || !fits(agent, query))
          continue;
        drifting.push({ agent, place: { agentId: agent.registration.agentId, at } });
      }
      const last = items.at(-1);
      isComplete = !more || !last;
      if (!more || !last) break;
      after = { agentId: last.agentId, at: 0 };
    }
    drifting.sort((a, b) => comparePlaces(a.place, b.place));
    const { after: from } = query;
    const rest = from === null ? drifting : drifting.filter(({ place }) => comparePlaces(place, from) > 0);
    const page = rest.slice(0, query.limit);
    const agents = await this.#withVersions(
      tenantId,
      page.map(({ agent }) => agent),
    );
    const next = (sent: number) => (sent < rest.length ? (page[sent - 1]?.place ?? null) : null);
    return { agents, isComplete, next };
  }
}

/** The longest drift first. */
const comparePlaces = (a: AgentPlace, b: AgentPlace): number =>
  a.at - b.at || (a.agentId < b.agentId ? -1 : a.agentId > b.agentId ? 1 : 0);

/** True when every registration that the store finds is shown. */
const isOpen = (filter: FleetFilter): boolean => {
  const { env, status, connected, tag, bundleName, policyVersion = null, matches = null } = filter;
  return [env, status, connected, tag, bundleName, policyVersion, matches].every((one) => one === null);
};

/** True for an agent that was last seen in this environment, or is known to run something there. */
function isIn(env: Env, { lastEnv }: RegistrationSummary, stateIn: (env: Env) => AgentState | null): boolean {
  const state = stateIn(env);
  return lastEnv === env || (state !== null && (state.streams > 0 || state.policyVersion !== null));
}

/**
 * The environment that an agent appears in: where it is connected, else where it was seen last, of those that the
 * principal sees. Its last one when there is none of these, and null when there is none at all.
 */
function placeOf(
  principal: Principal,
  registration: RegistrationSummary,
  stateIn: (env: Env) => AgentState | null,
): Env | null {
  const { lastEnv } = registration;
  // The states are those of visible environments.
  const isConnected = (env: Env): boolean => (stateIn(env)?.streams ?? 0) > 0;
  if (lastEnv !== null && isConnected(lastEnv)) return lastEnv;
  return environments.find(isConnected) ?? visibleEnvOf(principal, registration) ?? lastEnv;
}

const queriedAgent = ({ registration, env, resolution, state }: DescribedAgent): QueriedAgent => ({
  agentId: registration.agentId,
  displayName: registration.displayName,
  tags: registration.tags,
  env,
  bundleNames: [resolution.bundleName, state?.bundleName ?? null],
  policyVersion: state?.policyVersion ?? null,
  status: state?.status ?? 'unknown',
  isConnected: (state?.streams ?? 0) > 0,
});

function fits(agent: DescribedAgent, filter: FleetFilter): boolean {
  const { registration, resolution, state } = agent;
  const { status, connected, tag, bundleName, policyVersion = null, matches = null } = filter;
  const { tags } = registration;
  return (
    (matches === null || matches(queriedAgent(agent))) &&
    (policyVersion === null || state?.policyVersion === policyVersion) &&
    (status === null || (state?.status ?? 'unknown') === status) &&
    (connected === null || (state?.streams ?? 0) > 0 === connected) &&
    (tag === null ||
      (Object.hasOwn(tags, tag.name) && (tag.value === null || tags[tag.name] === tag.value))) &&
    (bundleName === null || resolution.bundleName === bundleName || state?.bundleName === bundleName)
  );
}

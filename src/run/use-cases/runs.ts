// Runs and agents as operators look at them: which run needs a person, which agent is well, and which document each
// runs.

import type { AgentPlace } from '../../agent/record.ts';
import { type AgentHealth, agentHealth, healthWindowMs, type RecentRun } from '../../agent/rules/health.ts';
import type { DescribedAgent, Fleet, FleetAgent } from '../../agent/use-cases/fleet.ts';
import type { RulesetVersionKey } from '../../bundle/record.ts';
import type { RulesetNames } from '../../bundle/use-cases/ruleset-names.ts';
import type { Query } from '../../event/rules/query/parse.ts';
import { listedEnvs, seesEnv } from '../../shared/access.ts';
import { scopeTest } from '../../shared/agent-scope.ts';
import { type Env, environments, isInFilter } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Run, RunFilter, RunPageRequest } from '../port.ts';
import type { RunKey, RunPlace, RunStatus } from '../record.ts';
import { narrowingOf, runQueryTest } from '../rules/query.ts';
import { runStatus, type StatusTime } from '../rules/run.ts';
import { sample } from '../rules/sample.ts';

export interface RunView {
  readonly run: Run;
  readonly status: RunStatus;
  /** The newest document that its events name; null when the tenant has none of that hash. */
  readonly ruleset: RulesetVersionKey | null;
}

export interface AgentView extends DescribedAgent {
  readonly lastEventAt: number | null;
  readonly ruleset: RulesetVersionKey | null;
  readonly health: AgentHealth;
}

export interface AgentPage extends Page<AgentView> {
  /** Number of registrations that the offset passed to reach each item, itself included: a key does not see all. */
  readonly passed: readonly number[];
  /** The same for the whole page. */
  readonly read: number;
}

export interface RunPage extends Page<RunView> {
  /** Null for a query that only a look at each run answers. */
  readonly total: number | null;
  /** The last run that was looked at, where more follow; null at the end. */
  readonly next: RunPlace | null;
}

export interface Runs {
  readonly names: RulesetNames;
  /**
   * Latest activity first. With a query, a page may be short or empty and still have a next one: the search of a page
   * ends after a second.
   */
  list(
    principal: Principal,
    filter: Omit<RunFilter, 'env'>,
    page: RunPageRequest,
    query?: Query,
  ): Promise<RunPage>;
  /** Null when there is none in the environments that the principal sees. */
  get(principal: Principal, key: RunKey): Promise<RunView | null>;
  /** Registered agents that were seen and that the principal sees, last seen first. */
  listAgents(principal: Principal, page: PageRequest): Promise<AgentPage>;
  /**
   * With its newest runs. Null when it is not registered, or was last seen in another environment than the principal's.
   * The agent of the sample run is registered nowhere and shown all the same while its run is there.
   */
  getAgent(
    principal: Principal,
    agentId: string,
  ): Promise<{ readonly agent: AgentView; readonly runs: readonly RunView[] } | null>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'settings'> & {
  readonly names: RulesetNames;
  readonly fleet: Pick<Fleet, 'get' | 'ofRegistrations'>;
};

/** Runs that the health of an agent looks at. */
const runsOfHealth = 200;
/** Runs shown beside an agent. */
const shownRuns = 10;
const registrationsAtOnce = 1_000;
const searchedAtOnce = 500;
/** Milliseconds for a page of a search. */
const searchMs = 1_000;
/** Agents whose runs are in memory at once: each may have `runsOfHealth`, and the event loop reads them in one turn. */
const viewedAtOnce = 20;

class StoredRuns implements Runs {
  readonly #ports: Ports;
  readonly names: RulesetNames;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.names = ports.names;
  }

  async list(
    principal: Principal,
    filter: Omit<RunFilter, 'env'>,
    page: RunPageRequest,
    query: Query = { terms: [] },
  ): Promise<RunPage> {
    const { envs, isWhole, statuses, ...ids } = narrowingOf(query);
    const inSight = listedEnvs(principal, null);
    const isAnyEnv = envs.length === environments.length;
    const env = isAnyEnv ? inSight : envs.filter((one) => isInFilter(inSight, one));
    const statusFilter = statuses && (filter.statuses ?? statuses).filter((one) => statuses.includes(one));
    if (env?.length === 0 || statusFilter?.length === 0)
      return { items: [], more: false, total: 0, next: null };
    const narrowed = { ...ids, ...filter, ...omitUndefined({ statuses: statusFilter }), env };
    // A filter of the request stands in place of a term about the same field.
    const isExact = isWhole && !(filter.agentId && ids.agentId) && !(filter.sessionId && ids.sessionId);
    const at = this.#time();
    const matches = isExact
      ? await this.#listed(principal, narrowed, page, at)
      : await this.#searched(principal, narrowed, page, query, at);
    const items = await Promise.all(matches.items.map((run) => this.#view(principal, run, at)));
    return { ...matches, items, more: matches.next !== null };
  }

  async #listed({ tenantId }: Principal, filter: RunFilter, page: RunPageRequest, at: StatusTime) {
    const { items, more, total } = await this.#ports.store.runs.list(tenantId, filter, page, at);
    return { items, total, next: (more && items.at(-1)) || null };
  }

  async #searched(
    { tenantId }: Principal,
    { statuses, ...filter }: RunFilter,
    { limit, after }: RunPageRequest,
    query: Query,
    at: StatusTime,
  ) {
    const { store, clock } = this.#ports;
    const test = runQueryTest(query);
    const until = clock.monotonic() + searchMs;
    const items: Run[] = [];
    let last = after;
    for (;;) {
      const portion = { limit: searchedAtOnce, offset: 0, ...omitUndefined({ after: last }) };
      const page = await store.runs.list(tenantId, filter, portion, at);
      for (const [i, run] of page.items.entries()) {
        last = run;
        const status = runStatus(run, run.pendingApprovals, at);
        if (statuses?.includes(status) === false || !test({ ...run, status })) continue;
        items.push(run);
        if (items.length === limit)
          return { items, total: null, next: page.more || i + 1 < page.items.length ? run : null };
      }
      if (!page.more) return { items, total: null, next: null };
      if (clock.monotonic() > until) return { items, total: null, next: last ?? null };
    }
  }

  async get(principal: Principal, key: RunKey): Promise<RunView | null> {
    const { tenantId } = principal;
    const at = this.#time();
    const run = await this.#ports.store.runs.get(tenantId, key, at.now);
    return run && seesEnv(principal, run.env) ? this.#view(principal, run, at) : null;
  }

  async listAgents(principal: Principal, { limit, offset }: PageRequest): Promise<AgentPage> {
    const { store, fleet } = this.#ports;
    const { tenantId } = principal;
    let after: AgentPlace | null = null;
    let left = offset;
    let more = true;
    // Those before the page are not looked at any closer.
    while (left > 0 && more) {
      const query = { limit: Math.min(left, registrationsAtOnce), after };
      const page = await store.agents.search(tenantId, { ...newestSeen, ...query });
      left -= page.items.length;
      more = page.more && page.items.length > 0;
      const last = page.items.at(-1);
      if (last) after = { agentId: last.agentId, at: last.lastSeenAt ?? 0 };
    }
    if (!more) return { items: [], more: false, passed: [], read: 0 };
    const page = await store.agents.search(tenantId, { ...newestSeen, limit, after });
    const fleetAgents = await fleet.ofRegistrations(principal, page.items);
    const isInScope = scopeTest(principal);
    const visibleAgents = fleetAgents.filter(
      (agent) => isSeen(principal, agent) && isInScope(agent.registration.agentId),
    );
    const places = new Map(page.items.map(({ agentId }, place) => [agentId, place + 1]));
    const items: AgentView[] = [];
    for (let i = 0; i < visibleAgents.length; i += viewedAtOnce) {
      items.push(...(await this.#agentViews(principal, visibleAgents.slice(i, i + viewedAtOnce))));
    }
    return {
      items,
      more: page.more,
      passed: visibleAgents.map(({ registration }) => places.get(registration.agentId) ?? 0),
      read: page.items.length,
    };
  }

  async getAgent(
    principal: Principal,
    agentId: string,
  ): Promise<{ readonly agent: AgentView; readonly runs: readonly RunView[] } | null> {
    const { tenantId } = principal;
    const env = listedEnvs(principal, null);
    const fleetAgent = await this.#ports.fleet.get(principal, agentId);
    if (fleetAgent ? !isSeen(principal, fleetAgent) : agentId !== sample.agentId) return null;
    const at = this.#time();
    const [agent, runs] = await Promise.all([
      fleetAgent
        ? this.#agentViews(principal, [fleetAgent]).then(([view]) => view)
        : this.#sampleAgent(principal),
      this.#ports.store.runs.list(tenantId, { env, agentId }, { limit: shownRuns, offset: 0 }, at),
    ]);
    if (!agent) return null;
    return { agent, runs: await Promise.all(runs.items.map((run) => this.#view(principal, run, at))) };
  }

  #time(): StatusTime {
    return { now: this.#ports.clock.now(), staleAfterMs: this.#ports.settings.runStaleMs };
  }

  async #view(principal: Principal, stored: Run, at: StatusTime): Promise<RunView> {
    const { tenantId } = principal;
    const run = inSightOf(principal, stored);
    const policyVersion = run.facts?.version?.policyVersion ?? null;
    return {
      run,
      status: runStatus(run, run.pendingApprovals, at),
      ruleset: await this.names.resolve(tenantId, run.env, policyVersion),
    };
  }

  /** Their health follows from runs and approvals of the environments that the principal sees. */
  async #agentViews(principal: Principal, agents: readonly DescribedAgent[]): Promise<readonly AgentView[]> {
    const { store, settings } = this.#ports;
    if (agents.length === 0) return [];
    const { tenantId } = principal;
    const at = this.#time();
    const agentIds = agents.map(({ registration }) => registration.agentId);
    const inSight = { agentIds, env: listedEnvs(principal, null) };
    const [glances, newest, pending] = await Promise.all([
      store.runs.listRecent(
        tenantId,
        { ...inSight, since: at.now - healthWindowMs, limit: runsOfHealth },
        at.now,
      ),
      store.events.newestOf(tenantId, inSight),
      store.runs.countPending(tenantId, inSight, at.now),
    ]);
    const runsOf = new Map<string, RecentRun[]>();
    for (const glance of glances) {
      const list = runsOf.get(glance.agentId) ?? [];
      list.push(glance);
      runsOf.set(glance.agentId, list);
    }
    const lastEvents = new Map(newest);
    const waiting = new Map(pending);
    return Promise.all(
      agents.map(async (agent) => {
        const { agentId, lastSeenAt } = agent.registration;
        const lastEventAt = lastEvents.get(agentId) ?? null;
        const policyVersion = agent.state?.policyVersion ?? null;
        const health = agentHealth(
          {
            runs: runsOf.get(agentId) ?? [],
            pendingApprovals: waiting.get(agentId) ?? 0,
            lastSeenAt,
            lastEventAt,
            connected: (agent.state?.streams ?? 0) > 0,
          },
          { ...at, agentStaleAfterMs: settings.agentStaleMs },
        );
        const ruleset =
          agent.env === null ? null : await this.names.resolve(tenantId, agent.env, policyVersion);
        return { ...agent, lastEventAt, ruleset, health };
      }),
    );
  }

  /** The agent of the sample run as the run contains it: nobody registered it. Null where there is none. */
  async #sampleAgent(principal: Principal): Promise<AgentView | null> {
    const { tenantId } = principal;
    const at = this.#time();
    const { agentId, sessionId } = sample;
    const run = await this.#ports.store.runs.get(tenantId, { agentId, sessionId }, at.now);
    if (!run?.sample || !seesEnv(principal, run.env)) return null;
    const { startedAt: createdAt, lastActivityAt: lastSeenAt, pendingApprovals } = run;
    const lastEventAt = run.facts?.last.at ?? null;
    const policyVersion = run.facts?.version?.policyVersion ?? null;
    const ruleset = await this.names.resolve(tenantId, run.env, policyVersion);
    const health = agentHealth(
      { runs: [run], pendingApprovals, lastSeenAt, lastEventAt, connected: false },
      { ...at, agentStaleAfterMs: this.#ports.settings.agentStaleMs },
    );
    const bundleName = ruleset?.name ?? null;
    return {
      registration: {
        id: agentId,
        tenantId,
        agentId,
        displayName: null,
        tags: {},
        bundleName: null,
        lastEnv: run.env,
        seenEnvs: [run.env],
        lastSeenAt,
        createdAt,
        retiredAt: null,
        lastApi: null,
        loadsAny: false,
      },
      env: run.env,
      resolution: { bundleName, source: 'none', ruleId: null, rulePattern: null },
      state: {
        streams: 0,
        connectedAt: null,
        bundleName,
        policyVersion,
        version: ruleset?.version ?? null,
        status: 'unknown',
        documentKind: null,
        driftSince: null,
      },
      cannotLoad: false,
      lastEventAt,
      ruleset,
      health,
    };
  }
}

export const createRuns = (ports: Ports): Runs => new StoredRuns(ports);

/** A run without the snapshot or version of an environment that the principal does not see. */
function inSightOf(principal: Principal, run: Run): Run {
  const { facts } = run;
  const hides = (part: { readonly env?: Env } | null): boolean =>
    part?.env !== undefined && !seesEnv(principal, part.env);
  if (!facts || !(hides(facts.snapshot) || hides(facts.version))) return run;
  const isHidden = hides(facts.snapshot);
  return {
    ...run,
    snapshotEventId: isHidden ? null : run.snapshotEventId,
    facts: {
      ...facts,
      snapshot: isHidden ? null : facts.snapshot,
      version: hides(facts.version) ? null : facts.version,
    },
  };
}

const newestSeen = { order: 'lastSeenAt', descending: true, search: null } as const;

/** An agent that was in no environment is seen by everybody who is bound to none. */
const isSeen = (principal: Principal, { env }: Pick<FleetAgent, 'env'>): boolean =>
  env === null ? principal.env === null : seesEnv(principal, env);

// Coverage: which tools agents used, and which of them a contract governs. Counted from stored events, judged by what
// is deployed now.

import type { DriftStatus, RegistrationSummary } from '../../agent/record.ts';
import { durationsByTool, measuredCalls, type ToolDurations } from '../../agent/rules/tool-durations.ts';
import type { Rulings } from '../../agent/use-cases/rulings.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { AgentManifest } from '../../event/record.ts';
import { listedEnvs, requireRole, seesEnv } from '../../shared/access.ts';
import { CompiledRulings, JudgeSteps, weightOf } from '../../shared/compiled-rulings.ts';
import { bytesPerTurn, turns } from '../../shared/concurrency/event-loop-budget.ts';
import { dayMs } from '../../shared/duration.ts';
import { notFound } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import { checkRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AgentTools, ToolUse } from '../port.ts';
import type { CoverageCounts } from '../record.ts';
import {
  type Governing,
  governing,
  type Ruling,
  rulingOfManifest,
  statusOfTool,
  type ToolStatus,
  toolStatuses,
} from '../rules.ts';
import {
  byTool,
  countsOf,
  type FleetCoverage,
  type JudgedAgent,
  summaryOf,
  type Verdict,
} from './coverage-figures.ts';

/** Registrations, and manifests, read at once. */
const atOnce = 2000;
const manifestsAtOnce = 16;
/** Cost of an agent without its tools, in characters of patterns. */
const stepsOfAgent = 1000;
export interface CoveredTool extends Omit<ToolUse, 'env'> {
  readonly status: ToolStatus;
  readonly by: Governing | null;
}

export interface AgentCoverage {
  readonly env: Env;
  readonly until: number;
  /** The agent's deployment, else the newest one in the environment; null without a deployment. */
  readonly deployed: Deployment | null;
  /** Enforced, observed, ungoverned; each by name. */
  readonly tools: readonly CoveredTool[];
  /** By tool, of the agent's newest calls; empty unless requested. */
  readonly durations: ReadonlyMap<string, ToolDurations>;
  readonly counts: CoverageCounts;
}

export interface AgentCoverageQuery {
  readonly since: number;
  /** Exclusive; undefined: up to now. */
  readonly until: number | undefined;
  readonly withDurations: boolean;
}

export interface FleetCoverageQuery {
  readonly env: Env | null;
  readonly since: number;
  readonly limit: number;
  readonly after: string | null;
}

export interface Coverage {
  /**
   * Coverage of these registered agents (at most 500) by id, as `getFleetCoverage` returns it; none of an agent without
   * events since then.
   * @param env null: every environment
   * @throws HubError search_timeout
   */
  listAgentCoverage(
    principal: Principal,
    query: { readonly env: Env | null; readonly since: number },
    registrations: readonly RegistrationSummary[],
  ): Promise<ReadonlyMap<string, CoverageCounts>>;
  /** @throws HubError not_found when the agent has no event in the range, validation_failed for a reversed range */
  getAgentCoverage(principal: Principal, agentId: string, query: AgentCoverageQuery): Promise<AgentCoverage>;
  /** @param env null: every environment. @throws HubError search_timeout */
  getFleetCoverage(principal: Principal, query: FleetCoverageQuery): Promise<FleetCoverage>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'> & { readonly rulings: Rulings };

class ContractCoverage implements Coverage {
  readonly #ports: Ports;
  readonly #localRulings = new CompiledRulings();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async getAgentCoverage(
    principal: Principal,
    agentId: string,
    { since, until, withDurations }: AgentCoverageQuery,
  ): Promise<AgentCoverage> {
    const { store, rulings, clock } = this.#ports;
    requireRole(principal, 'viewer');
    if (until !== undefined) checkRange({ since, until });
    const { tenantId } = principal;
    const all = await store.usage.listTools(tenantId, agentId, since, until);
    const uses = all.filter((use) => seesEnv(principal, use.env));
    const [first] = uses;
    if (!first) throw notFound('The agent has no events in this time range.');
    const { env } = uses.reduce((newest, use) => (use.lastUsed > newest.lastUsed ? use : newest), first);
    const registration = await store.agents.get(tenantId, agentId);
    const [[standing], inEnv] = await Promise.all([
      rulings.standings(tenantId, env, [registration ?? { agentId, bundleName: null, tags: {} }]),
      rulings.inEnvironment(tenantId, env),
    ]);
    const bundleName = standing?.bundleName ?? null;
    const manifest = registration?.manifest ?? null;
    const ruling = (await inEnv.of(bundleName)) ?? (await this.#rulingOfLocal(manifest)).ruling;
    const steps = new JudgeSteps();
    const tools: CoveredTool[] = [];
    for (const use of byTool(uses).values()) {
      await steps.take(weightOf(ruling));
      const by = governing(ruling, use.tool);
      tools.push({ ...use, by, status: statusOfTool(by) });
    }
    tools.sort(
      (a, b) => toolStatuses.indexOf(a.status) - toolStatuses.indexOf(b.status) || (a.tool < b.tool ? -1 : 1),
    );
    const deployed =
      bundleName === null ? newestOf([...inEnv.deployed.values()]) : inEnv.deployed.get(bundleName);
    return {
      env,
      until: until ?? clock.now(),
      deployed: deployed ?? null,
      tools,
      durations: withDurations ? await this.#durationsOf(principal, agentId, since, until) : new Map(),
      counts: countsOf(tools.map(({ status }) => status)),
    };
  }

  async listAgentCoverage(
    principal: Principal,
    { env, since }: { readonly env: Env | null; readonly since: number },
    registrations: readonly RegistrationSummary[],
  ): Promise<ReadonlyMap<string, CoverageCounts>> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const byId = new Map(registrations.map((registration) => [registration.agentId, registration]));
    const envs = listedEnvs(principal, env);
    const { toolSets, agents } = await this.#ports.store.usage.listToolsOfAgents(tenantId, envs, since, [
      ...byId.keys(),
    ]);
    const own = agents.map(({ agentId }) => byId.get(agentId) ?? unknown);
    const judged = await this.#judge(tenantId, agents, own, toolSets);
    return new Map(agents.map(({ agentId }, i) => [agentId, (judged[i] ?? none).counts]));
  }

  async getFleetCoverage(
    principal: Principal,
    { env, since, limit, after }: FleetCoverageQuery,
  ): Promise<FleetCoverage> {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const until = this.#ports.clock.now();
    const envs = listedEnvs(principal, env);
    const { toolSets, agents: fleetAgents } = await this.#ports.store.usage.fleet(
      tenantId,
      envs,
      since,
      until - dayMs,
    );
    // Stores order some texts otherwise, and pages are told apart by this order.
    const agents = [...fleetAgents].sort((a, b) => (a.agentId < b.agentId ? -1 : 1));
    const registrations = await this.#registrationsOf(
      tenantId,
      agents.map(({ agentId }) => agentId),
    );
    const verdicts = await this.#judge(tenantId, agents, registrations, toolSets);
    const judged = agents.map(
      ({ agentId, env: of, lastSeen, events }, i): JudgedAgent => ({
        ...(verdicts[i] ?? none),
        agentId,
        env: of,
        lastSeen,
        events,
      }),
    );
    const page = after === null ? judged : judged.filter(({ agentId }) => agentId > after);
    const pageRows = page.slice(0, limit);
    return {
      until,
      agents: pageRows,
      next: page.length > limit ? (pageRows.at(-1)?.agentId ?? null) : null,
      summary: summaryOf(judged),
    };
  }

  /** Registrations of these agents; only the id for unregistered ones. */
  async #registrationsOf(tenantId: string, agentIds: readonly string[]): Promise<readonly Known[]> {
    const byId = new Map<string, RegistrationSummary>();
    let after: string | null = null;
    do {
      const query = { order: 'agentId', descending: false, search: null, limit: atOnce } as const;
      const place: { readonly agentId: string; readonly at: number } | null =
        after === null ? null : { agentId: after, at: 0 };
      const { items, more } = await this.#ports.store.agents.search(tenantId, { ...query, after: place });
      for (const item of items) byId.set(item.agentId, item);
      after = more ? (items.at(-1)?.agentId ?? null) : null;
    } while (after !== null);
    return agentIds.map((agentId) => byId.get(agentId) ?? { agentId, bundleName: null, tags: {} });
  }

  async #durationsOf(principal: Principal, agentId: string, since: number, until: number | undefined) {
    const env = listedEnvs(principal, null);
    // In a search, the end of a range belongs to it. Times have microseconds.
    const filter = { env, agentId, since, ...(until === undefined ? {} : { until: until - 0.001 }) };
    const page = await this.#ports.store.events.search(principal.tenantId, filter, measuredCalls, null);
    return durationsByTool(page.events);
  }

  /** The rules of an agent's own, and a digest that equal rules share. */
  async #rulingOfLocal(
    manifest: AgentManifest | null,
  ): Promise<{ readonly digest: string; readonly ruling: Ruling }> {
    if (manifest === null) return { digest: 'none', ruling: nothing };
    const text = JSON.stringify(manifest.contracts);
    if (text.length > bytesPerTurn) await turns.next(text.length);
    const digest = this.#ports.secrets.sha256(text);
    return { digest, ruling: await this.#localRulings.of(digest, () => rulingOfManifest(manifest)) };
  }

  /** Standings of these agents, in their order. */
  async #judge(
    tenantId: string,
    agents: readonly AgentTools[],
    registrations: readonly Known[],
    toolSets: readonly (readonly string[])[],
  ): Promise<readonly Standing[]> {
    const { rulings, store } = this.#ports;
    const judged: Standing[] = new Array(agents.length);
    const steps = new JudgeSteps();
    for (const env of environments) {
      const places = agents.flatMap((agent, i) => (agent.env === env ? [i] : []));
      if (places.length === 0) continue;
      const inEnv = await rulings.inEnvironment(tenantId, env);
      const standings = await rulings.standings(
        tenantId,
        env,
        places.map((place) => registrations[place] ?? unknown),
      );
      // Agents that follow the same bundle and use the same tools are judged once.
      const verdicts = new Map<string, Verdict>();
      const local: { readonly place: number; readonly drift: DriftStatus }[] = [];
      for (const [i, place] of places.entries()) {
        const agent = agents[place];
        const { bundleName, drift } = standings[i] ?? { bundleName: null, drift: 'unknown' as const };
        if (!agent) continue;
        await steps.take(stepsOfAgent);
        const ruling = await inEnv.of(bundleName);
        if (ruling === null) {
          local.push({ place, drift });
          continue;
        }
        const key = `${agent.tools} ${bundleName === null ? '' : `=${bundleName}`}`;
        const verdict = verdicts.get(key) ?? (await verdictOf(ruling, toolSets[agent.tools] ?? [], steps));
        verdicts.set(key, verdict);
        judged[place] = { drift, ...verdict };
      }
      for (let from = 0; from < local.length; from += manifestsAtOnce) {
        const part = local.slice(from, from + manifestsAtOnce);
        const ids = part.map(({ place }) => agents[place]?.agentId ?? '');
        const manifests = await store.agents.listManifests(tenantId, ids);
        const byAgent = new Map(manifests.map((manifest) => [manifest.agentId, manifest]));
        for (const { place, drift } of part) {
          const agent = agents[place];
          if (!agent) continue;
          await steps.take(stepsOfAgent);
          const { digest, ruling } = await this.#rulingOfLocal(byAgent.get(agent.agentId) ?? null);
          const key = `${agent.tools} ${digest}`;
          const verdict = verdicts.get(key) ?? (await verdictOf(ruling, toolSets[agent.tools] ?? [], steps));
          verdicts.set(key, verdict);
          judged[place] = { drift, ...verdict };
        }
      }
    }
    return judged;
  }
}

export const createCoverage = (ports: Ports): Coverage => new ContractCoverage(ports);

type Known = Pick<RegistrationSummary, 'agentId' | 'bundleName' | 'tags'>;

interface Standing extends Verdict {
  readonly drift: DriftStatus;
}

const nothing: Ruling = { matchers: [] };
const unknown: Known = { agentId: '', bundleName: null, tags: {} };
const none: Standing = { drift: 'unknown', counts: countsOf([]), ungoverned: [] };

const newestOf = (deployments: readonly Deployment[]): Deployment | undefined =>
  [...deployments].sort((a, b) => b.createdAt - a.createdAt)[0];

async function verdictOf(ruling: Ruling, tools: readonly string[], steps: JudgeSteps): Promise<Verdict> {
  const statuses: ToolStatus[] = [];
  const weight = weightOf(ruling);
  for (const tool of tools) {
    await steps.take(weight);
    statuses.push(statusOfTool(governing(ruling, tool)));
  }
  return {
    counts: countsOf(statuses),
    ungoverned: tools.filter((_, i) => statuses[i] === 'ungoverned'),
  };
}

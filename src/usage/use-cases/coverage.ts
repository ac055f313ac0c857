// Coverage: which tools agents used, and which of them a contract governs. Counted from stored events, judged by what
// is deployed now.

import type { DriftStatus, RegistrationSummary } from '../../agent/record.ts';
import { durationsByTool, measuredCalls, type ToolDurations } from '../../agent/rules/tool-durations.ts';
import { CompiledRulings, JudgeSteps, weightOf } from '../../agent/use-cases/compiled-rulings.ts';
import type { Rulings } from '../../agent/use-cases/rulings.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { AgentManifest } from '../../event/record.ts';
import { listedEnvs, requireRole, seesEnv } from '../../shared/access.ts';
import { bytesPerTurn, turns } from '../../shared/concurrency/event-loop-budget.ts';
import { dayMs } from '../../shared/duration.ts';
import { notFound } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AgentTools, ToolUse } from '../port.ts';
import {
  coveragePercent,
  type Governing,
  governing,
  type Ruling,
  rulingOfManifest,
  statusOfTool,
  type ToolStatus,
  toolStatuses,
} from '../rules.ts';

/** Registrations, and manifests, read at once. */
const atOnce = 2000;
const manifestsAtOnce = 16;
/** Cost of an agent without its tools, in characters of patterns. */
const stepsOfAgent = 1000;
/** Ungoverned tools that are named, and agents of each. */
const maxTools = 100;
const maxAgentIds = 100;

export interface CoveredTool extends Omit<ToolUse, 'env'> {
  readonly status: ToolStatus;
  readonly by: Governing | null;
}

export interface CoverageCounts {
  readonly total: number;
  readonly enforced: number;
  readonly observed: number;
  readonly ungoverned: number;
  readonly percent: number;
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

export interface FleetAgentCoverage {
  readonly agentId: string;
  readonly env: Env;
  readonly counts: CoverageCounts;
  readonly drift: DriftStatus;
  readonly lastSeen: number;
  /** In the last 24 hours. */
  readonly events: number;
}

export interface UngovernedTool {
  readonly tool: string;
  readonly agentCount: number;
  /** The first 100. */
  readonly agentIds: readonly string[];
}

export interface FleetCoverage {
  readonly until: number;
  /** A page, by agent id. */
  readonly agents: readonly FleetAgentCoverage[];
  /** The agent id that the next page begins behind; null when nothing is left. */
  readonly next: string | null;
  /** Of all agents. */
  readonly summary: {
    readonly agents: number;
    readonly fullyEnforced: number;
    readonly withUngoverned: number;
    readonly withDrift: number;
    readonly ungovernedTools: number;
    /** Those of most agents first, then by name; at most 100. */
    readonly tools: readonly UngovernedTool[];
  };
}

export interface Coverage {
  /**
   * Coverage of these registered agents (at most 500) by id, as `ofFleet` says it; none of an agent without events
   * since then.
   * @param env null: every environment
   * @throws HubError search_timeout
   */
  ofAgents(
    principal: Principal,
    query: { readonly env: Env | null; readonly since: number },
    registrations: readonly RegistrationSummary[],
  ): Promise<ReadonlyMap<string, CoverageCounts>>;
  /** @throws HubError not_found when the agent has no event since then */
  ofAgent(
    principal: Principal,
    agentId: string,
    query: { readonly since: number; readonly withDurations: boolean },
  ): Promise<AgentCoverage>;
  /** @param env null: every environment. @throws HubError search_timeout */
  ofFleet(
    principal: Principal,
    query: {
      readonly env: Env | null;
      readonly since: number;
      readonly limit: number;
      readonly after: string | null;
    },
  ): Promise<FleetCoverage>;
}

export function createCoverage({
  store,
  clock,
  secrets,
  rulings,
}: Pick<AppPorts, 'store' | 'clock' | 'secrets'> & { readonly rulings: Rulings }): Coverage {
  const localRulings = new CompiledRulings();

  /** Registrations of these agents; only the id for unregistered ones. */
  async function registrationsOf(tenantId: string, agentIds: readonly string[]): Promise<readonly Known[]> {
    const byId = new Map<string, RegistrationSummary>();
    let after: string | null = null;
    do {
      const query = { order: 'agentId', descending: false, search: null, limit: atOnce } as const;
      const place: { readonly agentId: string; readonly at: number } | null =
        after === null ? null : { agentId: after, at: 0 };
      const { items, more } = await store.agents.find(tenantId, { ...query, after: place });
      for (const item of items) byId.set(item.agentId, item);
      after = more ? (items.at(-1)?.agentId ?? null) : null;
    } while (after !== null);
    return agentIds.map((agentId) => byId.get(agentId) ?? { agentId, bundleName: null, tags: {} });
  }

  return {
    async ofAgent(principal, agentId, { since, withDurations }) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const all = await store.usage.toolsOf(tenantId, agentId, since);
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
      const ruling = (await inEnv.of(bundleName)) ?? (await rulingOfLocal(manifest)).ruling;
      const steps = new JudgeSteps();
      const tools: CoveredTool[] = [];
      for (const use of byTool(uses).values()) {
        await steps.take(weightOf(ruling));
        const by = governing(ruling, use.tool);
        tools.push({ ...use, by, status: statusOfTool(by) });
      }
      tools.sort(
        (a, b) =>
          toolStatuses.indexOf(a.status) - toolStatuses.indexOf(b.status) || (a.tool < b.tool ? -1 : 1),
      );
      const deployed =
        bundleName === null ? newestOf([...inEnv.deployed.values()]) : inEnv.deployed.get(bundleName);
      return {
        env,
        until: clock.now(),
        deployed: deployed ?? null,
        tools,
        durations: withDurations ? await durationsOf(principal, agentId, since) : new Map(),
        counts: countsOf(tools.map(({ status }) => status)),
      };
    },

    async ofAgents(principal, { env, since }, registrations) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const byId = new Map(registrations.map((registration) => [registration.agentId, registration]));
      const envs = listedEnvs(principal, env);
      const { toolSets, agents } = await store.usage.toolsOfAgents(tenantId, envs, since, [...byId.keys()]);
      const own = agents.map(({ agentId }) => byId.get(agentId) ?? unknown);
      const judged = await judge(tenantId, agents, own, toolSets);
      return new Map(agents.map(({ agentId }, i) => [agentId, (judged[i] ?? none).counts]));
    },

    async ofFleet(principal, { env, since, limit, after }) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const until = clock.now();
      const envs = listedEnvs(principal, env);
      const { toolSets, agents: fleetAgents } = await store.usage.fleet(tenantId, envs, since, until - dayMs);
      // Stores order some texts otherwise, and pages are told apart by this order.
      const agents = [...fleetAgents].sort((a, b) => (a.agentId < b.agentId ? -1 : 1));
      const registrations = await registrationsOf(
        tenantId,
        agents.map(({ agentId }) => agentId),
      );
      const verdicts = await judge(tenantId, agents, registrations, toolSets);
      const judged = agents.map(
        ({ agentId, env: of, lastSeen, events }, i): Judged => ({
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
    },
  };

  async function durationsOf(principal: Principal, agentId: string, since: number) {
    const filter = { env: listedEnvs(principal, null), agentId, since };
    const page = await store.events.search(principal.tenantId, filter, measuredCalls, null);
    return durationsByTool(page.events);
  }

  /** The rules of an agent's own, and a digest that equal rules share. */
  async function rulingOfLocal(
    manifest: AgentManifest | null,
  ): Promise<{ readonly digest: string; readonly ruling: Ruling }> {
    if (manifest === null) return { digest: 'none', ruling: nothing };
    const text = JSON.stringify(manifest.contracts);
    if (text.length > bytesPerTurn) await turns.next(text.length);
    const digest = secrets.sha256(text);
    return { digest, ruling: await localRulings.of(digest, () => rulingOfManifest(manifest)) };
  }

  /** How these agents stand, in their order. */
  async function judge(
    tenantId: string,
    agents: readonly AgentTools[],
    registrations: readonly Known[],
    toolSets: readonly (readonly string[])[],
  ): Promise<readonly Standing[]> {
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
        const manifests = await store.agents.manifests(tenantId, ids);
        const byAgent = new Map(manifests.map((manifest) => [manifest.agent_id, manifest]));
        for (const { place, drift } of part) {
          const agent = agents[place];
          if (!agent) continue;
          await steps.take(stepsOfAgent);
          const { digest, ruling } = await rulingOfLocal(byAgent.get(agent.agentId) ?? null);
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

type Known = Pick<RegistrationSummary, 'agentId' | 'bundleName' | 'tags'>;

interface Verdict {
  readonly counts: CoverageCounts;
  readonly ungoverned: readonly string[];
}

interface Standing extends Verdict {
  readonly drift: DriftStatus;
}

interface Judged extends FleetAgentCoverage, Verdict {}

const nothing: Ruling = { matchers: [] };
const unknown: Known = { agentId: '', bundleName: null, tags: {} };
const none: Standing = { drift: 'unknown', counts: countsOf([]), ungoverned: [] };

const newestOf = (deployments: readonly Deployment[]): Deployment | undefined =>
  [...deployments].sort((a, b) => b.createdAt - a.createdAt)[0];

/** An agent's use of each tool, in all environments. */
function byTool(uses: readonly ToolUse[]): Map<string, Omit<ToolUse, 'env'>> {
  const useByTool = new Map<string, Omit<ToolUse, 'env'>>();
  for (const { env: _, ...use } of uses) {
    const before = useByTool.get(use.tool);
    useByTool.set(
      use.tool,
      before === undefined
        ? use
        : {
            tool: use.tool,
            events: before.events + use.events,
            allowed: before.allowed + use.allowed,
            denied: before.denied + use.denied,
            observed: before.observed + use.observed,
            lastUsed: Math.max(before.lastUsed, use.lastUsed),
          },
    );
  }
  return useByTool;
}

function countsOf(statuses: readonly ToolStatus[]): CoverageCounts {
  const count = (countedStatus: ToolStatus): number =>
    statuses.filter((status) => status === countedStatus).length;
  const enforced = count('enforced');
  return {
    total: statuses.length,
    enforced,
    observed: count('observed'),
    ungoverned: count('ungoverned'),
    percent: coveragePercent(enforced, statuses.length),
  };
}

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

function summaryOf(agents: readonly Judged[]): FleetCoverage['summary'] {
  const tools = new Map<string, { agentCount: number; readonly agentIds: string[] }>();
  for (const { agentId, ungoverned } of agents) {
    for (const tool of ungoverned) {
      const entry = tools.get(tool) ?? { agentCount: 0, agentIds: [] };
      tools.set(tool, entry);
      entry.agentCount++;
      if (entry.agentIds.length < maxAgentIds) entry.agentIds.push(agentId);
    }
  }
  const count = (test: (agent: Judged) => boolean): number => agents.filter(test).length;
  return {
    agents: agents.length,
    fullyEnforced: count(({ counts }) => counts.observed + counts.ungoverned === 0),
    withUngoverned: count(({ counts }) => counts.ungoverned > 0),
    withDrift: count(({ drift }) => drift === 'drift'),
    ungovernedTools: tools.size,
    tools: [...tools]
      .map(([tool, entry]) => ({ tool, ...entry }))
      .sort((a, b) => b.agentCount - a.agentCount || (a.tool < b.tool ? -1 : 1))
      .slice(0, maxTools),
  };
}

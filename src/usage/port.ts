// Store port of events over time: the tools and versions of agents, and how contracts decided. Adapters keep
// promise P31.
import type { Env, EnvFilter } from '../shared/ids.ts';

/** An agent's use of a tool in one environment. */
export interface ToolUse {
  readonly env: Env;
  readonly tool: string;
  readonly events: number;
  readonly allowed: number;
  readonly denied: number;
  /** Denials that were only observed. */
  readonly observed: number;
  /** Epoch milliseconds. */
  readonly lastUsed: number;
}

/** An agent and the tools that it used. */
export interface AgentTools {
  readonly agentId: string;
  /** Of its newest event. */
  readonly env: Env;
  readonly lastSeen: number;
  /** Which of `toolSets`. */
  readonly tools: number;
}

/** An agent, its tools and its events. */
export interface AgentUse extends AgentTools {
  /** Events since `countSince`. */
  readonly events: number;
}

/** The agents of a fleet. Many use the same tools, so each set of tools is written once. */
export interface FleetUse<A extends AgentTools = AgentUse> {
  /** Each in order. */
  readonly toolSets: readonly (readonly string[])[];
  /** By agent id. */
  readonly agents: readonly A[];
}

/** Other names of contracts: entries of documents that stand for a contract of the library. */
export interface ContractNames {
  /** By the entry's id. */
  readonly entries: ReadonlyMap<string, string>;
  /**
   * False when no call can be decided by two entries of one contract, which saves a store the search for such calls.
   */
  readonly mayOverlap: boolean;
}

/** How a contract decided. A call counts once, however many of its reports name the contract. */
export interface ContractUse {
  readonly name: string;
  readonly calls: number;
  readonly denials: number;
  /** Calls that it would have denied. */
  readonly warnings: number;
  /** Of the newest of these calls. */
  readonly lastTriggered: number;
}

/** A question whether an agent runs a version. */
export interface VersionQuestion {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** Since when an agent runs a version. */
export interface VersionAnswer {
  /** When the agent's first event with this version was, not before `since`; null: none. */
  readonly firstAt: number | null;
  /** The version of its newest event before `since`; null when there is none, or it names none. */
  readonly before: string | null;
}

/** An agent's first event and its newest one. */
export interface AgentSpan {
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly firstEnv: Env;
  /** Of its newest event. */
  readonly env: Env;
}

/** @throws HubError search_timeout: the store ends what takes longer than `maxSearchMs` */
export interface UsageStore {
  /**
   * Uses of tools in the agent's events in [since, until), per environment and tool; no particular order.
   * @param until default: no end
   */
  listTools(tenantId: string, agentId: string, since: number, until?: number): Promise<readonly ToolUse[]>;
  /**
   * The agents with events not older than `since`, with all tools of these.
   * @param env null: every environment
   */
  fleet(tenantId: string, env: EnvFilter, since: number, countSince: number): Promise<FleetUse>;
  /**
   * As `fleet`, of these agents alone (at most 500), without the number of their events: its cost grows with them,
   * whatever the fleet.
   * @param env null: every environment
   */
  listToolsOfAgents(
    tenantId: string,
    env: EnvFilter,
    since: number,
    agentIds: readonly string[],
  ): Promise<FleetUse<AgentTools>>;
  /**
   * The contracts that calls in [since, until) name, and the number of these events. Most calls first, then by name. A
   * call that several entries of one contract decided counts once for it.
   */
  listContracts(
    tenantId: string,
    env: EnvFilter,
    since: number,
    until: number,
    names?: ContractNames,
  ): Promise<{ readonly events: number; readonly contracts: readonly ContractUse[] }>;
  /** The agent's events in these environments; null when none is stored. */
  getSpan(tenantId: string, agentId: string, env: EnvFilter): Promise<AgentSpan | null>;
  /** Answers in the order of the questions, from the agent's events in one environment. */
  listVersionsAt(
    tenantId: string,
    agentId: string,
    env: Env,
    questions: readonly VersionQuestion[],
  ): Promise<readonly VersionAnswer[]>;
}

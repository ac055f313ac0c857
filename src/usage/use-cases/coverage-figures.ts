// Figures of coverage: counts of tools by how a contract governs them, for an agent and for the fleet.
import type { DriftStatus } from '../../agent/record.ts';
import type { Env } from '../../shared/ids.ts';
import type { ToolUse } from '../port.ts';
import type { CoverageCounts } from '../record.ts';
import { coveragePercent, type ToolStatus } from '../rules.ts';

/** Ungoverned tools that are named, and agents of each. */
const maxTools = 100;
const maxAgentIds = 100;

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
    /** Tools of most agents first, then by name; at most 100. */
    readonly tools: readonly UngovernedTool[];
  };
}

export interface Verdict {
  readonly counts: CoverageCounts;
  readonly ungoverned: readonly string[];
}

export interface JudgedAgent extends FleetAgentCoverage, Verdict {}

/** An agent's use of each tool, in all environments. */
export function byTool(uses: readonly ToolUse[]): Map<string, Omit<ToolUse, 'env'>> {
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

export function countsOf(statuses: readonly ToolStatus[]): CoverageCounts {
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

export function summaryOf(agents: readonly JudgedAgent[]): FleetCoverage['summary'] {
  const tools = new Map<string, { agentCount: number; readonly agentIds: string[] }>();
  for (const { agentId, ungoverned } of agents) {
    for (const tool of ungoverned) {
      const entry = tools.get(tool) ?? { agentCount: 0, agentIds: [] };
      tools.set(tool, entry);
      entry.agentCount++;
      if (entry.agentIds.length < maxAgentIds) entry.agentIds.push(agentId);
    }
  }
  const count = (test: (agent: JudgedAgent) => boolean): number => agents.filter(test).length;
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

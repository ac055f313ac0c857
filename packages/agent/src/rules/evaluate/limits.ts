// Session limits: merged from all session rules, compared with counters that the caller keeps.
import type { Rule, SessionLimits } from '../bundle/rule.ts';
import { compileGlob } from './glob.ts';

/** One limit of a session, and whether no session rule declared it. */
export interface Limit {
  readonly max: number;
  /** True for a limit that holds because no session rule says otherwise. */
  readonly builtIn: boolean;
}

export interface MergedLimits {
  readonly attempts: Limit;
  readonly toolCalls: Limit;
  /**
   * The smallest limit among the keys of `max_calls_per_tool` that name or match the tool; undefined when none does.
   */
  perTool(tool: string): number | undefined;
}

/** Counts of one session. `attempts` includes the call being evaluated; the others count finished executions. */
export interface Counters {
  readonly attempts: number;
  readonly executions: number;
  /** Executions of this call's tool. */
  readonly toolExecutions: number;
}

export const defaultMaxAttempts = 500;
export const defaultMaxToolCalls = 200;

/**
 * The limits of a session. A limit that session rules declare replaces the built-in one, up or down; of several the
 * smallest holds. Where only `max_tool_calls` is declared, attempts end at the larger of 500 and twice that number.
 * Observing rules count, shadows do not.
 */
export function mergeLimits(rules: readonly Rule[]): MergedLimits {
  let maxAttempts: number | undefined;
  let maxToolCalls: number | undefined;
  const perTool: PerToolLimit[] = [];
  for (const rule of rules) {
    if (rule.type !== 'session' || !rule.enabled || rule.shadow) continue;
    const { limits } = rule;
    maxAttempts = smallest(maxAttempts, limits.maxAttempts);
    maxToolCalls = smallest(maxToolCalls, limits.maxToolCalls);
    perTool.push(...perToolLimits(limits));
  }
  return {
    attempts: {
      max: maxAttempts ?? Math.max(defaultMaxAttempts, 2 * (maxToolCalls ?? 0)),
      builtIn: maxAttempts === undefined,
    },
    toolCalls: { max: maxToolCalls ?? defaultMaxToolCalls, builtIn: maxToolCalls === undefined },
    perTool: remembered((tool) => smallestMatch(perTool, tool)),
  };
}

interface PerToolLimit {
  readonly matches: (tool: string) => boolean;
  readonly max: number;
}

/** A key is a tool's name or a glob; a glob counts each tool that it matches by itself. */
const perToolLimits = (limits: SessionLimits): PerToolLimit[] =>
  Object.entries(limits.maxCallsPerTool ?? {}).map(([key, max]) => {
    const glob = compileGlob(key);
    // A name with glob characters in it still names itself.
    return { matches: (tool) => tool === key || glob(tool), max };
  });

const smallestMatch = (limits: readonly PerToolLimit[], tool: string): number | undefined =>
  limits.reduce<number | undefined>(
    (least, { matches, max }) => (matches(tool) ? smallest(least, max) : least),
    undefined,
  );

const smallest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

const maxRememberedTools = 1000;

function remembered(find: (tool: string) => number | undefined): (tool: string) => number | undefined {
  const known = new Map<string, number | undefined>();
  return (tool) => {
    if (known.has(tool)) return known.get(tool);
    const found = find(tool);
    if (known.size >= maxRememberedTools) known.clear();
    known.set(tool, found);
    return found;
  };
}

const replaceIt = (key: string): string =>
  `It is the built-in limit; a session contract with ${key} replaces it.`;

export const attemptLimitReason = ({ max, builtIn }: Limit): string =>
  `Attempt limit reached (${max}). The agent may be repeating calls that are refused.${
    builtIn ? ` ${replaceIt('max_attempts')}` : ''
  }`;

export const operationLimitReason = ({ max, builtIn }: Limit): string =>
  `Tool call limit reached (${max} calls in this session).${builtIn ? ` ${replaceIt('max_tool_calls')}` : ''}`;

export const perToolLimitReason = (tool: string, count: number, limit: number): string =>
  `Per-tool limit: ${tool} called ${count} times (limit: ${limit}).`;

/** Whether a session rule alone (a shadow copy) would refuse. */
export function exceeds(limits: SessionLimits, tool: string, counters: Counters): boolean {
  const perTool = smallestMatch(perToolLimits(limits), tool);
  return (
    counters.executions >= (limits.maxToolCalls ?? Infinity) ||
    counters.attempts >= (limits.maxAttempts ?? Infinity) ||
    counters.toolExecutions >= (perTool ?? Infinity)
  );
}

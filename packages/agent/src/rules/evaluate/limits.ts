// Session limits: merged from all session rules, compared with counters that the caller keeps.
import type { Rule, SessionLimits, SessionRule } from '../bundle/rule.ts';
import { remembered } from '../remembered.ts';
import { compileGlob } from './glob.ts';

/** One limit of a session. */
export interface Limit {
  /** Infinity: nothing limits. */
  readonly max: number;
  /** The session rule that sets it; null for the caller's own limit and for none. */
  readonly rule: SessionRule | null;
}

export interface MergedLimits {
  readonly attempts: Limit;
  readonly toolCalls: Limit;
  /** The limit for calls of one tool. */
  ofTool(tool: string): Limit;
  /** Its number; undefined when nothing limits calls of the tool. */
  perTool(tool: string): number | undefined;
}

/** Counts of one session. `attempts` includes the call being evaluated; the others count finished executions. */
export interface Counters {
  readonly attempts: number;
  readonly executions: number;
  /** Executions of this call's tool. */
  readonly toolExecutions: number;
}

/** Counts at which released clients end a session, whatever a document contains. Nothing here ends there. */
export const defaultMaxAttempts = 500;
export const defaultMaxToolCalls = 200;

/**
 * The limits of a session. Without a session rule and without limits from the caller there is none. Of several the
 * smallest holds; of equal ones the first rule's. Observing rules count, shadows do not.
 * @param own the caller's limits, which hold beside those of the rules
 */
export function mergeLimits(rules: readonly Rule[], own: SessionLimits = {}): MergedLimits {
  const sessions = rules.flatMap((rule) =>
    rule.type === 'session' && rule.enabled && !rule.shadow ? [{ rule, limits: rule.limits }] : [],
  );
  const sources = [...sessions, { rule: null, limits: own }];
  const lowest = (maxOf: (limits: SessionLimits) => number | undefined): Limit =>
    sources.reduce<Limit>((least, { rule, limits }) => {
      const max = maxOf(limits) ?? Number.POSITIVE_INFINITY;
      return max < least.max ? { max, rule } : least;
    }, unlimited);
  const toolLimits = new Map(sources.map(({ limits }) => [limits, perToolLimits(limits)]));
  const ofTool = remembered(maxRememberedTools, (tool: string) =>
    lowest((limits) => smallestMatch(toolLimits.get(limits) ?? [], tool)),
  );
  return {
    attempts: lowest((limits) => limits.maxAttempts),
    toolCalls: lowest((limits) => limits.maxToolCalls),
    ofTool,
    perTool(tool) {
      const { max } = ofTool(tool);
      return Number.isFinite(max) ? max : undefined;
    },
  };
}

const unlimited: Limit = { max: Number.POSITIVE_INFINITY, rule: null };

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
    (least, { matches, max }) => (matches(tool) ? Math.min(least ?? max, max) : least),
    undefined,
  );

const maxRememberedTools = 1000;

/** Refusal by a limit: the words of the session rule that sets the limit, else those of the caller's own limit. */
export interface LimitRefusal {
  /** The rule's id, or the name of the limit. */
  readonly name: string;
  readonly reason: string;
}

const refusalBy = ({ rule }: Limit, name: string, reason: string): LimitRefusal =>
  rule ? { name: rule.id, reason: rule.message } : { name, reason };

export const attemptRefusal = (limit: Limit): LimitRefusal =>
  refusalBy(
    limit,
    'max_attempts',
    `Attempt limit reached (${limit.max}). The agent may be repeating calls that are refused.`,
  );

export const toolCallRefusal = (limit: Limit): LimitRefusal =>
  refusalBy(limit, 'max_tool_calls', `Tool call limit reached (${limit.max} calls in this session).`);

export const perToolRefusal = (limit: Limit, tool: string): LimitRefusal =>
  refusalBy(
    limit,
    `max_calls_per_tool:${tool}`,
    `Per-tool limit: ${tool} called ${limit.max} times (limit: ${limit.max}).`,
  );

/** The limit that one session rule sets for calls of a tool; undefined when it sets none. */
export const perToolLimit = (limits: SessionLimits, tool: string): number | undefined =>
  smallestMatch(perToolLimits(limits), tool);

/** True if a session rule alone would refuse. */
export function exceeds(limits: SessionLimits, tool: string, counters: Counters): boolean {
  return endsSession(limits, counters) || counters.toolExecutions >= (perToolLimit(limits, tool) ?? Infinity);
}

/** True if the limits for all calls of a session are reached. */
export const endsSession = (limits: SessionLimits, { executions, attempts }: Counters): boolean =>
  executions >= (limits.maxToolCalls ?? Infinity) || attempts >= (limits.maxAttempts ?? Infinity);

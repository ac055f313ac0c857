// Session limits: merged from all session rules, compared with counters that the caller keeps (rule language §1.9).

import type { Rule, SessionLimits } from '../bundle/rule.ts';

export interface MergedLimits {
  readonly maxAttempts: number;
  readonly maxToolCalls: number;
  readonly maxCallsPerTool: ReadonlyMap<string, number>;
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

/** The lowest of the defaults and every enabled session rule; observing ones count, shadows do not. */
export function mergeLimits(rules: readonly Rule[]): MergedLimits {
  let maxAttempts = defaultMaxAttempts;
  let maxToolCalls = defaultMaxToolCalls;
  const maxCallsPerTool = new Map<string, number>();
  for (const rule of rules) {
    if (rule.type !== 'session' || !rule.enabled || rule.shadow) continue;
    maxAttempts = Math.min(maxAttempts, rule.limits.maxAttempts ?? maxAttempts);
    maxToolCalls = Math.min(maxToolCalls, rule.limits.maxToolCalls ?? maxToolCalls);
    for (const [tool, limit] of Object.entries(rule.limits.maxCallsPerTool ?? {})) {
      maxCallsPerTool.set(tool, Math.min(limit, maxCallsPerTool.get(tool) ?? limit));
    }
  }
  return { maxAttempts, maxToolCalls, maxCallsPerTool };
}

export const attemptLimitReason = (limit: number): string =>
  `Attempt limit reached (${limit}). The agent may be repeating calls that are refused.`;

export const operationLimitReason = (limit: number): string =>
  `Tool call limit reached (${limit} calls in this session).`;

export const perToolLimitReason = (tool: string, count: number, limit: number): string =>
  `Per-tool limit: ${tool} called ${count} times (limit: ${limit}).`;

/** Whether a session rule alone (a shadow copy) would refuse. */
export const exceeds = (limits: SessionLimits, tool: string, counters: Counters): boolean =>
  counters.executions >= (limits.maxToolCalls ?? Infinity) ||
  counters.attempts >= (limits.maxAttempts ?? Infinity) ||
  (Object.hasOwn(limits.maxCallsPerTool ?? {}, tool) &&
    counters.toolExecutions >= (limits.maxCallsPerTool?.[tool] ?? Infinity));

// The decision on a live call, before it runs: limits, pre, sandbox, session, in that order (rule language §1.9).
// Hooks, approvals and counters belong to the caller.

import type { ApprovalTerms, Mode, SideEffect } from '../bundle/rule.ts';
import type { Budget } from '../regex/regex.ts';
import { type ToolCall, toolNameProblem, type View } from './call.ts';
import type { CompiledBundle, CompiledRule } from './compile.ts';
import {
  attemptLimitReason,
  type Counters,
  exceeds,
  operationLimitReason,
  perToolLimitReason,
} from './limits.ts';
import { detailOf, type EvaluatedRecord, hasPolicyError, metadataOf, recordOf, viewOf } from './record.ts';
import { sideEffectOf } from './tools.ts';

export type DecisionSource =
  | 'attempt_limit'
  | 'yaml_precondition'
  | 'yaml_sandbox'
  | 'yaml_session'
  | 'operation_limit'
  | 'invalid_call';

export interface Decision {
  /** `approve`: a human must be asked first, under `approval`. */
  readonly verdict: 'allow' | 'deny' | 'approve';
  readonly source: DecisionSource | null;
  /** The contract's id, or the name of the limit. */
  readonly name: string | null;
  readonly reason: string | null;
  readonly approval: ApprovalTerms | null;
  /** The bundle's default mode: `observe` means the caller reports a denial and runs the tool. */
  readonly mode: Mode;
  readonly sideEffect: SideEffect;
  /** Every rule that was evaluated, in order; shadows are not among them. */
  readonly records: readonly EvaluatedRecord[];
  /** Shadow copies, evaluated after an allow only. */
  readonly shadows: readonly EvaluatedRecord[];
  readonly policyError: boolean;
}

export interface CallOptions {
  /** Counters of the session; without them no limit and no session rule is evaluated. */
  readonly counters?: Counters;
  /** Skips the attempt limit, for a caller that asked `attemptDecision` before its hooks ran. */
  readonly attemptsChecked?: boolean;
  readonly budget?: Budget;
}

/** The attempt limit alone, which comes before hooks: a denial, or null. */
export function attemptDecision(bundle: CompiledBundle, call: ToolCall, counters: Counters): Decision | null {
  const { maxAttempts } = bundle.limits;
  if (counters.attempts < maxAttempts) return null;
  return denial(bundle, call, [], 'attempt_limit', 'max_attempts', attemptLimitReason(maxAttempts));
}

/** Decides a call. Never throws, whatever the call holds. */
export function evaluateCall(bundle: CompiledBundle, call: ToolCall, options: CallOptions = {}): Decision {
  const records: EvaluatedRecord[] = [];
  try {
    return decide(bundle, call, options, records);
  } catch (error) {
    // Only a call that throws when it is read comes here (an accessor of the caller's own object).
    const reason = `The call cannot be read: ${detailOf(error)}`;
    return {
      ...denial(bundle, unreadable, records, 'invalid_call', 'invalid_call', reason),
      policyError: true,
    };
  }
}

const unreadable: ToolCall = { tool: '', args: {} };

function decide(
  bundle: CompiledBundle,
  call: ToolCall,
  options: CallOptions,
  records: EvaluatedRecord[],
): Decision {
  const problem = toolNameProblem(call.tool) ?? argumentsProblem(call);
  if (problem !== null) {
    return {
      ...denial(bundle, unreadable, records, 'invalid_call', 'invalid_call', problem),
      policyError: true,
    };
  }
  const { counters } = options;
  const early = counters && !options.attemptsChecked ? attemptDecision(bundle, call, counters) : null;
  if (early) return early;
  const rules = bundle.rulesFor(call.tool);
  const view = viewOf(bundle, call, undefined, options.budget);
  for (const compiled of rules.before) {
    const record = recordOf(compiled, view);
    records.push(record);
    if (!record.passed && !record.observed) return refusal(bundle, call, records, compiled, record);
  }
  if (counters) {
    const refused = sessionDecision(bundle, call, counters, records);
    if (refused) return refused;
  }
  const shadows = shadowRecords(bundle, rules.shadow, view, counters);
  return {
    ...base(bundle, call, records),
    verdict: 'allow',
    source: null,
    name: null,
    reason: null,
    shadows,
  };
}

function argumentsProblem(call: ToolCall): string | null {
  const args: unknown = call.args;
  return args !== null && typeof args === 'object' && !Array.isArray(args)
    ? null
    : 'the arguments must be a mapping';
}

function refusal(
  bundle: CompiledBundle,
  call: ToolCall,
  records: readonly EvaluatedRecord[],
  { rule }: CompiledRule,
  record: EvaluatedRecord,
): Decision {
  const source = rule.type === 'sandbox' ? 'yaml_sandbox' : 'yaml_precondition';
  const denied = denial(bundle, call, records, source, rule.id, record.message ?? '');
  if (rule.type === 'post' || rule.effect !== 'approve') return denied;
  return {
    ...denied,
    verdict: 'approve',
    approval: { timeout: rule.timeout, timeoutEffect: rule.timeoutEffect },
  };
}

/** Session rules, also observing ones, then the built-in limits. */
function sessionDecision(
  bundle: CompiledBundle,
  call: ToolCall,
  counters: Counters,
  records: EvaluatedRecord[],
): Decision | null {
  const { maxAttempts, maxToolCalls, maxCallsPerTool } = bundle.limits;
  const reached = counters.executions >= maxToolCalls || counters.attempts >= maxAttempts;
  for (const rule of bundle.sessions) {
    if (rule.shadow) continue;
    const metadata = metadataOf(rule);
    const extra = reached && Object.keys(metadata).length > 0 ? { metadata } : {};
    const message = reached ? rule.message : null;
    records.push({ name: rule.id, type: 'session_contract', passed: !reached, message, ...extra });
    if (reached) return denial(bundle, call, records, 'yaml_session', rule.id, rule.message);
  }
  if (counters.executions >= maxToolCalls) {
    return denial(
      bundle,
      call,
      records,
      'operation_limit',
      'max_tool_calls',
      operationLimitReason(maxToolCalls),
    );
  }
  const perTool = maxCallsPerTool.get(call.tool);
  if (perTool !== undefined && counters.toolExecutions >= perTool) {
    const reason = perToolLimitReason(call.tool, counters.toolExecutions, perTool);
    return denial(bundle, call, records, 'operation_limit', `max_calls_per_tool:${call.tool}`, reason);
  }
  return null;
}

function shadowRecords(
  bundle: CompiledBundle,
  shadows: readonly CompiledRule[],
  view: View,
  counters: Counters | undefined,
): EvaluatedRecord[] {
  const records = shadows
    .filter(({ rule }) => rule.type !== 'post')
    .map((compiled) => recordOf(compiled, view));
  for (const rule of counters ? bundle.sessions : []) {
    if (!rule.shadow || !counters) continue;
    const passed = !exceeds(rule.limits, view.call.tool, counters);
    const message = passed ? null : rule.message;
    records.push({
      name: rule.id,
      type: 'session_contract',
      passed,
      message,
      ...(passed ? {} : { observed: true }),
    });
  }
  return records;
}

function base(bundle: CompiledBundle, call: ToolCall, records: readonly EvaluatedRecord[]) {
  return {
    approval: null,
    mode: bundle.mode,
    sideEffect: sideEffectOf(call, bundle.tools),
    records,
    shadows: [],
    policyError: records.some(hasPolicyError),
  };
}

const denial = (
  bundle: CompiledBundle,
  call: ToolCall,
  records: readonly EvaluatedRecord[],
  source: DecisionSource,
  name: string,
  reason: string,
): Decision => ({ ...base(bundle, call, records), verdict: 'deny', source, name, reason });

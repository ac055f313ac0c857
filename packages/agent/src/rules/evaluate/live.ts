// The decision on a live call, before it runs. Everything that may refuse is looked at before a person is asked,
// whatever the order of the document (promise P61 of the hub's docs/promises.md). Hooks, the approval itself and the
// counters belong to the caller.
import type { ApprovalTerms, Mode, PreRule, SandboxRule, SessionRule, SideEffect } from '../bundle/rule.ts';
import type { Budget } from '../regex/regex.ts';
import { type ToolCall, toolNameProblem, type View } from './call.ts';
import type { CompiledBundle, CompiledRule } from './compile.ts';
import {
  attemptRefusal,
  type Counters,
  endsSession,
  exceeds,
  type LimitRefusal,
  perToolRefusal,
  toolCallRefusal,
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

/** A contract that wants a person to be asked. */
export interface Ask {
  readonly name: string;
  readonly message: string;
}

export interface Decision {
  /** `approve`: nothing refuses the call, and a person must be asked first, under `approval`. */
  readonly verdict: 'allow' | 'deny' | 'approve';
  readonly source: DecisionSource | null;
  /** The contract's id, or the name of the limit. */
  readonly name: string | null;
  /** Of an `approve`: the messages of all that ask, a line each, at most 4,000 characters. */
  readonly reason: string | null;
  /** The shortest timeout of those that ask; the effect is `deny` unless all have `allow`. Null but for `approve`. */
  readonly approval: ApprovalTerms | null;
  /** Every contract that asks, in order; empty but for `approve`. */
  readonly asks: readonly Ask[];
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
  /** A person approved the call: what asks is passed over, what refuses still refuses. */
  readonly approved?: boolean;
  readonly budget?: Budget;
}

/** The attempt limit alone, which comes before hooks: a denial, or null. */
export function attemptDecision(bundle: CompiledBundle, call: ToolCall, counters: Counters): Decision | null {
  const { attempts } = bundle.limits;
  if (counters.attempts < attempts.max) return null;
  return denialBy(bundle, call, [], 'attempt_limit', attemptRefusal(attempts));
}

/**
 * Decision of the limits and session rules alone: a denial, or null. `evaluateCall` puts the attempt limit before every
 * other rule, and the rest behind them.
 */
export const limitDecision = (bundle: CompiledBundle, call: ToolCall, counters: Counters): Decision | null =>
  attemptDecision(bundle, call, counters) ?? sessionDecision(bundle, call, counters, []);

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
  const asking: Asking[] = [];
  for (const compiled of rules.before) {
    const record = recordOf(compiled, view);
    records.push(record);
    if (record.passed || record.observed) continue;
    if (asksFirst(compiled)) asking.push({ compiled, record });
    else return denial(bundle, call, records, sourceOf(compiled), compiled.rule.id, record.message ?? '');
  }
  if (counters) {
    const refused = sessionDecision(bundle, call, counters, records);
    if (refused) return refused;
  }
  if (asking.length > 0 && !options.approved) return question(bundle, call, records, asking);
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

interface Asking {
  readonly compiled: CompiledRule;
  readonly record: EvaluatedRecord;
}

const asksFirst = ({ rule }: CompiledRule): boolean => rule.type !== 'post' && rule.effect === 'approve';

const sourceOf = ({ rule }: CompiledRule): DecisionSource =>
  rule.type === 'sandbox' ? 'yaml_sandbox' : 'yaml_precondition';

function argumentsProblem(call: ToolCall): string | null {
  const args: unknown = call.args;
  return args !== null && typeof args === 'object' && !Array.isArray(args)
    ? null
    : 'the arguments must be a mapping';
}

/** Characters of the message that a person is shown. */
const maxQuestion = 4000;

function question(
  bundle: CompiledBundle,
  call: ToolCall,
  records: readonly EvaluatedRecord[],
  asking: readonly Asking[],
): Decision {
  const [first] = asking;
  const terms = asking.map(({ compiled }) => compiled.rule as PreRule | SandboxRule);
  const asks = asking.map(({ compiled, record }) => ({
    name: compiled.rule.id,
    message: record.message ?? '',
  }));
  const reason = asks.map(({ message }) => message).join('\n');
  return {
    ...base(bundle, call, records),
    verdict: 'approve',
    source: first ? sourceOf(first.compiled) : null,
    name: first?.compiled.rule.id ?? null,
    reason: reason.slice(0, maxQuestion),
    approval: {
      timeout: Math.min(...terms.map(({ timeout }) => timeout)),
      timeoutEffect: terms.every(({ timeoutEffect }) => timeoutEffect === 'allow') ? 'allow' : 'deny',
    },
    asks,
  };
}

/** Session rules, also observing ones, in order, then the limits for calls of one tool, then the caller's own. */
function sessionDecision(
  bundle: CompiledBundle,
  call: ToolCall,
  counters: Counters,
  records: EvaluatedRecord[],
): Decision | null {
  const { attempts, toolCalls, ofTool } = bundle.limits;
  const toolLimit = ofTool(call.tool);
  const isToolSpent = counters.toolExecutions >= toolLimit.max;
  for (const rule of bundle.sessions) {
    if (rule.shadow) continue;
    const isOver = endsSession(rule.limits, counters);
    records.push(sessionRecord(rule, !isOver && !(isToolSpent && toolLimit.rule === rule)));
    if (isOver) return denial(bundle, call, records, 'yaml_session', rule.id, rule.message);
  }
  const refuse = (refusal: LimitRefusal): Decision =>
    denialBy(bundle, call, records, 'operation_limit', refusal);
  if (isToolSpent) return refuse(perToolRefusal(toolLimit, call.tool));
  if (counters.executions >= toolCalls.max) return refuse(toolCallRefusal(toolCalls));
  // After an approval: the attempts were checked before it.
  return counters.attempts >= attempts.max ? refuse(attemptRefusal(attempts)) : null;
}

function sessionRecord(rule: SessionRule, passed: boolean): EvaluatedRecord {
  const metadata = passed ? {} : metadataOf(rule);
  return {
    name: rule.id,
    type: 'session_contract',
    passed,
    message: passed ? null : rule.message,
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
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
    asks: [],
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

const denialBy = (
  bundle: CompiledBundle,
  call: ToolCall,
  records: readonly EvaluatedRecord[],
  source: DecisionSource,
  { name, reason }: LimitRefusal,
): Decision => denial(bundle, call, records, source, name, reason);

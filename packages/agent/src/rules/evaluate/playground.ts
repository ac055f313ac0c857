// Dry runs: every rule that looks at a call, none of them deciding alone; nothing is counted and no event is made.
import type { ReadResult } from '../bundle/document.ts';
import type { Effect, Mode } from '../bundle/rule.ts';
import { RuleError } from '../error.ts';
import { newBudget } from '../regex/regex.ts';
import { type ToolCall, toolNameProblem, type View } from './call.ts';
import { type CompiledBundle, type CompiledRule, compileBundle, type EngineOptions } from './compile.ts';
import { type Counters, exceeds } from './limits.ts';
import { limitDecision } from './live.ts';
import { type EvaluatedRecord, recordOf, viewOf } from './record.ts';
import type { ConditionTrace, Tracer } from './trace.ts';

/** One entry of `contracts_evaluated`. */
export interface EvaluatedContract {
  readonly id: string;
  readonly type: 'precondition' | 'sandbox' | 'session_contract' | 'postcondition';
  /** True when the call passed the contract. The specification gives this name; `fired` is clearer. */
  readonly matched: boolean;
  /** True when the contract fired: the opposite of `matched`. */
  readonly fired: boolean;
  readonly effect: Effect;
  readonly message: string | null;
  /** It fired, but only observes. */
  readonly observed: boolean;
  readonly tags: readonly string[];
  /**
   * Each condition with the value it saw, secrets replaced; only where a trace was asked for, null for contracts
   * without conditions.
   */
  readonly trace?: ConditionTrace | null;
}

/** The evaluate response of the console, without `evaluation_time_ms`, which the caller measures. */
export interface DryRun {
  /** `approve`: nothing refuses the call, and a person would be asked. */
  readonly verdict: 'allow' | 'deny' | 'approve' | 'warn';
  readonly mode: Mode;
  readonly contracts_evaluated: readonly EvaluatedContract[];
  readonly deciding_contract: string | null;
  readonly policy_version: string;
}

export interface DryRunOptions {
  /** Version that the caller computed for the text: 12 or 64 hex digits of its SHA-256. */
  readonly policyVersion?: string;
  /** A tool result; post contracts are evaluated only with one. */
  readonly output?: unknown;
  /** Counters before the call; session contracts and limits are evaluated only with them. */
  readonly session?: Counters;
  /**
   * `traceCondition` or a tracer, for entries with a trace of their conditions. Handed in, so that programs that do not
   * trace need not carry it.
   */
  readonly trace?: Tracer;
  /**
   * Steps before the call, and again after it; default as for live calls, so that both come to the same result. If
   * the steps are too few, contracts fire for that reason.
   */
  readonly steps?: number;
}

/** Documents in one evaluate request. */
export const maxEvaluateDocuments = 10;

/**
 * Evaluates a call against every matching contract: all pre and sandbox, all session contracts and limits if there are
 * counters, and all post contracts if there is an output. Never throws.
 */
export function dryRun(bundle: CompiledBundle, call: ToolCall, options: DryRunOptions = {}): DryRun {
  const budget = newBudget(options.steps);
  // Callers check the name; an unreadable one is looked at by the rules for every tool only.
  const rules = bundle.rulesFor(typeof call.tool === 'string' ? call.tool : '');
  const before = viewOf(bundle, call, undefined, budget);
  const entry = (compiled: CompiledRule, view: View): EvaluatedContract => {
    const { left } = view.budget;
    const record = recordOf(compiled, view);
    if (!options.trace) return entryOf(compiled, record);
    const { rule } = compiled;
    // The words of a sandbox are not conditions.
    if (rule.type === 'sandbox') return entryOf(compiled, record, null);
    // With the same steps again, so that it ends where the record ended and costs the run nothing.
    return entryOf(compiled, record, options.trace(rule.when, { ...view, budget: { left } }));
  };
  const entries = rules.before.map((compiled) => entry(compiled, before));
  const enforced = entries.filter((one) => one.fired && !one.observed);
  const limit = options.session
    ? sessionEntries(bundle, call, options.session, { entries, traced: options.trace !== undefined })
    : null;
  const refusing = enforced.find(({ effect }) => effect !== 'approve');
  const deciding = refusing ?? enforced[0];
  let warned: EvaluatedContract | undefined;
  if (options.output !== undefined) {
    const after = viewOf(bundle, call, options.output, newBudget(options.steps));
    const posts = rules.post.map((compiled) => entry(compiled, after));
    entries.push(...posts);
    warned = posts.find((one) => one.fired && !one.observed);
  }
  return {
    verdict: refusing || limit !== null ? 'deny' : deciding ? 'approve' : warned ? 'warn' : 'allow',
    mode: bundle.mode,
    contracts_evaluated: entries,
    deciding_contract: refusing?.id ?? limit ?? (deciding ?? warned)?.id ?? null,
    policy_version: options.policyVersion ?? '',
  };
}

/**
 * Compiles up to 10 documents with up to 100 contracts and runs a call against them.
 * @throws RuleError "Invalid contract YAML: …" or "Invalid tool name: …"
 */
export function evaluateYaml(
  yamlText: string,
  call: ToolCall,
  options: DryRunOptions & { readonly engine?: EngineOptions } = {},
): DryRun {
  requireToolName(call);
  return evaluateCompiled(compileForDryRuns(yamlText, options.engine), call, options);
}

function requireToolName({ tool }: ToolCall): void {
  const problem = toolNameProblem(tool);
  if (problem !== null) throw new RuleError(`Invalid tool name: ${problem}`);
}

/**
 * The first half of `evaluateYaml`, for callers that try many calls.
 * @param source a text, or what `readBundle` made of it
 * @throws RuleError "Invalid contract YAML: …"
 */
export function compileForDryRuns(source: string | ReadResult, engine: EngineOptions = {}): CompiledBundle {
  const read = typeof source === 'string' ? null : source;
  const options = { maxDocuments: maxEvaluateDocuments, ...engine };
  const compiled = read?.ok === false ? read : compileBundle(read?.documents ?? String(source), options);
  if (compiled.ok) return compiled.bundle;
  const all = compiled.problems.map((problem) => problem.message.replace(/^Invalid YAML: /, ''));
  throw new RuleError(`Invalid contract YAML: ${all.join('; ')}`.slice(0, 10_000));
}

/** The second half of `evaluateYaml`. @throws RuleError "Invalid tool name: …" */
export function evaluateCompiled(
  bundle: CompiledBundle,
  call: ToolCall,
  options: DryRunOptions = {},
): DryRun {
  requireToolName(call);
  return dryRun(bundle, call, options);
}

/** @param trace absent: none was asked for */
function entryOf(
  { rule }: CompiledRule,
  record: EvaluatedRecord,
  trace?: ConditionTrace | null,
): EvaluatedContract {
  const entry: { -readonly [K in keyof EvaluatedContract]: EvaluatedContract[K] } = {
    id: rule.id,
    type: record.type as EvaluatedContract['type'],
    matched: record.passed,
    fired: !record.passed,
    effect: rule.effect,
    message: record.message,
    observed: record.observed === true,
    tags: rule.tags,
  };
  // Set, not spread: a copy of the entry makes the whole run take twice as long.
  if (trace !== undefined) entry.trace = trace;
  return entry;
}

/** Adds the session contracts. Returns the name in the refusal of a live call by its counters; null without one. */
function sessionEntries(
  bundle: CompiledBundle,
  call: ToolCall,
  counters: Counters,
  { entries, traced }: { readonly entries: EvaluatedContract[]; readonly traced: boolean },
): string | null {
  for (const rule of bundle.sessions) {
    if (rule.shadow) continue;
    const fired = exceeds(rule.limits, call.tool, counters);
    const { id, effect, tags } = rule;
    const message = fired ? rule.message : null;
    entries.push({
      id,
      type: 'session_contract',
      matched: !fired,
      fired,
      effect,
      message,
      observed: false,
      tags,
      ...(traced ? { trace: null } : {}),
    });
  }
  return limitDecision(bundle, call, counters)?.name ?? null;
}

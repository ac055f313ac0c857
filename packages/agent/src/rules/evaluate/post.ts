// The post phase: what may be shown of a tool's result, and what is to be warned about.
import type { SideEffect } from '../bundle/rule.ts';
import { type Budget, compileRegex, maxSteps, newBudget, type ReplacingRegex } from '../regex/regex.ts';
import type { ToolCall } from './call.ts';
import type { CompiledBundle, CompiledRule } from './compile.ts';
import { type EvaluatedRecord, hasPolicyError, recordOf, viewOf } from './record.ts';
import type { ResultText } from './result-text.ts';
import { mustBeSeen, sideEffectOf } from './tools.ts';

export interface PostOptions {
  /** The result as `output.text`. Default: texts as they are, everything else as JSON. */
  readonly outputText?: ResultText;
  /** True if the tool returned nothing, so that nothing can be redacted. Default: true for undefined and null. */
  readonly isMissing?: boolean;
  /** Generic redaction, for a redact rule that names no pattern; without it the whole text is replaced. */
  readonly redactText?: (text: string) => string;
  readonly budget?: Budget;
}

export interface PostResult {
  /** The result to hand on: the same value, or a text when something was replaced. */
  readonly output: unknown;
  readonly changed: 'no' | 'redacted' | 'suppressed';
  readonly warnings: readonly string[];
  readonly records: readonly EvaluatedRecord[];
  readonly shadows: readonly EvaluatedRecord[];
  /**
   * Reason that holds back a result that ends no call, such as a tool's question to its user: the message of the first
   * enforced rule that did not pass and does more than warn. Null: the result goes on.
   */
  readonly withheldReason: string | null;
  /** Every enforced rule passed; true when there is none. */
  readonly postconditionsPassed: boolean;
  readonly policyError: boolean;
}

const marker = '[REDACTED]';

/** Evaluates all post rules of a call that ran (or failed). Never throws. */
export function evaluatePost(
  bundle: CompiledBundle,
  call: ToolCall,
  output: unknown,
  options: PostOptions = {},
): PostResult {
  const budget = options.budget ?? newBudget();
  // Of its own: what is replaced must not decide which contracts fire.
  const replacing = newBudget(maxSteps);
  const records: EvaluatedRecord[] = [];
  const warnings: string[] = [];
  let text: string | undefined;
  let suppressed: string | undefined;
  let withheldReason: string | null = null;
  let unreadable = false;
  let shadows: EvaluatedRecord[] = [];
  try {
    const rules = bundle.rulesFor(call.tool);
    const view = viewOf(bundle, call, output, budget, options.outputText);
    const { isMissing = output === undefined || output === null } = options;
    const result = mustBeSeen(call, bundle.tools);
    for (const compiled of rules.post) {
      const record = recordOf(compiled, view);
      records.push(record);
      if (record.passed) continue;
      const message = record.message ?? '';
      const effect = compiled.rule.effect;
      if (!record.observed && effect !== 'warn') withheldReason ??= message;
      if (record.observed) warnings.push(`[observe] ${message}`);
      // Hiding the result cannot undo a change of the world.
      else if (effect === 'warn' || result) {
        warnings.push(`${message} ${advice(sideEffectOf(call, bundle.tools))}`);
      } else if (effect === 'deny') {
        suppressed ??= `[OUTPUT SUPPRESSED] ${message}`;
        warnings.push(message);
      } else {
        const before = text ?? view.outputText.text ?? (isMissing ? undefined : null);
        text = redact(compiled, before, replacing, options.redactText);
        warnings.push(message);
      }
    }
    shadows = rules.shadow
      .filter(({ rule }) => rule.type === 'post')
      .map((compiled) => recordOf(compiled, view));
  } catch {
    unreadable = true;
    withheldReason = 'The call cannot be read.';
    suppressed = `[OUTPUT SUPPRESSED] ${withheldReason}`;
  }
  return {
    output: suppressed ?? text ?? output,
    changed: suppressed !== undefined ? 'suppressed' : text !== undefined ? 'redacted' : 'no',
    warnings,
    records,
    shadows,
    withheldReason,
    postconditionsPassed: !unreadable && records.every((record) => record.passed || record.observed === true),
    policyError: unreadable || records.some(hasPolicyError),
  };
}

const advice = (sideEffect: SideEffect): string =>
  sideEffect === 'pure' || sideEffect === 'read'
    ? 'Consider retrying.'
    : 'Tool already executed — assess before proceeding.';

/** Compiled when a result is first redacted. */
const compiledPatterns = new WeakMap<CompiledRule, readonly ReplacingRegex[]>();

function patternsOf(rule: CompiledRule): readonly ReplacingRegex[] {
  const patterns = compiledPatterns.get(rule) ?? rule.patterns.map(compileRegex);
  compiledPatterns.set(rule, patterns);
  return patterns;
}

/** @param text null: the result cannot be written as a text; undefined: there is none, so nothing is redacted */
function redact(
  rule: CompiledRule,
  text: string | null | undefined,
  budget: Budget,
  redactText: ((text: string) => string) | undefined,
): string | undefined {
  if (text === undefined) return undefined;
  if (text === null) return marker;
  if (rule.patterns.length > 0)
    return patternsOf(rule).reduce((left, regex) => regex.replaceAll(left, marker, budget).text, text);
  try {
    return redactText ? redactText(text) : marker;
  } catch {
    return marker;
  }
}

// Dry runs: every rule that looks at a call, none of them deciding alone, no session and no event.

import type { Effect, Mode } from '../bundle/rule.ts';
import { RuleError } from '../error.ts';
import { type Budget, newBudget } from '../regex/regex.ts';
import { type ToolCall, toolNameProblem } from './call.ts';
import { type CompiledBundle, type CompiledRule, compileBundle, type EngineOptions } from './compile.ts';
import { type EvaluatedRecord, recordOf, viewOf } from './record.ts';

/** One entry of `contracts_evaluated`. */
export interface EvaluatedContract {
  readonly id: string;
  readonly type: 'precondition' | 'sandbox' | 'postcondition';
  /** True when the call passed the contract: false means that it fired. */
  readonly matched: boolean;
  readonly effect: Effect;
  readonly message: string | null;
  /** It fired, but only observes. */
  readonly observed: boolean;
  readonly tags: readonly string[];
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
  /** What the caller computed for the text: 12 or 64 hex digits of its SHA-256. */
  readonly policyVersion?: string;
  /** A tool result; post contracts are evaluated only with one. */
  readonly output?: unknown;
  /** Work allowed; below zero afterwards when it was too little, and then contracts fired for that reason. */
  readonly budget?: Budget;
}

/** Work of one run, far more than its five seconds allow: the caller's clock ends it, and this only what no clock ends. */
const workOfRun = 10_000_000_000;

/** Documents in one evaluate request. */
export const maxEvaluateDocuments = 10;

/** Evaluates a call against every matching contract: all pre, all sandbox, and all post if there is an output. Never throws. */
export function dryRun(bundle: CompiledBundle, call: ToolCall, options: DryRunOptions = {}): DryRun {
  const budget = options.budget ?? newBudget();
  // Callers check the name; an unreadable one is looked at by the rules for every tool only.
  const rules = bundle.rulesFor(typeof call.tool === 'string' ? call.tool : '');
  const before = viewOf(bundle, call, undefined, budget);
  const entries = rules.before.map((compiled) => entryOf(compiled, recordOf(compiled, before)));
  const enforced = entries.filter((entry) => !entry.matched && !entry.observed);
  const refusing = enforced.find(({ effect }) => effect !== 'approve');
  const deciding = refusing ?? enforced[0];
  let warned: EvaluatedContract | undefined;
  if (options.output !== undefined) {
    const after = viewOf(bundle, call, options.output, budget);
    const posts = rules.post.map((compiled) => entryOf(compiled, recordOf(compiled, after)));
    entries.push(...posts);
    warned = posts.find((entry) => !entry.matched && !entry.observed);
  }
  return {
    verdict: refusing ? 'deny' : deciding ? 'approve' : warned ? 'warn' : 'allow',
    mode: bundle.mode,
    contracts_evaluated: entries,
    deciding_contract: (deciding ?? warned)?.id ?? null,
    policy_version: options.policyVersion ?? '',
  };
}

/**
 * Compiles up to 10 documents with up to 100 contracts and runs a call against them.
 * @throws RuleError "Invalid contract YAML: …", "Invalid tool name: …" or "Evaluation timed out"
 */
export function evaluateYaml(
  yamlText: string,
  call: ToolCall,
  options: DryRunOptions & { readonly engine?: EngineOptions } = {},
): DryRun {
  const name = toolNameProblem(call.tool);
  if (name !== null) throw new RuleError(`Invalid tool name: ${name}`);
  const compiled = compileBundle(yamlText, { maxDocuments: maxEvaluateDocuments, ...options.engine });
  if (!compiled.ok) {
    const all = compiled.problems.map((problem) => problem.message.replace(/^Invalid YAML: /, ''));
    throw new RuleError(`Invalid contract YAML: ${all.join('; ')}`.slice(0, 10_000));
  }
  const budget = options.budget ?? newBudget(workOfRun);
  const result = dryRun(compiled.bundle, call, { ...options, budget });
  if (budget.left < 0) throw new RuleError('Evaluation timed out');
  return result;
}

function entryOf({ rule }: CompiledRule, record: EvaluatedRecord): EvaluatedContract {
  return {
    id: rule.id,
    type: record.type as EvaluatedContract['type'],
    matched: record.passed,
    effect: rule.effect,
    message: record.message,
    observed: record.observed === true,
    tags: rule.tags,
  };
}

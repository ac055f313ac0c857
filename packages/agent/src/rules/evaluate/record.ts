// One rule looked at for one call: the record of it, and the rule that whatever goes wrong means "fires". Keeps promise
// P60.
import type { CommonRule } from '../bundle/rule.ts';
import { type Budget, newBudget } from '../regex/regex.ts';
import type { JsonObject } from '../yaml.ts';
import type { ToolCall, View } from './call.ts';
import type { CompiledBundle, CompiledRule } from './compile.ts';
import { fault, no } from './operator.ts';
import { type ResultText, resultText } from './result-text.ts';

export type RecordType = 'precondition' | 'sandbox' | 'session_contract' | 'postcondition';

/** An entry of `rules_evaluated` in an audit event. */
export interface EvaluatedRecord {
  readonly name: string;
  readonly type: RecordType;
  readonly passed: boolean;
  /** Null when passed. */
  readonly message: string | null;
  /** Only on a failure of an observing rule. */
  readonly observed?: true;
  /** Only on a failure: tags, the rule's own metadata, `policy_error` and `error_detail`. */
  readonly metadata?: Readonly<JsonObject>;
}

const typeNames = { pre: 'precondition', sandbox: 'sandbox', post: 'postcondition' } as const;

/**
 * Evaluates one rule. Never throws: a fault, an exception or a spent budget makes the rule fire with `policy_error`.
 */
export function recordOf(compiled: CompiledRule, view: View): EvaluatedRecord {
  const { rule } = compiled;
  const type = typeNames[rule.type];
  let policyError = false;
  let detail: string | undefined;
  try {
    const outcome = compiled.fires(view);
    if (outcome === no) return { name: rule.id, type, passed: true, message: null };
    policyError = outcome === fault;
  } catch (error) {
    policyError = true;
    detail = detailOf(error);
  }
  const metadata: JsonObject = {
    ...metadataOf(rule),
    ...(policyError ? { policy_error: true } : {}),
    ...(detail === undefined ? {} : { error_detail: detail }),
  };
  return {
    name: rule.id,
    type,
    passed: false,
    message: compiled.message(view),
    ...(rule.mode === 'observe' ? { observed: true as const } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
}

/** Metadata of a failed record: the rule's tags, with the rule's own metadata merged in. */
export const metadataOf = (rule: CommonRule): JsonObject => ({
  ...(rule.tags.length > 0 ? { tags: [...rule.tags] } : {}),
  ...rule.metadata,
});

export const hasPolicyError = (record: EvaluatedRecord): boolean => record.metadata?.policy_error === true;

/**
 * View that rules have of a call.
 * @param output undefined before the tool ran
 * @param outputText default: that of `output`
 */
export function viewOf(
  bundle: CompiledBundle,
  call: ToolCall,
  output: unknown,
  budget: Budget = newBudget(),
  outputText: ResultText = resultText(output),
): View {
  return { call, output, outputText, env: bundle.env, budget };
}

/** An exception in a few words; never throws itself. */
export function detailOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error).slice(0, 200);
  } catch {
    return 'unreadable error';
  }
}

// Records about contracts that only observe, and about shadow copies. Decides nothing.
import type { RuleEvaluated } from '../record.ts';
import type { EvaluatedCondition } from '../rules/evaluate/explain.ts';
import { observedDetails, shadowDetails } from './denial.ts';
import type { Journal } from './journal.ts';

/** The conditions of a contract as they come out for the call. */
type ConditionsOf = (id: string | null) => readonly EvaluatedCondition[];

/**
 * One record per contract in observe mode that failed, before the decision's own.
 * @param policy_version of the contracts in force
 */
export async function recordObserved(
  journal: Journal,
  rules: readonly RuleEvaluated[],
  policy_version: string,
  conditionsOf: ConditionsOf,
): Promise<void> {
  for (const rule of rules)
    if (rule.observed)
      await journal.emit('call_would_deny', {
        ...observedDetails(rule, conditionsOf(rule.name)),
        policy_version,
      });
}

/** @param policy_version of the contracts that the shadow copies belong to */
export async function recordShadows(
  journal: Journal,
  shadows: readonly RuleEvaluated[],
  policy_version: string,
  conditionsOf: ConditionsOf,
): Promise<void> {
  for (const shadow of shadows) {
    const conditions = shadow.passed ? [] : conditionsOf(shadow.name);
    const action = shadow.passed ? 'call_allowed' : 'call_would_deny';
    await journal.emit(action, { ...shadowDetails(shadow, conditions), policy_version });
  }
}

// Reasons against running a call, in the words of its record. Decides nothing.
import type { ApprovalOutcome, AskingContract } from '../approvals.ts';
import type { AuditAction, RuleEvaluated } from '../record.ts';
import type { EvaluatedCondition } from '../rules/evaluate/explain.ts';
import {
  type Counters,
  type MergedLimits,
  perToolRefusal,
  toolCallRefusal,
} from '../rules/evaluate/limits.ts';
import type { Decision } from '../rules/evaluate/live.ts';
import type { CallerRefusal } from './call.ts';
import type { RecordDetails } from './journal.ts';

export interface Denial {
  readonly source: string;
  readonly name: string | null;
  readonly reason: string;
  readonly policyError?: boolean;
  /** True if a guard in observe mode refuses too. */
  readonly isFinal?: boolean | undefined;
  /** Of the contract of the document that decided. */
  readonly conditions?: readonly EvaluatedCondition[];
}

/** The denial of an execution that exceeds a limit of calls with itself; null: it exceeds none. */
export function refusedByLimit(
  { toolCalls, ofTool }: MergedLimits,
  { executions, toolExecutions }: Counters,
  tool: string,
): Denial | null {
  if (executions > toolCalls.max)
    return { ...toolCallRefusal(toolCalls), source: toolCalls.rule ? 'yaml_session' : 'operation_limit' };
  const toolLimit = ofTool(tool);
  if (toolExecutions <= toolLimit.max) return null;
  return { ...perToolRefusal(toolLimit, tool), source: 'operation_limit' };
}

/** The caller's own refusal, which holds in every mode. */
export const refusedByCaller = (refusal: CallerRefusal): Denial => ({
  source: 'hook',
  ...refusal,
  isFinal: true,
});

export const denialOf = (decision: Decision, conditions: readonly EvaluatedCondition[] = []): Denial => ({
  source: decision.source ?? 'yaml_precondition',
  name: decision.name,
  reason: decision.reason ?? 'Denied.',
  policyError: decision.policyError,
  conditions,
});

/** The question to people, and the asking contracts. */
export const questionOf = ({ source, name, reason }: Denial, decision: Decision) => ({
  message: reason,
  decisionSource: source,
  contractName: name,
  contracts: askingContracts(decision),
});

/** The contracts that ask, each with the content of its `then`. */
const askingContracts = ({ asks, records }: Decision): AskingContract[] =>
  asks.map((ask) => {
    const metadata = records.find(({ name }) => name === ask.name)?.metadata;
    return metadata === undefined ? ask : { ...ask, metadata };
  });

/** Start of the reason if a contract asks and nobody can be asked. */
export const noBackend = 'Approval required but no approval backend configured';

/** The denial after a refused or undecided question. */
export function refusedByPeople(denial: Denial, { status, decidedBy, reason }: ApprovalOutcome): Denial {
  if (status !== 'denied') return { ...denial, reason: `${denial.reason} (nobody decided in time)` };
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  const why = reason === null ? '' : `: ${reason}`;
  return { ...denial, reason: `${denial.reason} (denied${by}${why})` };
}

/** The record of the end of a question. */
export function actionOf({ status, proceed }: ApprovalOutcome): AuditAction {
  if (proceed && status === 'approved') return 'call_approval_granted';
  return !proceed && status === 'denied' ? 'call_approval_denied' : 'call_approval_timeout';
}

/** The arguments are not those that were judged: somebody changed them while the call waited. */
export const argumentsChanged: Denial = {
  source: 'arguments_changed',
  name: 'arguments_changed',
  reason: 'The arguments changed after the contracts judged them. Repeat the call.',
};

/** The denial of arguments that the tool could read differently than the contracts. */
export const argumentsInDoubt = (doubt: string): Denial => ({
  source: 'arguments_in_doubt',
  name: 'arguments_in_doubt',
  reason: `The arguments cannot be judged: ${doubt}. Pass plain data; a function can give the tool other values.`,
});

/** Fields of a record for a denial. */
export const detailsOf = ({ source, name, reason, conditions = [] }: Denial): RecordDetails => ({
  decision_source: source,
  decision_name: name,
  reason,
  conditions,
});

/** Details of a record about a contract in observe mode that fired. */
export const observedDetails = (
  rule: RuleEvaluated,
  conditions: readonly EvaluatedCondition[],
): RecordDetails => ({
  mode: 'observe',
  decision_source: 'precondition',
  decision_name: rule.name,
  reason: rule.message,
  policy_error: rule.metadata?.policy_error === true,
  conditions,
});

/** Details of a record about a shadow copy. */
export const shadowDetails = (
  shadow: RuleEvaluated,
  conditions: readonly EvaluatedCondition[],
): RecordDetails => ({
  mode: 'observe',
  decision_source: shadowSources[shadow.type] ?? 'yaml_precondition',
  decision_name: shadow.name,
  reason: shadow.message,
  conditions,
  // It comes after the decision of the call.
  follows_decision: true,
});

/** Sources of shadow copies in records, by type of contract. */
const shadowSources: { readonly [type: string]: string } = {
  precondition: 'yaml_precondition',
  sandbox: 'yaml_sandbox',
  session_contract: 'yaml_session',
  postcondition: 'yaml_postcondition',
};

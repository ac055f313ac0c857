// An explanation in an evaluator's thread: the contract that decided a stored call, its conditions with the call's
// values, and the document's decision.
import { hash } from 'node:crypto';
import {
  type AcceptedKinds,
  absentOperators,
  compileBundle,
  createExplainer,
  createRedaction,
  type EvaluatedCondition,
  maxStoredRules,
  type Redaction,
  readBundle,
  type YamlDocument,
} from 'reeve-agent/rules';
import type { ExplainRequest } from '../../../src/evaluation/port/evaluator.ts';
import type { ReplayDecision } from '../../../src/evaluation/record.ts';
import {
  contractText,
  type Explanation,
  explainedConditions,
  type Rule,
} from '../../../src/evaluation/rules/explanation.ts';
import type { ReplayCall } from '../../../src/evaluation/rules/replay-call.ts';
import { createJudge, type Judge } from '../../../src/evaluation/rules/replay-judge.ts';
import { HubError } from '../../../src/shared/error.ts';
import { CompiledTexts } from './compiled-texts.ts';
import { profilesIn } from './evaluation.ts';

export interface ExplainTask {
  readonly tenantId: string;
  readonly request: ExplainRequest;
  readonly accepted: AcceptedKinds & { readonly apiVersions?: readonly string[] };
  /** Prefix of the hub's own API keys. */
  readonly keyPrefix: string;
}

interface Compiled {
  readonly document: YamlDocument;
  readonly rules: ReadonlyMap<string, Rule>;
  readonly judge: Judge;
  readonly explain: (rule: Rule, call: ReplayCall) => readonly EvaluatedCondition[];
}

/** Of this thread. */
const texts = new CompiledTexts<Compiled>();
const noCounters = { attempts: 0, executions: 0, toolExecutions: 0 };

/** @throws HubError unprocessable */
export function explainCall(task: ExplainTask): Explanation {
  const { tenantId, accepted, keyPrefix, request } = task;
  const { yaml, contractId, call, words, toolArguments } = request;
  // All that the compiled text depends on; a tenant never finds what another has compiled.
  const key = JSON.stringify([tenantId, accepted, keyPrefix, toolArguments, words, hash('sha256', yaml)]);
  const { document, rules, judge, explain } = texts.of(key, yaml.length, () => compile(task));
  const rule = contractId === null ? undefined : rules.get(contractId);
  return {
    contract: contractId === null ? null : contractText(yaml, document, contractId),
    conditions: rule
      ? explainedConditions(rule, { document, call, words, explain: (one) => explain(one, call) })
      : [],
    decision: decisionOf(judge, call),
  };
}

function decisionOf(judge: Judge, call: ReplayCall): ReplayDecision | null {
  const { decision, refuses, doubts } = judge.call(call);
  if (doubts.length > 0) return null;
  // The session's counters are not stored: limits could only refuse more.
  return !refuses && judge.limits({ tool: call.tool, counters: null }).uncertain ? null : decision;
}

function compile({ request, accepted, keyPrefix }: ExplainTask): Compiled {
  const { yaml, toolArguments, words } = request;
  const redaction = createRedaction({ keyPrefixes: [keyPrefix] });
  const operators = absentOperators(words.operators);
  const options = {
    ...accepted,
    maxContracts: maxStoredRules,
    toolArguments,
    ...profilesIn(words),
    operators,
    looksSecret: redaction.looksSecret,
  };
  const read = readBundle(yaml, { ...options, operators: words.operators });
  const compiled = read.ok ? compileBundle(read.documents, options) : read;
  const parsed = read.ok ? read.parsed[0] : undefined;
  if (!compiled.ok || !parsed) {
    const problems = compiled.ok ? [] : compiled.problems.map(({ message }) => message);
    const text = `The hub cannot evaluate the document: ${problems.join('; ')}`;
    throw new HubError('unprocessable', text.slice(0, 4000));
  }
  const { bundle } = compiled;
  const explainer = createExplainer(options);
  return {
    document: parsed,
    rules: new Map(bundle.document.rules.map((rule) => [rule.id, rule])),
    judge: createJudge(bundle, words),
    explain: (rule, { tool, args, environment, principal }) =>
      explainer(rule, viewOf({ tool, args, environment, principal }), noCounters).map((condition) =>
        visible(condition, redaction),
      ),
  };
}

/** Nothing of the hub's environment, and no output: neither is stored. */
const viewOf = (call: Pick<ReplayCall, 'tool' | 'args' | 'environment' | 'principal'>) => ({
  call,
  output: undefined,
  outputText: { text: undefined, isReadable: true },
  env: () => undefined,
  budget: { left: 0 },
});

/** The condition with secrets replaced, in the value and in the expected one: a name may mean a secret. */
function visible(condition: EvaluatedCondition, redaction: Redaction): EvaluatedCondition {
  const name = condition.path.slice(condition.path.lastIndexOf('.') + 1);
  const copy = redaction.redactArgs({ [name]: condition.actual }) as { readonly [key: string]: unknown };
  return { ...condition, actual: condition.actual === null ? null : (copy[name] ?? null) };
}

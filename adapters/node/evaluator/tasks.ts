// Tasks of the evaluator's threads, each a call of the domain. Synchronous; remembers nothing but compiled texts.
import {
  type AcceptedKinds,
  absentOperators,
  assembleBundle,
  compileBundle,
  decomposeBundle,
  type JsonObject,
  lintBundle,
  maxStoredRules,
  RuleError,
  readBundle,
  readBundleHeader,
  validateBundle,
} from 'reeve-agent/rules';
import type { Finding } from '../../../src/bundle/rules/finding.ts';
import {
  type Assembly,
  type AssemblyRequest,
  type BundleOutline,
  type BundleParts,
  type DocumentForm,
  type Evaluation,
  maxBundle,
  tooLargeAssembly,
} from '../../../src/evaluation/port/evaluator.ts';
import type { CustomWords } from '../../../src/evaluation/rules/custom-words.ts';
import type { Explanation } from '../../../src/evaluation/rules/explanation.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { DeclaredContract } from '../../../src/usage/rules.ts';
import { type EvaluateTask, evaluate } from './evaluation.ts';
import { type ExplainTask, explainCall } from './explain-task.ts';
import {
  type JudgedCalls,
  type JudgedLimits,
  judgeCalls,
  judgeLimits,
  type Outlined,
  outlineReplay,
} from './replay-tasks.ts';

/** Accepted apiVersions and kinds of bundles. Absent: any `<word>/v1`, `ContractBundle` and `Ruleset`. */
export interface Accepted extends AcceptedKinds {
  readonly apiVersions?: readonly string[];
}

interface Tasks {
  readonly outline: { readonly task: { readonly yaml: string }; readonly result: BundleOutline };
  readonly takeApart: {
    readonly task: { readonly yaml: string; readonly accepted: Accepted; readonly maxContracts: number };
    readonly result: BundleParts;
  };
  readonly listContracts: {
    readonly task: { readonly yaml: string; readonly accepted: Accepted };
    readonly result: readonly DeclaredContract[];
  };
  readonly assemble: {
    readonly task: { readonly request: AssemblyRequest; readonly accepted: Accepted };
    readonly result: Assembly;
  };
  readonly inspect: {
    readonly task: {
      readonly yaml: string;
      readonly accepted: Accepted;
      readonly words: CustomWords;
      readonly form: DocumentForm;
    };
    readonly result: readonly Finding[];
  };
  readonly evaluate: {
    readonly task: EvaluateTask;
    readonly result: Evaluation;
  };
  readonly explain: { readonly task: ExplainTask; readonly result: Explanation };
  readonly outlineReplay: { readonly task: Parameters<typeof outlineReplay>[0]; readonly result: Outlined };
  readonly judgeCalls: { readonly task: Parameters<typeof judgeCalls>[0]; readonly result: JudgedCalls };
  readonly judgeLimits: { readonly task: Parameters<typeof judgeLimits>[0]; readonly result: JudgedLimits };
}

export type Task = { [Kind in keyof Tasks]: { readonly kind: Kind } & Tasks[Kind]['task'] }[keyof Tasks];
export type TaskResult<T extends Task> = Tasks[T['kind']]['result'];

/** @throws HubError by the rules of the evaluator port: errors from the engine are `unprocessable` */
export function perform(task: Task): TaskResult<Task> {
  try {
    return dispatch(task);
  } catch (error) {
    throw error instanceof RuleError ? new HubError('unprocessable', error.message) : error;
  }
}

function dispatch(task: Task): TaskResult<Task> {
  switch (task.kind) {
    case 'outline':
      return readBundleHeader(task.yaml);
    case 'takeApart':
      return decomposeBundle(task.yaml, { ...task.accepted, maxContracts: task.maxContracts });
    case 'listContracts':
      return listContracts(task.yaml, task.accepted);
    case 'assemble':
      return assemble(task.request, task.accepted);
    case 'inspect':
      return inspect(task);
    case 'evaluate':
      return evaluate(task);
    case 'explain':
      return explainCall(task);
    case 'outlineReplay':
      return outlineReplay(task);
    case 'judgeCalls':
      return judgeCalls(task);
    case 'judgeLimits':
      return judgeLimits(task);
  }
}

/** Same limit as for storage, so that every stored document can be deployed. */
const inDocument = { maxContracts: maxStoredRules };

/** A ruleset in a PUT request is one plain document, complete in itself. */
const rulesetForm = { bundleKinds: [], yaml: { plain: true, maxDepth: 32, maxNodes: 50_000 } };

function inspect({ yaml, accepted, words, form }: Tasks['inspect']['task']): readonly Finding[] {
  const options = { ...accepted, ...inDocument, ...(form === 'ruleset' ? rulesetForm : {}) };
  const read = readBundle(yaml, { ...options, operators: words.operators });
  const result = read.ok
    ? compileBundle(read.documents, { operators: absentOperators(words.operators) })
    : read;
  if (result.ok) return read.ok ? lintBundle(read, words) : [];
  const problems = result.problems.map(
    ({ contract, path, line, column, message }): Finding => ({
      severity: 'error',
      code: 'invalid',
      contract,
      path,
      line,
      column,
      // The place stands beside it.
      message: message.replace(/ \(line \d+, column \d+\)$/, ''),
      suggestion: null,
    }),
  );
  return problems.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Fields of a document's contracts that coverage needs. */
function listContracts(yaml: string, accepted: Accepted): readonly DeclaredContract[] {
  const { contracts, defaultsMode } = decomposeBundle(yaml, { ...accepted, ...inDocument });
  return contracts.map(({ contractId, type, definition }): DeclaredContract => {
    const { name, mode, enabled, tool, tools } = definition as { readonly [key: string]: unknown };
    return {
      id: contractId,
      name: typeof name === 'string' && name !== '' ? name : contractId,
      type,
      tools: [tool, tools].flat().filter((one) => typeof one === 'string'),
      mode: mode === 'enforce' || mode === 'observe' ? mode : defaultsMode,
      enabled: enabled !== false,
    };
  });
}

/** Definitions came as JSON, from a request or from YAML. */
const json = (value: object): JsonObject => value as JsonObject;
const jsonOrNull = (value: object | null): JsonObject | null => value as JsonObject | null;

function assemble(request: AssemblyRequest, accepted: Accepted): Assembly {
  const { yaml, assembled } = assembleBundle({
    ...accepted,
    name: request.name,
    description: request.description,
    defaultsMode: request.defaultsMode,
    toolsConfig: jsonOrNull(request.toolsConfig),
    observability: jsonOrNull(request.observability),
    apiVersion: request.apiVersion,
    kind: request.kind,
    // In the order given: a shadow stands behind its contract.
    items: request.items.map((item, i) => ({
      ...item,
      definition: json(item.definition),
      position: i,
      enabled: true,
    })),
  });
  // Not sent to the caller's thread: indentation may make much of little.
  if (yaml.length > maxBundle || Buffer.byteLength(yaml) > maxBundle) return tooLargeAssembly;
  return {
    yaml,
    contracts: assembled,
    problems: validateBundle(yaml, { ...accepted, ...inDocument, operators: request.words.operators }),
  };
}

// A dry run in an evaluator's thread: compiles what the thread does not remember, judges by the engine, shows values
// through redaction.
import { hash } from 'node:crypto';
import {
  type AcceptedKinds,
  absentOperators,
  type CompiledBundle,
  compileForDryRuns,
  createRedaction,
  createTracer,
  type DryRun,
  evaluateCompiled,
  leavesOf,
  lintBundle,
  maxEvaluateDocuments,
  RuleError,
  readBundle,
  type Tracer,
} from 'reeve-agent/rules';
import type { Finding } from '../../../src/bundle/rules/finding.ts';
import type { Evaluation, EvaluationRequest } from '../../../src/evaluation/port/evaluator.ts';
import type { CustomWords } from '../../../src/evaluation/rules/custom-words.ts';
import { HubError } from '../../../src/shared/error.ts';
import { systemClock } from '../clock.ts';
import { CompiledTexts } from './compiled-texts.ts';

export interface EvaluateTask {
  readonly tenantId: string;
  readonly request: EvaluationRequest;
  readonly accepted: AcceptedKinds & { readonly apiVersions?: readonly string[] };
  /** Prefix of the hub's own API keys. */
  readonly keyPrefix: string;
}

interface Compiled {
  readonly bundle: CompiledBundle;
  readonly findings: readonly Finding[];
  readonly trace: Tracer;
}

/** Of this thread. */
const texts = new CompiledTexts<Compiled>();

const bounds = /^Invalid contract YAML: ((?:more than|expected at most) \d+ (?:documents|contracts)[^()]*)/;

/**
 * @throws HubError validation_failed (too many documents or contracts)
 * @throws RuleError for whatever else is wrong with the text
 */
export function evaluate(task: EvaluateTask): Evaluation {
  const { call, words, output, session } = task.request;
  const start = systemClock.monotonic();
  try {
    // Its digest stands for the text, which may be long: as the key, and as the policy version.
    const digest = hash('sha256', task.request.yaml);
    const { bundle, findings, trace } = texts.of(keyOf(task, digest), task.request.yaml.length, () =>
      compile(task),
    );
    const result = evaluateCompiled(bundle, call, {
      trace,
      policyVersion: digest.slice(0, 12),
      ...(output === undefined ? {} : { output }),
      ...(session === undefined ? {} : { session }),
    });
    const elapsedMs = systemClock.monotonic() - start;
    return {
      ...result,
      evaluation_time_ms: Math.round(elapsedMs * 100) / 100,
      warnings: [...findings, ...notRun(result, words)],
    };
  } catch (error) {
    const exceeded = error instanceof RuleError ? bounds.exec(error.message)?.[1]?.trim() : undefined;
    if (exceeded === undefined) throw error;
    // Too many documents or contracts is a validation error, as of any other field.
    throw new HubError('validation_failed', exceeded, {
      fields: [{ field: ['yamlContent'], message: exceeded }],
    });
  }
}

/** All that the compiled text depends on; a tenant never finds what another has compiled. */
const keyOf = ({ tenantId, accepted, keyPrefix, request }: EvaluateTask, digest: string) =>
  JSON.stringify([tenantId, accepted, keyPrefix, request.toolArguments, request.words, digest]);

function compile({ request, accepted, keyPrefix }: EvaluateTask): Compiled {
  const { yaml, toolArguments, words } = request;
  const redaction = createRedaction({ keyPrefixes: [keyPrefix] });
  const operators = absentOperators(words.operators);
  const { looksSecret } = redaction;
  const read = readBundle(yaml, { ...accepted, ...words, maxDocuments: maxEvaluateDocuments });
  return {
    bundle: compileForDryRuns(read, {
      ...accepted,
      toolArguments,
      ...profilesIn(words),
      operators,
      looksSecret,
    }),
    findings: read.ok ? lintBundle(read, words) : [],
    trace: createTracer({ redaction }),
  };
}

/** The tenant's profiles of programs, as an option of the compiler. */
export const profilesIn = ({ commandProfiles }: CustomWords) => (commandProfiles ? { commandProfiles } : {});

/** A warning for each custom operator that the run met, in each contract. */
function notRun({ contracts_evaluated }: DryRun, { operators }: CustomWords): readonly Finding[] {
  const own = new Set(operators);
  if (own.size === 0) return [];
  return contracts_evaluated.flatMap(({ id, trace }) => {
    const met = trace ? leavesOf(trace).filter((leaf) => own.has(leaf.operator)) : [];
    return [...new Set(met.map(({ operator }) => operator))].map(
      (operator): Finding => ({
        severity: 'warning',
        code: 'operator-not-run',
        contract: id,
        path: '',
        line: 1,
        column: 1,
        message: `The hub cannot run the custom operator ${operator}, so its contract fires as on any other error.`,
        suggestion: null,
      }),
    );
  });
}

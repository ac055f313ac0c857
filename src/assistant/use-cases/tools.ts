// The tools of the assistant: they check and try YAML through the evaluator's port, which bounds them, and change
// nothing.

import { defaultEnvironment } from 'reeve-agent/rules';
import { findingText, isError } from '../../bundle/rules/finding.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { JsonObject } from '../../contract/record.ts';
import { wordsOf } from '../../evaluation/rules/custom-words.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { HubError } from '../../shared/error.ts';
import { camelKeys, snake, snakeKeys } from '../../shared/snake-keys.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AiTool, AiToolCall } from '../port/model.ts';

const yamlContent = {
  type: 'string',
  description: 'YAML with a bundle, a list of contracts or one contract',
};

export const assistantTools: readonly AiTool[] = [
  {
    name: 'validate_contract',
    description: 'Compiles and lints YAML. Returns {valid, errors, warnings}.',
    parameters: {
      type: 'object',
      properties: snakeKeys({ yamlContent }),
      required: ['yaml_content'],
    },
  },
  {
    name: 'evaluate_contract',
    description:
      'Dry-runs YAML against one tool call. Returns {verdict, deciding_contract, contracts_evaluated, evaluation_time_ms}, or {error}.',
    parameters: {
      type: 'object',
      properties: snakeKeys({
        yamlContent,
        toolName: { type: 'string' },
        toolArgs: { type: 'object' },
        environment: { type: 'string', description: 'default: production' },
      }),
      required: ['yaml_content', 'tool_name', 'tool_args'],
    },
  },
];

/** A run that takes longer is given up. Milliseconds. */
const maxMs = 5_000;
/** Characters. */
const maxYaml = 50_000;
const maxName = 255;
const maxListed = 20;

type Ports = Pick<AppPorts, 'evaluator' | 'clock' | 'store' | 'settings'> & { readonly inspector: Inspector };

/** Runs a call of the model. Never throws for a mistake of the model: the model receives the error. */
export function createToolRunner({ evaluator, clock, store, settings, inspector }: Ports) {
  const document = (text: string): string => wrapped(text, settings.wire);

  async function validate(tenantId: string, input: JsonObject): Promise<JsonObject> {
    const findings = await inspector.inspect(tenantId, document(yamlOf(input)));
    const errors = findings.filter(isError).map(findingText).slice(0, maxListed);
    const warnings = findings
      .filter((finding) => !isError(finding))
      .map(findingText)
      .slice(0, maxListed);
    return { valid: errors.length === 0, errors, warnings };
  }

  async function evaluate(tenantId: string, input: JsonObject): Promise<JsonObject> {
    const tool = textOf(input, 'tool_name', maxName);
    const args = input.tool_args ?? {};
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      throw wrong('tool_args must be an object.');
    const environment = input.environment == null ? defaultEnvironment : textOf(input, 'environment', 64);
    const tools = await store.settings.get(tenantId, 'tools');
    const result = await evaluator.evaluate(tenantId, {
      yaml: document(yamlOf(input)),
      call: { tool, args: args as JsonObject, environment, principal: null, cwd: null, metadata: null },
      toolArguments: tools?.value.toolArguments ?? {},
      words: wordsOf(tools),
    });
    const { verdict, decidingContract, contractsEvaluated, evaluationTimeMs } = camelKeys(result);
    return snakeKeys({
      verdict,
      decidingContract,
      contractsEvaluated: contractsEvaluated
        .slice(0, maxListed)
        .map(({ id, type, matched, effect, message }) => ({ id, type, matched, effect, message })),
      evaluationTimeMs,
    });
  }

  return async function run(tenantId: string, { name, input }: AiToolCall): Promise<JsonObject> {
    const tool = name === 'validate_contract' ? validate : name === 'evaluate_contract' ? evaluate : null;
    try {
      if (tool === null) throw wrong('This tool does not exist.');
      const work = tool(tenantId, objectIn(input));
      return await withTimeout(clock, maxMs, work, () => wrong('The tool call took longer than 5 seconds.'));
    } catch (error) {
      if (!(error instanceof HubError) || error.code === 'internal') throw error;
      const first = error.detail.fields?.[0];
      return {
        error: first ? `${first.field.map(String).map(snake).join('.')}: ${first.message}` : error.message,
      };
    }
  };
}

const wrong = (message: string): HubError => new HubError('unprocessable', message);

function objectIn(input: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(input);
  } catch {
    throw wrong('The input is not JSON.');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw wrong('The input is not an object.');
}

function textOf(input: JsonObject, name: string, max: number): string {
  const value = input[name];
  if (typeof value === 'string' && value !== '' && value.length <= max) return value;
  throw wrong(`${name} must be text with 1 to ${max} characters.`);
}

const yamlOf = (input: JsonObject): string => textOf(input, 'yaml_content', maxYaml);

/**
 * A document as it is; a contract, or a list of contracts, in a bundle of its own. Told apart by the first words of
 * lines, because YAML that a model wrote is read only where it is bounded.
 */
export function wrapped(
  text: string,
  {
    apiVersions,
    bundleKinds,
  }: { readonly apiVersions: readonly string[]; readonly bundleKinds: readonly string[] },
): string {
  const yaml = text.replace(/^\uFEFF?(?:\s*(?:#[^\n]*)?\n)*(?:---[^\n]*\n)?/u, '');
  const isList = /^\s*- /u.test(yaml);
  if (!isList && /^["']?(?:kind|apiVersion|contracts|metadata)["']?\s*:/mu.test(yaml)) return text;
  const lines = yaml.split('\n');
  const contracts = isList
    ? lines.map((line) => `  ${line}`)
    : lines.map((line, i) => `${i === 0 ? '  - ' : '    '}${line}`);
  return [
    `apiVersion: ${apiVersions[0] ?? ''}`,
    `kind: ${bundleKinds[0] ?? ''}`,
    'metadata: {name: draft}',
    'defaults: {mode: enforce}',
    'contracts:',
    ...contracts,
  ].join('\n');
}

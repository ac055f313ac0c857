// Unit tests for contracts: a YAML file of cases, each a call and what should come of it. Reads and runs; prints
// nothing.
import { isBuiltIn } from '../bundle/condition.ts';
import { isMapping, meantBy } from '../bundle/reader.ts';
import { RuleError } from '../error.ts';
import type { Principal, ToolCall } from '../evaluate/call.ts';
import type { CompiledBundle } from '../evaluate/compile.ts';
import type { Counters } from '../evaluate/limits.ts';
import { evaluateCall } from '../evaluate/live.ts';
import { evaluatePost } from '../evaluate/post.ts';
import { hasPolicyError, recordOf, viewOf } from '../evaluate/record.ts';
import { leavesOf, traceCondition } from '../evaluate/trace.ts';
import { redactText } from '../redact.ts';
import { displayWord } from '../state-words.ts';
import { type Json, type JsonObject, parseYaml, type YamlDocument, type YamlPath } from '../yaml.ts';

export const verdicts = ['allow', 'deny', 'approve', 'warn'] as const;
export type Verdict = (typeof verdicts)[number];

/** Expectations of a case; absent ones are not checked. */
export interface Expectation {
  readonly verdict: Verdict;
  /** The contract (or limit) that decides; null: none does. */
  readonly contract?: string | null;
  /** A part of the message. */
  readonly message?: string;
  /** The result as the agent gets it. */
  readonly output?: string;
}

export interface Case {
  readonly name: string;
  readonly line: number;
  readonly call: ToolCall;
  /** The tool's result; post contracts are evaluated only with one. */
  readonly output?: Json;
  /** Counters of the session; session contracts and limits are evaluated only with them. */
  readonly session?: Counters;
  readonly expect: Expectation;
}

export interface CaseFile {
  /** Paths of the documents that are tested, later ones over earlier ones; as written, relative to the file. */
  readonly contracts: readonly string[];
  readonly cases: readonly Case[];
}

export interface CaseResult {
  readonly name: string;
  readonly line: number;
  readonly ok: boolean;
  readonly verdict: Verdict;
  readonly contract: string | null;
  readonly message: string | null;
  /** One sentence for each expectation that was not met. */
  readonly failures: readonly string[];
  /**
   * One sentence for each condition that met a value of the wrong type, or whose operator exists only in agents. Its
   * contract fired for that reason.
   */
  readonly faults: readonly string[];
}

/** Cases in one file. */
export const maxCases = 1000;

/**
 * Reads a file of cases.
 * @throws RuleError with the place, for the first thing that is wrong
 */
export function readCases(yamlText: string): CaseFile {
  const [document] = parseYaml(yamlText, { maxDocuments: 1 });
  if (!document) throw new RuleError('expected a mapping with contracts and cases (line 1, column 1)');
  const reader = new CaseReader(document);
  const top = reader.mapping(document.value, [], ['contracts', 'defaults', 'cases']);
  const contracts = typeof top.contracts === 'string' ? [top.contracts] : top.contracts;
  if (
    !Array.isArray(contracts) ||
    contracts.length === 0 ||
    contracts.some((one) => typeof one !== 'string')
  ) {
    throw reader.error(['contracts'], 'expected the path of a bundle, or a list of paths');
  }
  const defaults =
    top.defaults === undefined
      ? {}
      : reader.mapping(top.defaults, ['defaults'], ['principal', 'environment', 'metadata', 'cwd']);
  if (!Array.isArray(top.cases) || top.cases.length === 0 || top.cases.length > maxCases) {
    throw reader.error(['cases'], `expected a list of 1 to ${maxCases} cases`);
  }
  return {
    contracts: contracts as string[],
    cases: top.cases.map((value, i) => reader.case(value, ['cases', i], defaults)),
  };
}

class CaseReader {
  readonly #document: YamlDocument;

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  error(path: YamlPath, expected: string): RuleError {
    const { line, column } = this.#document.positionOf(path);
    return new RuleError(`${path.join('.') || 'the file'}: ${expected} (line ${line}, column ${column})`);
  }

  mapping(value: Json | undefined, path: YamlPath, keys: readonly string[]): JsonObject {
    if (!isMapping(value)) throw this.error(path, `expected a mapping of ${keys.join(', ')}`);
    const unknown = Object.keys(value).find((key) => !keys.includes(key));
    if (unknown !== undefined) {
      throw this.error(
        [...path, unknown],
        `unexpected key; expected one of ${keys.join(', ')}${meantBy(unknown, keys)}`,
      );
    }
    return value;
  }

  case(value: Json, path: YamlPath, defaults: JsonObject): Case {
    const map = this.mapping(value, path, ['name', 'call', 'output', 'session', 'expect']);
    const {
      tool,
      args = {},
      ...context
    } = {
      ...defaults,
      ...this.mapping(
        map.call,
        [...path, 'call'],
        ['tool', 'args', 'principal', 'environment', 'metadata', 'cwd'],
      ),
    };
    if (typeof tool !== 'string') throw this.error([...path, 'call', 'tool'], 'expected the name of a tool');
    if (!isMapping(args)) throw this.error([...path, 'call', 'args'], 'expected a mapping');
    if (context.cwd !== undefined && typeof context.cwd !== 'string')
      throw this.error([...path, 'call', 'cwd'], 'expected the path of a folder');
    const environment = typeof context.environment === 'string' ? { environment: context.environment } : {};
    return {
      name: typeof map.name === 'string' ? map.name : `${tool} ${JSON.stringify(args)}`.slice(0, 120),
      line: this.#document.positionOf(path).line,
      call: {
        tool,
        args,
        ...environment,
        principal: isMapping(context.principal) ? (context.principal as Principal) : null,
        metadata: isMapping(context.metadata) ? context.metadata : {},
        ...(typeof context.cwd === 'string' ? { cwd: context.cwd } : {}),
      },
      ...(map.output === undefined ? {} : { output: map.output }),
      ...(map.session === undefined ? {} : { session: this.#session(map.session, [...path, 'session']) }),
      expect: this.#expectation(map.expect, [...path, 'expect']),
    };
  }

  #session(value: Json, path: YamlPath): Counters {
    const map = this.mapping(value, path, ['attempts', 'calls', 'calls_of_tool']);
    const count = (key: string, otherwise: number): number => {
      const number = map[key] ?? otherwise;
      if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
      throw this.error([...path, key], 'expected a whole number');
    };
    const executions = count('calls', 0);
    // This call is an attempt as well.
    return {
      attempts: count('attempts', executions) + 1,
      executions,
      toolExecutions: count('calls_of_tool', 0),
    };
  }

  #expectation(value: Json | undefined, path: YamlPath): Expectation {
    const map = this.mapping(value, path, ['verdict', 'contract', 'message', 'output']);
    const word = { block: 'deny', ask: 'approve' }[String(map.verdict)] ?? map.verdict;
    const verdict = verdicts.find((one) => one === word);
    if (!verdict) throw this.error([...path, 'verdict'], `expected ${verdicts.join(', ')}, block or ask`);
    for (const key of ['message', 'output']) {
      if (map[key] !== undefined && typeof map[key] !== 'string')
        throw this.error([...path, key], 'expected a string');
    }
    if (map.contract !== undefined && map.contract !== null && typeof map.contract !== 'string') {
      throw this.error([...path, 'contract'], 'expected the id of a contract, or null');
    }
    return { ...map, verdict } as Expectation;
  }
}

/** Runs one case. Never throws, whatever the call holds. */
export function runCase(bundle: CompiledBundle, one: Case): CaseResult {
  const { call, session, expect } = one;
  const live = evaluateCall(bundle, call, session ? { counters: session } : {});
  let verdict: Verdict = live.verdict;
  let contract = live.name;
  let message = live.reason;
  let output: unknown = one.output;
  if (live.verdict === 'allow' && one.output !== undefined) {
    const post = evaluatePost(bundle, call, one.output, { redactText });
    const fired = post.records.find((record) => !record.passed && !record.observed);
    output = post.output;
    if (fired) [verdict, contract, message] = ['warn', fired.name, fired.message];
  }
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  const failures: string[] = [];
  if (verdict !== expect.verdict)
    failures.push(`expected ${displayWord(expect.verdict)}, got ${displayWord(verdict)}`);
  if (expect.contract !== undefined && contract !== expect.contract) {
    failures.push(`expected ${expect.contract ?? 'no contract'} to decide, got ${contract ?? 'none'}`);
  }
  if (expect.message !== undefined && !message?.includes(expect.message)) {
    failures.push(
      `expected a message with ${JSON.stringify(expect.message)}, got ${JSON.stringify(message)}`,
    );
  }
  if (expect.output !== undefined && text !== expect.output) {
    failures.push(`expected the result ${JSON.stringify(expect.output)}, got ${JSON.stringify(text)}`);
  }
  const ok = failures.length === 0;
  const faults = faultsOf(bundle, one, live.verdict === 'allow');
  return { name: one.name, line: one.line, ok, verdict, contract, message, failures, faults };
}

/** @param ran post contracts look at the result of a call that ran */
function faultsOf(bundle: CompiledBundle, { call, output }: Case, ran: boolean): readonly string[] {
  const { before, post } = bundle.rulesFor(call.tool);
  return [...before, ...(ran && output !== undefined ? post : [])].flatMap((compiled) => {
    const { rule } = compiled;
    const view = viewOf(bundle, call, rule.type === 'post' ? output : undefined);
    if (rule.type === 'sandbox' || !hasPolicyError(recordOf(compiled, view))) return [];
    return leavesOf(traceCondition(rule.when, view))
      .filter(({ outcome, value }) => outcome === 'fault' && value !== undefined)
      .map(({ selector, operator, value }) =>
        isBuiltIn(operator)
          ? `contract '${rule.id}' fires because ${operator} does not accept a ${typeName(value)}: ${selector} is one${
              Array.isArray(value) ? '. Operators do not enter lists; compare lists with equals or in' : ''
            }`
          : `contract '${rule.id}' fires because the custom operator ${operator} cannot run here`,
      );
  });
}

const typeName = (value: unknown): string =>
  Array.isArray(value)
    ? 'list'
    : value !== null && typeof value === 'object'
      ? 'mapping'
      : typeof value === 'string'
        ? 'text'
        : typeof value;

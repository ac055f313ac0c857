// A parsed YAML document to a rule document, in either vocabulary, with all its problems at once.
import { RuleError } from '../error.ts';
import { type Json, type JsonObject, parseYaml, type YamlBounds, type YamlDocument } from '../yaml.ts';
import { maxPatternSteps } from './condition.ts';
import { readRule } from './contract.ts';
import { acceptsApiVersion, maxContracts } from './decomposition.ts';
import { bundleNameProblem } from './header.ts';
import { type BundleProblem, isMapping, maxProblems, Reader } from './reader.ts';
import type { Mode, Rule, RuleDocument, SideEffect, ToolTraits } from './rule.ts';
import {
  type AcceptedKinds,
  contractWords,
  kindsOf,
  rulesetWords,
  type Vocabulary,
  vocabularyOf,
} from './vocabulary.ts';

export interface LanguageOptions extends AcceptedKinds {
  /** Exact values accepted; any `<word>/v1` when absent. */
  readonly apiVersions?: readonly string[];
  /** Names of operators beyond the 15 built-in ones. */
  readonly operators?: Iterable<string>;
  /** All documents together; default 100. */
  readonly maxContracts?: number;
  /** Default 1. */
  readonly maxDocuments?: number;
  /** Narrower bounds of the text itself. */
  readonly yaml?: Omit<YamlBounds, 'maxDocuments'>;
}

/** A text that is valid: what it means, and as it was written, with the places. */
export interface ReadBundle {
  readonly ok: true;
  readonly documents: readonly RuleDocument[];
  readonly parsed: readonly YamlDocument[];
}

export type ReadResult = ReadBundle | { readonly ok: false; readonly problems: readonly BundleProblem[] };

const sideEffects: readonly SideEffect[] = ['pure', 'read', 'write', 'irreversible'];

/** Reads a bundle text. Never throws: text that is no YAML is one problem. At least one document is needed. */
export function readBundle(yamlText: string, options: LanguageOptions = {}): ReadResult {
  let parsed: YamlDocument[];
  try {
    parsed = parseYaml(yamlText, { ...options.yaml, maxDocuments: options.maxDocuments ?? 1 });
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    return { ok: false, problems: [textProblem(error.message)] };
  }
  if (parsed.length === 0)
    return { ok: false, problems: [textProblem('expected a mapping at the top level')] };
  const problems: BundleProblem[] = [];
  const documents: RuleDocument[] = [];
  let rules = 0;
  for (const one of parsed) {
    const reader = new Reader(one);
    const document = readDocument(reader, one.value, options);
    problems.push(...reader.problems);
    if (document) documents.push(document);
    rules += listLength(one.value);
  }
  const limit = options.maxContracts ?? maxContracts;
  if (rules > limit) {
    const items = parsed.every(({ value }) => isMapping(value) && value.rules !== undefined)
      ? 'rules'
      : 'contracts';
    problems.unshift(textProblem(`expected at most ${limit} ${items}; there are ${rules}`));
  }
  return problems.length > 0
    ? { ok: false, problems: problems.slice(0, maxProblems) }
    : { ok: true, documents, parsed };
}

/** A problem that has no place inside a document; takes line and column out of a parser's message. */
function textProblem(message: string): BundleProblem {
  const at = /\(line (\d+), column (\d+)\)$/.exec(message);
  return {
    contract: null,
    path: '',
    expected: message,
    line: Number(at?.[1] ?? 1),
    column: Number(at?.[2] ?? 1),
    message: at ? message : `${message} (line 1, column 1)`,
  };
}

function listLength(value: Json): number {
  if (!isMapping(value)) return 0;
  const list = value.contracts ?? value.rules;
  return Array.isArray(list) ? list.length : 0;
}

function readDocument(reader: Reader, value: Json, options: LanguageOptions): RuleDocument | undefined {
  if (!isMapping(value)) return reader.problem([], 'expected a mapping at the top level');
  if (!acceptsApiVersion(value.apiVersion, options.apiVersions)) {
    reader.problem(
      ['apiVersion'],
      `expected ${(options.apiVersions ?? ['<word>/v1, such as service/v1']).join(' or ')}`,
    );
  }
  const vocabulary = vocabularyOf(value.kind, options);
  if (!vocabulary) reader.problem(['kind'], `expected ${kindsOf(options).join(' or ')}`);
  // With an unknown kind, the key of the list selects the vocabulary, so that its entries are checked, too.
  const isRuleset = value.rules !== undefined || options.bundleKinds?.length === 0;
  const words = vocabulary ?? (isRuleset ? rulesetWords : contractWords);
  reader.item = words.item;
  if (value.extends !== undefined)
    reader.problem(['extends'], 'extends is not supported; copy the rules of the parent');
  reader.mapping(
    value,
    [],
    [
      ...[
        'apiVersion',
        'kind',
        'metadata',
        'defaults',
        words.list,
        'tools',
        'observability',
        'observe_alongside',
        'extends',
      ],
    ],
  );
  const metadata = reader.mapping(value.metadata, ['metadata'], ['name', 'description']);
  if (metadata) {
    const problem = bundleNameProblem(metadata.name);
    if (problem) reader.problem(['metadata', 'name'], problem);
    if (metadata.description !== undefined && typeof metadata.description !== 'string') {
      reader.problem(['metadata', 'description'], 'expected a string');
    }
  }
  const mode = readMode(reader, value.defaults, words);
  const tools = readToolTraits(reader, value.tools);
  const observability = readObservability(reader, value.observability);
  const observeAlongside = reader.flag(value.observe_alongside, ['observe_alongside'], false);
  const rules = readRules(reader, value[words.list], words, mode, new Set(options.operators ?? []));
  if (reader.problems.length > 0 || !metadata) return;
  return {
    kind: String(value.kind),
    apiVersion: String(value.apiVersion),
    name: String(metadata.name),
    metadata,
    mode,
    tools,
    observability,
    observeAlongside,
    rules,
  };
}

/** Rulesets are written without `defaults` in the hosted specification; that means enforce. */
function readMode(reader: Reader, value: Json | undefined, words: Vocabulary): Mode {
  if (value === undefined && words === rulesetWords) return 'enforce';
  const defaults = reader.mapping(value, ['defaults'], ['mode']);
  return (defaults && reader.word(defaults.mode, ['defaults', 'mode'], ['enforce', 'observe'])) ?? 'enforce';
}

function readRules(
  reader: Reader,
  value: Json | undefined,
  words: Vocabulary,
  mode: Mode,
  operators: ReadonlySet<string>,
): Rule[] {
  if (!Array.isArray(value) || value.length === 0) {
    reader.problem([words.list], `expected a list of at least one ${words.item}`);
    return [];
  }
  const lines = new Map<string, number>();
  const scope = { words, mode, operators, patterns: { left: maxPatternSteps } };
  return value.flatMap((entry, i) => {
    const id = isMapping(entry) ? entry.id : undefined;
    if (typeof id === 'string') {
      const first = lines.get(id);
      if (first === undefined) lines.set(id, i);
      else {
        reader.contract = id.slice(0, 128);
        reader.problem([words.list, i, 'id'], `expected a unique id; ${words.list}[${first}] has the same`);
        reader.contract = null;
      }
    }
    const rule = readRule(reader, entry, [words.list, i], scope);
    return rule ? [rule] : [];
  });
}

function readToolTraits(reader: Reader, value: Json | undefined): Map<string, ToolTraits> {
  const traits = new Map<string, ToolTraits>();
  if (value === undefined) return traits;
  for (const [tool, entry] of Object.entries(reader.mapping(value, ['tools']) ?? {})) {
    const map = reader.mapping(entry, ['tools', tool], ['side_effect', 'idempotent']);
    if (!map) continue;
    const sideEffect = reader.word(map.side_effect, ['tools', tool, 'side_effect'], sideEffects);
    const idempotent = reader.flag(map.idempotent, ['tools', tool, 'idempotent'], false);
    if (sideEffect) traits.set(tool, { sideEffect, idempotent });
  }
  return traits;
}

function readObservability(reader: Reader, value: Json | undefined): JsonObject | null {
  if (value === undefined) return null;
  const at = ['observability'];
  const map = reader.mapping(value, at, ['otel', 'stdout', 'file']);
  if (!map) return null;
  if (map.stdout !== undefined) reader.flag(map.stdout, [...at, 'stdout'], false);
  if (map.file !== undefined && map.file !== null) reader.text(map.file, [...at, 'file'], 4096);
  if (map.otel === undefined) return map;
  const path = [...at, 'otel'];
  const otel = reader.mapping(map.otel, path, [
    ...['enabled', 'endpoint', 'protocol', 'service_name', 'insecure', 'resource_attributes'],
  ]);
  if (!otel) return map;
  reader.flag(otel.enabled, [...path, 'enabled'], false);
  reader.flag(otel.insecure, [...path, 'insecure'], true);
  if (otel.endpoint !== undefined) reader.text(otel.endpoint, [...path, 'endpoint'], 2048);
  if (otel.service_name !== undefined) reader.text(otel.service_name, [...path, 'service_name'], 255);
  if (otel.protocol !== undefined) reader.word(otel.protocol, [...path, 'protocol'], ['grpc', 'http']);
  if (otel.resource_attributes !== undefined) {
    const attributes = reader.mapping(otel.resource_attributes, [...path, 'resource_attributes']);
    for (const [key, text] of Object.entries(attributes ?? {})) {
      if (typeof text !== 'string')
        reader.problem([...path, 'resource_attributes', key], 'expected a string');
    }
  }
  return map;
}

// Bundle YAML to library contracts, for import. Rules are checked as far as the library needs, not compiled.
import { RuleError } from '../error.ts';
import { contractIdPattern } from '../names.ts';
import type { JsonObject } from '../yaml.ts';
import { bundleName, readSingleMapping } from './header.ts';
import { isMapping } from './reader.ts';
import { type Mode, type RuleType, ruleTypes } from './rule.ts';
import {
  type AcceptedKinds,
  contractWords,
  kindsOf,
  rulesetWords,
  spellRule,
  vocabularyOf,
} from './vocabulary.ts';

export interface ImportedContract {
  readonly contractId: string;
  readonly type: RuleType;
  /** The id as a title: `block-env_files` becomes "Block Env Files". */
  readonly name: string;
  /** The entry without its `id`, in the words of contracts. */
  readonly definition: JsonObject;
}

export interface ImportedBundle {
  readonly name: string;
  /** The vocabulary of the document. */
  readonly documentKind: 'bundle' | 'ruleset';
  readonly description: string | null;
  readonly defaultsMode: Mode;
  readonly toolsConfig: JsonObject | null;
  readonly observability: JsonObject | null;
  readonly contracts: readonly ImportedContract[];
}

/** Contracts in one import, one composition and one evaluation. */
export const maxContracts = 100;
export const maxContractIdLength = 128;
export const apiVersionPattern = /^[a-zA-Z][a-zA-Z0-9.-]{0,62}\/v1$/;

export interface ImportOptions extends AcceptedKinds {
  /** Exact values accepted; any `<word>/v1` when absent. */
  readonly apiVersions?: readonly string[];
  /** Contracts that the bundle may have; 100 by default. */
  readonly maxContracts?: number;
}

/**
 * Takes a bundle or ruleset apart.
 * @throws RuleError with one sentence on the first thing that is wrong
 */
export function decomposeBundle(yamlText: string, options: ImportOptions = {}): ImportedBundle {
  const { document, value } = readSingleMapping(yamlText);
  const refuse = (path: (string | number)[], message: string): never => {
    const { line, column } = document.positionOf(path);
    throw new RuleError(`${message} (line ${line}, column ${column})`);
  };
  if (!acceptsApiVersion(value.apiVersion, options.apiVersions)) {
    refuse(
      ['apiVersion'],
      `Unsupported apiVersion: expected ${(options.apiVersions ?? ['<word>/v1']).join(' or ')}`,
    );
  }
  const words =
    vocabularyOf(value.kind, options) ??
    refuse(['kind'], `Unsupported kind: expected ${kindsOf(options).join(' or ')}`);
  const name = bundleName(value);
  const list = value[words.list];
  if (!Array.isArray(list) || list.length === 0) {
    throw new RuleError(`Missing required field: ${words.list} (a list of at least one ${words.item})`);
  }
  const max = options.maxContracts ?? maxContracts;
  if (list.length > max) {
    throw new RuleError(
      `At most ${max} contracts are allowed in one bundle; this one has ${list.length}. Split the bundle.`,
    );
  }
  const ids = new Set<string>();
  const contracts = list.map((entry, i): ImportedContract => {
    const at = `${words.list}[${i}]`;
    if (!isMapping(entry)) return refuse([words.list, i], `${at}: expected a mapping`);
    const { id, ...rest } = entry;
    if (typeof id !== 'string' || id.length > maxContractIdLength || !contractIdPattern.test(id)) {
      const rule = `expected a string of at most ${maxContractIdLength} characters that matches ${contractIdPattern.source}`;
      return refuse([words.list, i, 'id'], `${at}.id: ${rule}`);
    }
    if (ids.has(id)) return refuse([words.list, i, 'id'], `${at}.id: "${id}" is used twice`);
    ids.add(id);
    const type = rest.type ?? 'pre';
    if (!isRuleType(type))
      return refuse([words.list, i, 'type'], `${at}.type: expected one of ${ruleTypes.join(', ')}`);
    return { contractId: id, type, name: titleOf(id), definition: spellRule(rest, contractWords) };
  });
  const mode = isMapping(value.defaults) ? value.defaults.mode : undefined;
  if (mode !== undefined && mode !== 'enforce' && mode !== 'observe') {
    refuse(['defaults', 'mode'], 'defaults.mode: expected enforce or observe');
  }
  const description = isMapping(value.metadata) ? value.metadata.description : undefined;
  return {
    name,
    documentKind: words === rulesetWords ? 'ruleset' : 'bundle',
    description: typeof description === 'string' ? description : null,
    defaultsMode: mode === 'observe' ? 'observe' : 'enforce',
    toolsConfig: isMapping(value.tools) ? value.tools : null,
    observability: isMapping(value.observability) ? value.observability : null,
    contracts,
  };
}

export const acceptsApiVersion = (value: unknown, accepted?: readonly string[]): boolean =>
  typeof value === 'string' && (accepted ? accepted.includes(value) : apiVersionPattern.test(value));

const isRuleType = (value: unknown): value is RuleType => (ruleTypes as readonly unknown[]).includes(value);

const titleOf = (id: string): string =>
  id
    .replace(/[-_]+/g, ' ')
    .trim()
    .replace(/(^| )([a-z])/g, (_all, space: string, letter: string) => space + letter.toUpperCase());

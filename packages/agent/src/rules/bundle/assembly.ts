// A composition's items to bundle YAML. It stores, signs and validates nothing.

import { type Json, type JsonObject, stringifyYaml } from '../yaml.ts';
import { maxContractIdLength } from './decomposition.ts';
import { splitLeaves } from './leaves.ts';
import type { Mode } from './rule.ts';
import {
  type AcceptedKinds,
  contractWords,
  defaultApiVersion,
  defaultBundleKind,
  spellRule,
  vocabularyOf,
} from './vocabulary.ts';

export interface CompositionItem {
  readonly contractId: string;
  /** The pinned contract version. */
  readonly version: number;
  readonly position: number;
  readonly modeOverride: Mode | null;
  readonly enabled: boolean;
  /** The contract's type of its record; wins over a `type` inside the definition. */
  readonly type: string;
  /** The pinned version's definition, in either vocabulary. */
  readonly definition: Readonly<JsonObject>;
}

export interface Composition extends AcceptedKinds {
  readonly name: string;
  readonly description?: string | null;
  readonly defaultsMode: Mode;
  readonly items: readonly CompositionItem[];
  readonly toolsConfig?: Readonly<JsonObject> | null;
  readonly observability?: Readonly<JsonObject> | null;
  /** Default `service/v1`. */
  readonly apiVersion?: string;
  /** Default `ContractBundle`; with a kind of rulesets the entries are written in their words. */
  readonly kind?: string;
}

/** One line of `contracts_assembled`. `observe` marks a shadow: the second entry of the same contract. */
export interface AssembledContract {
  readonly contract_id: string;
  readonly version: number;
  readonly mode: Mode;
  readonly observe: boolean;
  /**
   * Ids of its entries, when they are not the contract's alone: what happens to any of them counts as the contract's.
   */
  readonly entries?: readonly string[];
}

export interface AssembledBundle {
  /** Empty when no item is enabled. The revision hash and the signature are over its UTF-8 bytes. */
  readonly yaml: string;
  readonly assembled: readonly AssembledContract[];
}

/**
 * Builds the bundle: enabled items by position, then contract id; `mode` is the item's override, else the definition's,
 * else the composition's. A repeated contract gets the id `<contract_id>-obs`. The same input gives the same bytes.
 *
 * Released clients know one `tool` in a `pre` or `post` contract. A contract with `tools` becomes an entry for each
 * tool: the first under its own id, the others under `<id>-2` and so on. The record's `entries` contains these ids.
 * Released clients read one selector and one operator in a mapping of `when`: several are written as
 * `all: [{selector: {operator: value}}, …]`.
 */
export function assembleBundle(composition: Composition): AssembledBundle {
  const kind = composition.kind ?? defaultBundleKind;
  const words = vocabularyOf(kind, composition) ?? contractWords;
  const items = composition.items
    .filter((item) => item.enabled)
    .sort(
      (a, b) =>
        a.position - b.position || (a.contractId < b.contractId ? -1 : a.contractId > b.contractId ? 1 : 0),
    );
  if (items.length === 0) return { yaml: '', assembled: [] };
  const collectedIds = new Set<string>();
  const ids = new Set(items.map((item) => item.contractId));
  const assembled: AssembledContract[] = [];
  const entries = items.flatMap((item) => {
    const observe = collectedIds.has(item.contractId);
    collectedIds.add(item.contractId);
    const id = observe ? shadowId(item.contractId, ids) : item.contractId;
    ids.add(id);
    const own = item.definition.mode;
    const mode: Mode =
      item.modeOverride ?? (own === 'enforce' || own === 'observe' ? own : composition.defaultsMode);
    const { id: _id, type: _type, mode: _mode, ...rest } = item.definition;
    const rules = onePerTool(item.type, withSplitLeaves(rest));
    const entryIds = rules.map((_, i) => (i === 0 ? id : freeId(id, ids)));
    assembled.push({
      contract_id: item.contractId,
      version: item.version,
      mode,
      observe,
      ...(entryIds.length > 1 || id !== item.contractId ? { entries: entryIds } : {}),
    });
    return rules.map((rule, i) => ({
      id: entryIds[i] ?? id,
      type: item.type,
      ...spellRule(rule, words),
      mode,
    }));
  });
  const document: { [key: string]: Json } = {
    apiVersion: composition.apiVersion ?? defaultApiVersion,
    kind,
    metadata: {
      name: composition.name,
      ...(composition.description ? { description: composition.description } : {}),
    },
    defaults: { mode: composition.defaultsMode },
    [words.list]: entries,
  };
  if (isFilled(composition.toolsConfig)) document.tools = composition.toolsConfig;
  if (isFilled(composition.observability)) document.observability = composition.observability;
  return { yaml: stringifyYaml(document), assembled };
}

/** Keys keep their order. */
const withSplitLeaves = (definition: JsonObject): JsonObject =>
  definition.when === undefined ? definition : { ...definition, when: splitLeaves(definition.when) };

/** A definition with `tools` as one definition for each tool, where released clients know `tool` alone. */
function onePerTool(type: string, definition: Readonly<JsonObject>): readonly Readonly<JsonObject>[] {
  const { tools } = definition;
  if ((type !== 'pre' && type !== 'post') || !Array.isArray(tools) || tools.length === 0) return [definition];
  const entries = Object.entries(definition).filter(([key]) => key !== 'tool');
  return [...new Set(tools)].map((tool) =>
    Object.fromEntries(entries.map(([key, value]) => (key === 'tools' ? ['tool', tool] : [key, value]))),
  );
}

/** The next id that nothing has, taken from now on. */
function freeId(id: string, taken: Set<string>): string {
  let n = 2;
  while (taken.has(withSuffix(id, `-${n}`))) n++;
  const free = withSuffix(id, `-${n}`);
  taken.add(free);
  return free;
}

/** At most as long as an id may be: the end of a long one goes. */
const withSuffix = (id: string, suffix: string): string =>
  `${id.slice(0, maxContractIdLength - suffix.length)}${suffix}`;

const isFilled = (map: Readonly<JsonObject> | null | undefined): map is JsonObject =>
  map !== null && map !== undefined && Object.keys(map).length > 0;

function shadowId(contractId: string, taken: ReadonlySet<string>): string {
  let id = withSuffix(contractId, '-obs');
  for (let i = 2; taken.has(id); i++) id = withSuffix(contractId, `-obs-${i}`);
  return id;
}

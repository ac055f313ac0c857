// A composition's items to bundle YAML. It stores, signs and validates nothing.

import { type Json, type JsonObject, stringifyYaml } from '../yaml.ts';
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
}

export interface AssembledBundle {
  /** Empty when no item is enabled. The revision hash and the signature are over its UTF-8 bytes. */
  readonly yaml: string;
  readonly assembled: readonly AssembledContract[];
}

/** What preview and deployment answer when `assembled` is empty. */
export const noEnabledContracts = 'Composition has no enabled contracts';

/**
 * Builds the bundle: enabled items by position, then contract id; `mode` is the item's override, else the definition's,
 * else the composition's. A repeated contract gets the id `<contract_id>-obs`. The same input gives the same bytes.
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
  const seen = new Set<string>();
  const ids = new Set(items.map((item) => item.contractId));
  const assembled: AssembledContract[] = [];
  const entries = items.map((item) => {
    const observe = seen.has(item.contractId);
    seen.add(item.contractId);
    const id = observe ? shadowId(item.contractId, ids) : item.contractId;
    ids.add(id);
    const own = item.definition.mode;
    const mode: Mode =
      item.modeOverride ?? (own === 'enforce' || own === 'observe' ? own : composition.defaultsMode);
    assembled.push({ contract_id: item.contractId, version: item.version, mode, observe });
    const { id: _id, type: _type, mode: _mode, ...rest } = item.definition;
    return { id, type: item.type, ...spellRule(rest, words), mode };
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

const isFilled = (map: Readonly<JsonObject> | null | undefined): map is JsonObject =>
  map !== null && map !== undefined && Object.keys(map).length > 0;

function shadowId(contractId: string, taken: ReadonlySet<string>): string {
  let id = `${contractId}-obs`;
  for (let i = 2; taken.has(id); i++) id = `${contractId}-obs-${i}`;
  return id;
}

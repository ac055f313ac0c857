// Several documents as one: later ones win, observe-alongside ones become shadow copies.
import type { Rule, RuleDocument } from '../bundle/rule.ts';

export interface LayerReport {
  /** Rules that a later layer replaced; sources are indexes of the documents. */
  readonly overridden: readonly {
    readonly id: string;
    readonly overriddenBy: number;
    readonly originalSource: number;
  }[];
  /** Shadow copies; `enforcedSource` is null when no earlier layer has the rule. */
  readonly shadow: readonly {
    readonly id: string;
    readonly enforcedSource: number | null;
    readonly observedSource: number;
  }[];
}

export interface LayeredDocument {
  readonly document: RuleDocument;
  readonly report: LayerReport;
}

/** The end of a shadow copy's id. */
export const shadowSuffix = ':candidate';

/** Composes documents, first to last. There must be at least one; the first one's `observe_alongside` is ignored. */
export function composeDocuments(documents: readonly [RuleDocument, ...RuleDocument[]]): LayeredDocument {
  const [first, ...layers] = documents;
  const places = new Map<string, { index: number; source: number }>();
  const rules: Rule[] = [...first.rules];
  for (const [index, rule] of rules.entries()) places.set(rule.id, { index, source: 0 });
  const overridden: LayerReport['overridden'][number][] = [];
  const shadow: LayerReport['shadow'][number][] = [];
  const tools = new Map(first.tools);
  let { metadata, mode, observability, name } = first;
  for (const [i, layer] of layers.entries()) {
    const source = i + 1;
    for (const [tool, traits] of layer.tools) tools.set(tool, traits);
    metadata = { ...metadata, ...layer.metadata };
    name = layer.name;
    if (!layer.observeAlongside) {
      mode = layer.mode;
      observability = layer.observability ?? observability;
    }
    for (const rule of layer.rules) {
      const id = layer.observeAlongside ? `${rule.id}${shadowSuffix}` : rule.id;
      const added: Rule = layer.observeAlongside ? { ...rule, id, mode: 'observe', shadow: true } : rule;
      if (layer.observeAlongside) {
        shadow.push({
          id: rule.id,
          enforcedSource: places.get(rule.id)?.source ?? null,
          observedSource: source,
        });
      }
      const place = places.get(id);
      if (place) {
        if (!layer.observeAlongside)
          overridden.push({ id, overriddenBy: source, originalSource: place.source });
        rules[place.index] = added;
        place.source = source;
      } else places.set(id, { index: rules.push(added) - 1, source });
    }
  }
  return {
    document: { ...first, name, metadata, mode, observability, tools, rules, observeAlongside: false },
    report: { overridden, shadow },
  };
}

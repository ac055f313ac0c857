// What a deployment would change, read from the two documents: contracts that come, go, get tighter or looser.
import { parseYaml } from '../../../../packages/agent/src/rules/yaml.ts';

export interface ContractChange {
  readonly id: string;
  readonly kind: 'added' | 'removed' | 'tightened' | 'loosened' | 'changed';
}

type Entry = { readonly [name: string]: unknown };

function contractsOf(yaml: string): Map<string, Entry> {
  const found = new Map<string, Entry>();
  try {
    const value = parseYaml(yaml)[0]?.value as Entry | undefined;
    const list = value?.contracts ?? value?.rules;
    const mode = (value?.defaults as Entry | undefined)?.mode;
    if (!Array.isArray(list)) return found;
    for (const one of list as Entry[]) if (typeof one.id === 'string') found.set(one.id, { mode, ...one });
  } catch {
    // Not a document: nothing to compare.
  }
  return found;
}

/** How much a contract holds back: an enforced refusal most, an observed one not at all. */
function strength(entry: Entry): number {
  if (entry.mode === 'observe' || entry.enabled === false) return 0;
  const effect = (entry.then as Entry | undefined)?.effect ?? entry.outside;
  return effect === 'approve' || effect === 'ask' ? 1 : effect === 'warn' ? 0.5 : 2;
}

export function contractChanges(before: string, after: string): readonly ContractChange[] {
  const [old, next] = [contractsOf(before), contractsOf(after)];
  const changes: ContractChange[] = [];
  for (const [id, entry] of next) {
    const was = old.get(id);
    if (!was) changes.push({ id, kind: 'added' });
    else if (JSON.stringify(was) !== JSON.stringify(entry)) {
      const step = strength(entry) - strength(was);
      changes.push({ id, kind: step > 0 ? 'tightened' : step < 0 ? 'loosened' : 'changed' });
    }
  }
  for (const id of old.keys()) if (!next.has(id)) changes.push({ id, kind: 'removed' });
  return changes;
}

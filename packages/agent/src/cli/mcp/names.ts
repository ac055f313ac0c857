// Names of arguments that another reader may take for a name that is judged: `Path` beside `path`.
import { foldCase } from '../../rules/fold.ts';
import type { SchemaLevel } from './schema.ts';

/** Paths of arguments as a tree of their steps. */
class StepTree {
  readonly #children = new Map<string, StepTree>();
  readonly #names = new Map<string, Set<string>>();

  add([step, ...rest]: readonly string[]): void {
    if (step === undefined) return;
    let child = this.#children.get(step);
    if (!child) {
      child = new StepTree();
      this.#children.set(step, child);
      const key = foldCase(step);
      this.#names.set(key, (this.#names.get(key) ?? new Set()).add(step));
    }
    child.add(rest);
  }

  stepInOtherCase(name: string): string | null {
    if (this.#children.has(name)) return null;
    return this.#names.get(foldCase(name))?.values().next().value ?? null;
  }

  child(name: string): StepTree | null {
    return this.#children.get(name) ?? null;
  }
}

/** A name in the arguments of a call, and the one that it may be taken for. */
export interface AmbiguousName {
  readonly name: string;
  readonly meant: string;
}

/**
 * The first name in the arguments that folds to an expected name at its place without being equal to it. Expected names
 * are the steps of paths and the properties of the schema. Names without a step or a property at their place are free.
 * @param paths of arguments that contracts look at, as lists of steps
 * @param schema of the tool's arguments; null: not known
 */
export function findAmbiguousName(
  args: object,
  paths: Iterable<readonly string[]>,
  schema: SchemaLevel | null,
): AmbiguousName | null {
  const steps = new StepTree();
  for (const path of paths) steps.add(path);
  return search(args, steps, schema);
}

function search(value: unknown, steps: StepTree | null, schema: SchemaLevel | null): AmbiguousName | null {
  if (typeof value !== 'object' || value === null || (!steps && !schema)) return null;
  if (Array.isArray(value)) {
    // Selectors do not look into lists.
    const items = schema?.items() ?? null;
    for (const item of items ? value : []) {
      const ambiguous = search(item, null, items);
      if (ambiguous) return ambiguous;
    }
    return null;
  }
  for (const [name, field] of Object.entries(value)) {
    const meant = schema?.propertyInOtherCase(name) ?? steps?.stepInOtherCase(name) ?? null;
    if (meant !== null) return { name, meant };
    const ambiguous = search(field, steps?.child(name) ?? null, schema?.member(name) ?? null);
    if (ambiguous) return ambiguous;
  }
  return null;
}

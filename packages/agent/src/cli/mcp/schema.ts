// Names in the JSON Schema of a tool's arguments, level by level. Reads properties alone; nothing is validated.
import { type Fields, isObject } from '../../fields.ts';
import { foldCase } from '../../rules/fold.ts';

/** Schemas that stand together for one value; more are not looked at. */
const maxTogether = 1_000;
const lists = ['allOf', 'anyOf', 'oneOf'];
const singles = ['if', 'then', 'else'];

/** The schemas that hold for one value. Built as far as a call goes into it, and kept. */
export class SchemaLevel {
  readonly #root: unknown;
  readonly #schemas: readonly Fields[];
  readonly #names = new Map<string, Set<string>>();
  readonly #properties = new Map<string, unknown[]>();
  readonly #children = new Map<string, SchemaLevel | null>();
  #items: SchemaLevel | null | undefined;
  /** For names that are no properties. */
  #others: SchemaLevel | null | undefined;

  constructor(schemas: readonly unknown[], root: unknown) {
    this.#root = root;
    this.#schemas = expand(schemas, root);
    for (const { properties } of this.#schemas) {
      for (const [name, schema] of isObject(properties) ? Object.entries(properties) : []) {
        const schemasOfName = this.#properties.get(name);
        if (schemasOfName) schemasOfName.push(schema);
        else this.#properties.set(name, [schema]);
        const key = foldCase(name);
        this.#names.set(key, (this.#names.get(key) ?? new Set()).add(name));
      }
    }
  }

  /** The property that a name folds to without being one; null when there is none. */
  propertyInOtherCase(name: string): string | null {
    if (this.#properties.has(name)) return null;
    return this.#names.get(foldCase(name))?.values().next().value ?? null;
  }

  /** The level of a member's value; null if the schema does not describe the value. */
  member(name: string): SchemaLevel | null {
    const schemas = this.#properties.get(name);
    if (!schemas) {
      this.#others ??= this.#level(
        this.#schemas.flatMap(({ additionalProperties, patternProperties }) => [
          additionalProperties,
          ...(isObject(patternProperties) ? Object.values(patternProperties) : []),
        ]),
      );
      return this.#others;
    }
    let child = this.#children.get(name);
    if (child === undefined) {
      child = this.#level(schemas);
      this.#children.set(name, child);
    }
    return child;
  }

  /** The level of the items of a list. */
  items(): SchemaLevel | null {
    this.#items ??= this.#level(
      this.#schemas.flatMap(({ items, prefixItems, additionalItems }) =>
        [items, prefixItems, additionalItems].flat(),
      ),
    );
    return this.#items;
  }

  #level(schemas: readonly unknown[]): SchemaLevel | null {
    const own = schemas.filter(isObject);
    return own.length > 0 ? new SchemaLevel(own, this.#root) : null;
  }
}

/** As many as are looked at: a list may have more items than a call has room for arguments. */
const firstOf = (schemas: readonly unknown[]): readonly unknown[] => schemas.slice(0, maxTogether);

/** The schemas with those that they refer to and combine. */
function expand(schemas: readonly unknown[], root: unknown): Fields[] {
  const all = new Set<Fields>();
  const pending: unknown[] = [...schemas];
  while (pending.length > 0 && all.size < maxTogether) {
    const schema = pending.pop();
    if (!isObject(schema) || all.has(schema)) continue;
    all.add(schema);
    if (typeof schema.$ref === 'string') pending.push(resolve(schema.$ref, root));
    for (const name of lists) if (Array.isArray(schema[name])) pending.push(...firstOf(schema[name]));
    for (const name of singles) pending.push(schema[name]);
    if (isObject(schema.dependentSchemas)) pending.push(...firstOf(Object.values(schema.dependentSchemas)));
  }
  return [...all];
}

/** A reference inside of the schema (RFC 6901, chapter 6); undefined for every other one. */
function resolve(ref: string, root: unknown): unknown {
  const pointer = ref.startsWith('#') ? decoded(ref.slice(1)) : null;
  if (pointer === null) return undefined;
  let at: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

/** The text without percent escapes; null where one is malformed. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

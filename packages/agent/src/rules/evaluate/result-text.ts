// The result of a tool as text, for `output.text`. JSON of what JSON can write; other values by their content.

/** `text` is undefined for null, and for a result whose content cannot be read. */
export interface ResultText {
  readonly text: string | undefined;
  readonly isReadable: boolean;
}

/** Values that are read of a result that is not plain JSON. */
const maxValues = 1_000_000;

/**
 * Texts as they are, everything else as JSON. Big integers are texts of their digits, maps objects or lists of pairs,
 * sets lists, bytes texts in UTF-8, errors their name, message and fields. Streams, promises and objects without own
 * fields, whose content is private, cannot be read. Never throws.
 */
export function resultText(output: unknown): ResultText {
  if (output === null || output === undefined) return { text: undefined, isReadable: true };
  if (typeof output === 'string') return { text: output, isReadable: true };
  if (typeof output !== 'object') return { text: String(output), isReadable: true };
  try {
    const plain = isJson(output, new Set()) ? output : new ContentCopier().copy(output, '');
    const text = typeof plain === 'string' ? plain : JSON.stringify(plain);
    return { text, isReadable: true };
  } catch {
    return { text: undefined, isReadable: false };
  }
}

const isPlain = (value: object): boolean => {
  const kind: unknown = Object.getPrototypeOf(value);
  return kind === null || Object.getPrototypeOf(kind) === null;
};

/** True if JSON leaves out nothing of a value but functions. */
function isJson(value: unknown, open: Set<object>): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  if (open.has(value) || !(Array.isArray(value) || isPlain(value))) return false;
  open.add(value);
  const areJson = Object.values(value).every((item) => isJson(item, open));
  open.delete(value);
  return areJson;
}

const utf8 = new TextDecoder();

class ContentCopier {
  readonly #open = new Set<object>();
  #values = 0;

  /** @throws whatever getters of the value throw; Error for content that cannot be read */
  copy(value: unknown, name: string): unknown {
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (++this.#values > maxValues) throw new Error('the result contains too many values');
    // The content of an enclosing value is written there.
    if (this.#open.has(value)) return '[CIRCULAR]';
    this.#open.add(value);
    const copy = this.#content(value, name);
    this.#open.delete(value);
    return copy;
  }

  #content(value: object, name: string): unknown {
    const kind = Object.prototype.toString.call(value).slice(8, -1);
    if (/^(?:Uint8(?:Clamped)?Array|DataView|(?:Shared)?ArrayBuffer)$/.test(kind))
      return utf8.decode(value as Uint8Array);
    if (/Array$/.test(kind)) return this.#list(Array.from(value as unknown[]));
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.copy(value.toJSON(name), name);
    if (kind === 'Set') return this.#list([...Set.prototype.values.call(value)]);
    if (kind === 'Map') return this.#map([...Map.prototype.entries.call(value)]);
    if (/^(?:RegExp|URLSearchParams|String|BigInt)$/.test(kind)) return String(value);
    if (/^(?:Number|Boolean)$/.test(kind)) return value.valueOf();
    if (value instanceof Error || kind === 'Error') return this.#error(value as Error);
    const names = Object.keys(value);
    const isClosed = names.length === 0 && !isPlain(value);
    if (isClosed || Symbol.asyncIterator in value || 'pipe' in value)
      throw new Error('the content of the result cannot be read');
    return this.#fields(value, names);
  }

  #list(items: readonly unknown[]): unknown[] {
    return items.map((item, i) => this.copy(item, String(i)));
  }

  #map(entries: readonly (readonly [unknown, unknown])[]): unknown {
    const hasNames = entries.every(([key]) => typeof key === 'string');
    return hasNames
      ? this.#fields(
          Object.fromEntries(entries),
          entries.map(([key]) => String(key)),
        )
      : this.#list(entries);
  }

  #error(value: Error): unknown {
    const names = Object.getOwnPropertyNames(value).filter((name) => name !== 'stack' && name !== 'message');
    const { name, message } = value;
    return { name, message, ...this.#fields(value, names) };
  }

  #fields(value: object, names: readonly string[]): object {
    const copy = Object.create(null) as { [name: string]: unknown };
    for (const name of names) copy[name] = this.copy((value as typeof copy)[name], name);
    return copy;
  }
}

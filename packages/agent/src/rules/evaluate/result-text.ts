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
    const text = isJson(output, new Set()) ? JSON.stringify(output) : contentText(output);
    return { text, isReadable: true };
  } catch {
    return { text: undefined, isReadable: false };
  }
}

/** @throws as `ContentCopier.copy` */
function contentText(output: object): string | undefined {
  const content = new ContentCopier().copy(output, '');
  const isBare = typeof content === 'string' && !hasJson(output) && !isBoxed(output);
  return isBare ? content : JSON.stringify(content);
}

interface WithJson {
  toJSON(name: string): unknown;
}

const hasJson = (value: object): value is WithJson => 'toJSON' in value && typeof value.toJSON === 'function';

const isPlain = (value: object): boolean => {
  const kind: unknown = Object.getPrototypeOf(value);
  return kind === null || Object.getPrototypeOf(kind) === null;
};

/** Some programs teach JSON to write big integers. */
const bigintsAreJson = (): boolean => 'toJSON' in BigInt.prototype;

/** True if JSON leaves out nothing of a value but functions. */
function isJson(value: unknown, open: Set<object>): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint' || bigintsAreJson();
  if (open.has(value) || !(Array.isArray(value) || isPlain(value))) return false;
  open.add(value);
  const areJson = Object.values(value).every((item) => isJson(item, open));
  open.delete(value);
  return areJson;
}

const utf8 = new TextDecoder();

/** Getters that throw for every value without the slot that they read, whatever its class is called. */
const getter = (prototype: object, name: PropertyKey) =>
  Object.getOwnPropertyDescriptor(prototype, name)?.get;
const typedKind = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const mapSize = getter(Map.prototype, 'size');
const setSize = getter(Set.prototype, 'size');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');

function reads(read: (() => unknown) | undefined, value: object): boolean {
  try {
    read?.call(value);
    return read !== undefined;
  } catch {
    return false;
  }
}

const isBoxed = (value: object): boolean =>
  value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt;

/** The built-in kind of a value, which a class cannot give itself. */
function kindOf(value: object): string {
  if (Array.isArray(value)) return 'Array';
  if (ArrayBuffer.isView(value)) {
    const kind = typedKind?.call(value);
    return kind === undefined || kind === 'Uint8Array' || kind === 'Uint8ClampedArray' ? 'bytes' : 'Array';
  }
  if (reads(bufferLength, value)) return 'bytes';
  if (reads(mapSize, value)) return 'Map';
  if (reads(setSize, value)) return 'Set';
  if (value instanceof RegExp || value instanceof URLSearchParams) return 'text';
  if (isBoxed(value)) return 'boxed';
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
    ? 'Error'
    : 'object';
}

class ContentCopier {
  readonly #open = new Set<object>();
  #values = 0;

  /** @throws whatever getters of the value throw; Error for content that cannot be read */
  copy(value: unknown, name: string): unknown {
    if (typeof value === 'bigint') return bigintsAreJson() ? value : String(value);
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
    const kind = kindOf(value);
    if (kind === 'bytes') return utf8.decode(value as Uint8Array);
    if (kind === 'Array') return this.#list(Array.from(value as unknown[]));
    if (!hasJson(value)) return this.#own(value, kind);
    const written = value.toJSON(name);
    if (typeof written !== 'object' || written === null) return this.copy(written, name);
    // Once, as JSON does, also where the answer has such a method itself.
    if (written === value) return this.#own(value, kind);
    if (!hasJson(written)) return this.copy(written, name);
    if (this.#open.has(written)) return '[CIRCULAR]';
    this.#open.add(written);
    const copy = this.#own(written, kindOf(written));
    this.#open.delete(written);
    return copy;
  }

  #own(value: object, kind: string): unknown {
    if (kind === 'Error') return this.#error(value as Error);
    const names = Object.keys(value);
    if (kind === 'object') {
      const isClosed = names.length === 0 && !isPlain(value);
      const isStream = Symbol.asyncIterator in value || ('pipe' in value && typeof value.pipe === 'function');
      if (isClosed || isStream) throw new Error('the content of the result cannot be read');
      return this.#fields(value, names);
    }
    if (kind === 'boxed') return this.copy(value.valueOf(), '');
    const content = this.#builtIn(value, kind);
    // Fields that a program added to a built-in kind.
    return names.length === 0 ? content : { ...this.#fields(value, names), content };
  }

  #builtIn(value: object, kind: string): unknown {
    if (kind === 'Set') return this.#list([...Set.prototype.values.call(value)]);
    if (kind === 'Map') return this.#map([...Map.prototype.entries.call(value)]);
    return String(value);
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

// The arguments of a call as contracts judge them: a frozen copy of their values, beside the originals that the tool
// gets. Finds the part of the originals that cannot be judged, and later changes of the originals.
import { isDeepStrictEqual, types } from 'node:util';
import { placeOf, type Shape, shapeOf, turns, turnsInto } from './shape.ts';

/** Values that are looked at, and how deep they may be nested: far more than a tool's arguments need. */
const maxValues = 1_000_000;
const maxDepth = 200;

type Plain = { readonly [name: string]: unknown };

/** A copy of the arguments for rules, and a doubt that the tool finds the same. */
export interface Judged {
  readonly args: Plain;
  /** The first place where the tool may find something else, and why; null when there is none. */
  readonly doubt: string | null;
}

/** In the copy of what works by itself: the original. */
const original = Symbol('original');
const unjudged = '[UNJUDGED]';

/**
 * A copy of the arguments' values. Maps of texts become objects, other maps and sets lists, addresses texts; an object
 * with fields becomes those fields, bytes are copied. Functions stand in the copy as themselves; so do signals, streams
 * and emitters, of which only texts among their fields are copied. Runs no code of the arguments' own.
 * @throws TypeError for what is no object, is nested too deep or holds too much
 */
export function judgedArguments(args: object): Judged {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new TypeError('the arguments must be an object');
  }
  const copier = new Copier();
  const copy = copier.copy(args);
  if (isFields(copy)) return { args: copy, doubt: copier.doubt };
  return { args: {}, doubt: copier.doubt ?? 'args has no fields' };
}

/** The copy alone. @throws TypeError as `judgedArguments`, and where the tool may find something else in them */
export function judgedCopy(args: object): Plain {
  const judged = judgedArguments(args);
  if (judged.doubt !== null) throw new TypeError(`the arguments cannot be judged: ${judged.doubt}`);
  return judged.args;
}

const isFields = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const prototypeOfObjects = Object.prototype as unknown as { __lookupGetter__(name: PropertyKey): unknown };
// Finds a computed field without describing it, which takes four times as long.
const getterOf = prototypeOfObjects.__lookupGetter__;

class Copier {
  doubt: string | null = null;
  readonly #copies = new Map<object, unknown>();
  readonly #path: (string | number)[] = ['args'];
  #values = 0;

  copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const cached = this.#copies.get(value);
    if (cached !== undefined) return cached;
    this.#count(1);
    const { shape, doubt } = shapeOf(value);
    if (doubt !== null) this.#doubts(doubt);
    switch (shape) {
      case 'fields':
        return this.#fields(value, Object.keys(value));
      case 'list':
        return this.#list(value as unknown[]);
      case 'map':
        return this.#map(value, [...Map.prototype.entries.call(value)]);
      case 'set':
        return this.#items(value, [...Set.prototype.values.call(value)]);
      case 'error':
        return this.#error(value as Error);
      case 'live':
        return this.#live(value);
      default:
        return this.#whole(value, shape);
    }
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > maxValues || this.#path.length > maxDepth) {
      throw new TypeError(
        `the arguments are nested deeper than ${maxDepth}, or contain more than ${maxValues} values`,
      );
    }
  }

  #doubts(why: string, ...below: readonly (string | number)[]): void {
    this.doubt ??= `${[...this.#path, ...below].join('.').slice(0, 200)} ${why}`;
  }

  /** Value under a name. */
  #field(of: object, name: string | number): unknown {
    if (getterOf.call(of, name) !== undefined) {
      this.#doubts('is a getter', name);
      return unjudged;
    }
    const field = (of as Plain)[name];
    if (typeof field === 'object' && field !== null) return this.#copyAt(name, field);
    if (typeof field === 'function' && turns.has(name))
      this.#doubts(`becomes another value through ${name}()`);
    return field;
  }

  #copyAt(name: string | number, value: unknown): unknown {
    this.#path.push(name);
    const copy = this.copy(value);
    this.#path.pop();
    return copy;
  }

  #fields(value: object, names: readonly string[]): Plain {
    this.#count(names.length);
    if (Object.getOwnPropertyNames(value).length !== names.length)
      this.#doubts('has fields that are not enumerable');
    if (Object.getOwnPropertySymbols(value).length > 0) this.#doubts('has fields named by symbols');
    const copy: { [name: string]: unknown } = {};
    this.#copies.set(value, copy);
    for (const name of names) put(copy, name, this.#field(value, name));
    return Object.freeze(copy);
  }

  #list(value: readonly unknown[]): readonly unknown[] {
    const { length } = value;
    this.#count(length);
    const names = Object.getOwnPropertyNames(value);
    // Places come first among the names, and in order, then `length`: the last place shows whether all are there.
    const isFull = names.length > length && (length === 0 || names[length - 1] === String(length - 1));
    const hasMore = names.length > length + 1 || Object.getOwnPropertySymbols(value).length > 0;
    if (!isFull || hasMore) this.#doubts('is a list with holes or with extra fields');
    const copy: unknown[] = [];
    this.#copies.set(value, copy);
    if (isFull) for (let i = 0; i < length; i++) copy.push(this.#field(value, i));
    else for (const name of names) if (name !== 'length') copy.push(this.#field(value, name));
    return Object.freeze(copy);
  }

  #items(value: object, items: readonly unknown[]): readonly unknown[] {
    this.#count(items.length);
    const copy: unknown[] = [];
    this.#copies.set(value, copy);
    for (const [i, item] of items.entries()) {
      copy.push(this.#copyAt(i, item));
    }
    return Object.freeze(copy);
  }

  #map(value: object, entries: readonly [unknown, unknown][]): unknown {
    // Keys of other types could be one name and hide each other: such a map is a list of pairs.
    if (entries.some(([key]) => typeof key !== 'string')) return this.#items(value, entries);
    this.#count(entries.length);
    const copy: { [name: string]: unknown } = {};
    this.#copies.set(value, copy);
    for (const [key, item] of entries as [string, unknown][]) {
      put(copy, key, this.#copyAt(key, item));
    }
    return Object.freeze(copy);
  }

  #error(value: Error): Plain {
    if (Object.getOwnPropertySymbols(value).length > 0) this.#doubts('has fields named by symbols');
    const copy: { [name: string]: unknown } = { name: inheritedText(value, 'name'), message: '' };
    this.#copies.set(value, copy);
    for (const name of Object.getOwnPropertyNames(value)) {
      if (name !== 'stack') put(copy, name, this.#field(value, name));
    }
    return Object.freeze(copy);
  }

  #live(value: object): unknown {
    const texts: [string, string][] = [];
    for (const name of Object.getOwnPropertyNames(value)) {
      const field = Object.getOwnPropertyDescriptor(value, name);
      if (field?.get || turnsInto(name, field?.value)) this.#doubts(`computes ${name}`);
      if (typeof field?.value === 'string' && !name.startsWith('_')) texts.push([name, field.value]);
    }
    return texts.length === 0 ? value : Object.freeze({ ...Object.fromEntries(texts), [original]: value });
  }

  /** A value without parts. */
  #whole(value: object, shape: Shape): unknown {
    try {
      if (shape === 'date') return new Date(Date.prototype.getTime.call(value));
      if (shape === 'boxed') return unboxed(value);
      if (shape === 'text') return textOf(value);
      if (shape === 'bytes') return this.#bytes(value);
    } catch {
      this.#doubts('inherits from a built-in that it is not');
    }
    return unjudged;
  }

  #bytes(value: object): Uint8Array {
    if (!ArrayBuffer.isView(value)) return new Uint8Array(value as ArrayBuffer).slice();
    const { buffer, offset, length } = placeOf(value);
    const copy = new Uint8Array(buffer, offset, length).slice();
    if (this.doubt === null && hasNamedFields(value, copy)) this.#doubts('has fields other than its bytes');
    return copy;
  }
}

/** Not by assignment alone: a field may be named __proto__. */
function put(copy: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(copy, name, { value, enumerable: true });
  else copy[name] = value;
}

function inheritedText(value: object, name: string): string {
  let at: object | null = value;
  while (at !== null && !Object.hasOwn(at, name)) at = Object.getPrototypeOf(at);
  const text: unknown = at === null ? '' : Object.getOwnPropertyDescriptor(at, name)?.value;
  return typeof text === 'string' ? text : '';
}

/** @throws TypeError for what only inherits from such a value */
function unboxed(value: object): unknown {
  if (types.isStringObject(value)) return String.prototype.valueOf.call(value);
  if (types.isNumberObject(value)) return Number.prototype.valueOf.call(value);
  return types.isBigIntObject(value)
    ? BigInt.prototype.valueOf.call(value)
    : Boolean.prototype.valueOf.call(value);
}

/** @throws TypeError for what only inherits from such a value */
function textOf(value: object): string {
  if (types.isRegExp(value)) return RegExp.prototype.toString.call(value);
  const { prototype } = Object.getPrototypeOf(value) === URL.prototype ? URL : URLSearchParams;
  return prototype.toString.call(value);
}

/** True when there is more on a view than its bytes. Listing its names would list every byte. */
function hasNamedFields(view: ArrayBufferView, bytes: Uint8Array<ArrayBuffer>): boolean {
  if (
    ['constructor', 'buffer', 'byteOffset', 'byteLength', 'length', ...turns].some((name) =>
      Object.hasOwn(view, name),
    )
  )
    return true;
  const { constructor: Kind } = Object.getPrototypeOf(view);
  const plain = Kind === Buffer ? Buffer.from(bytes.buffer) : new Kind(bytes.buffer);
  return !isDeepStrictEqual(view, plain);
}

/** True when the arguments still equal the judged copy. */
export function sayTheSame(judged: Judged, args: object): boolean {
  try {
    const now = judgedArguments(args);
    return now.doubt === judged.doubt && same(judged.args, now.args, new Map());
  } catch {
    return false;
  }
}

const originalOf = (copy: object): unknown => (copy as { readonly [original]?: unknown })[original];

function same(a: unknown, b: unknown, pairs: Map<unknown, unknown>): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  // A circle that was gone round in both.
  if (pairs.get(a) === b) return true;
  pairs.set(a, b);
  // The same stream with the same texts.
  if (!Object.is(originalOf(a), originalOf(b))) return false;
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  }
  if (a instanceof Date || b instanceof Date) {
    return a instanceof Date && b instanceof Date && Object.is(a.getTime(), b.getTime());
  }
  if (!Object.isFrozen(a) || !Object.isFrozen(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a)) {
    const [items, others] = [a as readonly unknown[], b as readonly unknown[]];
    return items.length === others.length && items.every((item, i) => same(item, others[i], pairs));
  }
  const [names, others] = [Object.keys(a), Object.keys(b)];
  const fields = (value: object): Plain => value as Plain;
  return (
    names.length === others.length &&
    names.every((name) => Object.hasOwn(b, name) && same(fields(a)[name], fields(b)[name], pairs))
  );
}

/** The name of what works by itself. */
function kindOf(value: object): string {
  const kind: unknown = Object.getPrototypeOf(value);
  const constructorOf = Object.getOwnPropertyDescriptor(kind ?? {}, 'constructor')?.value as unknown;
  const name = Object.getOwnPropertyDescriptor(constructorOf ?? {}, 'name')?.value as unknown;
  return typeof name === 'string' && name !== '' ? name : 'OBJECT';
}

/**
 * The judged copy as JSON for people who decide about it: bytes and what cannot be written are named, nothing is left
 * out silently.
 */
export function shownToPeople(judged: Plain): Plain {
  const open: object[] = [];
  const render = (value: unknown): unknown => {
    if (typeof value === 'function') return '[FUNCTION]';
    if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Uint8Array) return `[BINARY ${value.byteLength} bytes]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (open.includes(value)) return '[CIRCULAR]';
    if (!Object.isFrozen(value)) return `[${kindOf(value)}]`;
    open.push(value);
    const copy = Array.isArray(value)
      ? value.map(render)
      : Object.fromEntries(Object.entries(value).map(([name, field]) => [name, render(field)]));
    open.pop();
    return copy;
  };
  return render(judged) as Plain;
}

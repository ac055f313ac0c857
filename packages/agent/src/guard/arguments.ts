// The arguments of a call as contracts judge them: a frozen copy of what they say, beside the originals that the tool
// gets. Tells whether the originals still say the same.

/** Values that are looked at, and how deep they may be nested: far more than a tool's arguments need. */
const maxValues = 1_000_000;
const maxDepth = 200;

type Plain = { readonly [name: string]: unknown };

/**
 * A copy of what the arguments say. Maps of texts become objects, other maps and sets lists, addresses texts; an object
 * with fields becomes those fields, bytes are copied. What has no data of its own to show (functions, signals, streams,
 * promises) stands in the copy as itself.
 * @throws TypeError for arguments that no rule can judge
 */
export function judgedCopy(args: object): Plain {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new TypeError('the arguments must be an object');
  }
  return new Copier().fieldsOf(args, 0);
}

class Copier {
  readonly #seen = new Map<object, unknown>();
  #values = 0;

  #copy(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (++this.#values > maxValues || depth > maxDepth) {
      throw new TypeError(
        `the arguments are nested deeper than ${maxDepth} or hold more than ${maxValues} values`,
      );
    }
    const known = this.#seen.get(value);
    if (known !== undefined) return known;
    const isList = Array.isArray(value) || value instanceof Set;
    // Keys of other types could be one name and hide each other: such a map is a list of pairs.
    const isPairs = value instanceof Map && [...value.keys()].some((key) => typeof key !== 'string');
    if (isList || isPairs) return this.#listOf(value, depth);
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof String || value instanceof Number || value instanceof Boolean)
      return value.valueOf();
    if (value instanceof URL || value instanceof URLSearchParams || value instanceof RegExp)
      return String(value);
    if (ArrayBuffer.isView(value)) return bytesOf(value).slice();
    if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
    if (value instanceof Error) return Object.freeze({ name: value.name, message: value.message });
    return isAlive(value) ? value : this.fieldsOf(value, depth);
  }

  fieldsOf(value: object, depth: number): Plain {
    const copy: { [name: string]: unknown } = {};
    this.#seen.set(value, copy);
    const entries: Iterable<[string, unknown]> = value instanceof Map ? value : fieldsAndInherited(value);
    for (const [name, field] of entries) {
      // Not by assignment: a field may be named __proto__.
      Object.defineProperty(copy, name, {
        value: this.#copy(field, depth + 1),
        enumerable: true,
      });
    }
    return Object.freeze(copy);
  }

  #listOf(value: Iterable<unknown>, depth: number): readonly unknown[] {
    const copy: unknown[] = [];
    this.#seen.set(value, copy);
    for (const item of value) copy.push(this.#copy(item, depth + 1));
    this.#values += copy.length;
    return Object.freeze(copy);
  }
}

/**
 * What a tool reads of an object by name: its fields, and those of objects that it inherits from. Merging a key
 * `__proto__` into an object makes such a one.
 */
function* fieldsAndInherited(value: object): Iterable<[string, unknown]> {
  for (const name in value) yield [name, (value as Plain)[name]];
}

const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

const signs = ['then', 'emit', 'addEventListener', 'getReader', 'pipe'] as const;

/**
 * True for what changes by its own working: a promise, an emitter, a signal, a stream. Its fields are not arguments.
 */
function isAlive(value: object): boolean {
  const kind: unknown = Object.getPrototypeOf(value);
  if (kind === Object.prototype || kind === null) return false;
  return signs.some((name) => typeof (value as Plain)[name] === 'function');
}

/** True when the arguments still say what the copy says. */
export function sayTheSame(judged: Plain, args: object): boolean {
  try {
    return same(judged, judgedCopy(args), new Map());
  } catch {
    return false;
  }
}

function same(a: unknown, b: unknown, pairs: Map<unknown, unknown>): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  // A circle that was gone round in both.
  if (pairs.get(a) === b) return true;
  pairs.set(a, b);
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  }
  if (a instanceof Date || b instanceof Date) {
    return a instanceof Date && b instanceof Date && Object.is(a.getTime(), b.getTime());
  }
  if (Array.isArray(a) !== Array.isArray(b) || !Object.isFrozen(a) || !Object.isFrozen(b)) return false;
  const [names, others] = [Object.keys(a), Object.keys(b)];
  const fields = (value: object): Plain => value as Plain;
  return (
    names.length === others.length &&
    names.every((name) => Object.hasOwn(b, name) && same(fields(a)[name], fields(b)[name], pairs))
  );
}

/**
 * The judged copy as JSON for people who decide about it: bytes and what cannot be written are named, nothing is left
 * out silently.
 */
export function shownToPeople(judged: Plain): Plain {
  const open: object[] = [];
  const shown = (value: unknown): unknown => {
    if (typeof value === 'function') return '[FUNCTION]';
    if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Uint8Array) return `[BINARY ${value.byteLength} bytes]`;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (open.includes(value)) return '[CIRCULAR]';
    if (!Object.isFrozen(value)) return `[${value.constructor?.name ?? 'OBJECT'}]`;
    open.push(value);
    const copy = Array.isArray(value)
      ? value.map(shown)
      : Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shown(field)]));
    open.pop();
    return copy;
  };
  return shown(judged) as Plain;
}

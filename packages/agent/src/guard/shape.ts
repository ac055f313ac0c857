// Finds the kind of an argument's value, and doubts that all its readers see the same. A value that runs code when
// read, or that hides a part from some readers, can be judged as one thing and used as another.
import { EventEmitter } from 'node:events';
import { ReadStream, WriteStream } from 'node:fs';
import { Socket } from 'node:net';
import { Duplex, PassThrough, Readable, Transform, Writable } from 'node:stream';
import { types } from 'node:util';

/** Form in which a value is judged. */
export type Shape =
  /** Named fields. */
  | 'fields'
  | 'list'
  | 'map'
  | 'set'
  | 'date'
  | 'boxed'
  /** An address or a pattern: its text. */
  | 'text'
  | 'bytes'
  | 'error'
  /** A stream, a signal, an emitter: it changes by its own working, and only its texts are judged. */
  | 'live'
  /** A promise, or a value whose content cannot be read. */
  | 'closed';

export interface Seen {
  readonly shape: Shape;
  /** Reason against judging the value; null without one. */
  readonly doubt: string | null;
}

const fields: Seen = { shape: 'fields', doubt: null };
const list: Seen = { shape: 'list', doubt: null };
const closed = (doubt: string): Seen => ({ shape: 'closed', doubt });

/** Kinds whose fields are their own working, not data. A program's subclasses of these kinds are judged as classes. */
const livePrototypes: ReadonlySet<object> = new Set(
  [
    ...[EventEmitter, EventTarget, AbortSignal, AbortController, Blob, Socket, ReadStream, WriteStream],
    ...[Readable, Writable, Duplex, Transform, PassThrough, ReadableStream, WritableStream, TransformStream],
  ].map(({ prototype }) => prototype as object),
);

/** Methods by which a value turns into another one where a text, a number or JSON is wanted, or where it is awaited. */
export const turns: ReadonlySet<PropertyKey> = new Set([
  ...['toJSON', 'toString', 'valueOf', 'then'],
  ...[Symbol.toPrimitive, Symbol.iterator],
]);

/** True for a function under a name that is called without being named. */
export const turnsInto = (name: PropertyKey, value: unknown): boolean =>
  typeof value === 'function' && turns.has(name);

/** Never runs code of the value's own. */
export function shapeOf(value: object): Seen {
  if (types.isProxy(value)) return closed('is a proxy');
  const kind: unknown = Object.getPrototypeOf(value);
  if (kind === Object.prototype || kind === null) return fields;
  if (Array.isArray(value)) {
    return kind === Array.prototype || isBuiltIn(kind, 'Array')
      ? list
      : { ...list, doubt: 'has a class derived from a list' };
  }
  return builtInShape(value, kind as object) ?? classShape(kind as object);
}

function builtInShape(value: object, kind: object): Seen | null {
  if (types.isPromise(value)) return closed('is a promise: await it before the call');
  if (types.isMap(value)) return plainest('map', value, isBuiltIn(kind, 'Map'));
  if (types.isSet(value)) return plainest('set', value, isBuiltIn(kind, 'Set'));
  if (types.isDate(value)) return plainest('date', value, isBuiltIn(kind, 'Date'));
  if (types.isRegExp(value)) return plainest('text', value, isBuiltIn(kind, 'RegExp'), 1);
  if (types.isBoxedPrimitive(value)) {
    const own = types.isStringObject(value) ? String.prototype.valueOf.call(value).length + 1 : 0;
    return plainest('boxed', value, isBuiltIn(kind, 'String|Number|Boolean|BigInt'), own);
  }
  if (kind === URL.prototype || kind === URLSearchParams.prototype) return plainest('text', value, true);
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return bytesShape(value, kind);
  if (types.isNativeError(value)) return { shape: 'error', doubt: derivedDoubt(kind) };
  return null;
}

/** A built-in with nothing added to it. */
function plainest(shape: Shape, value: object, builtIn: boolean, ownNames = 0): Seen {
  if (!builtIn)
    return { shape, doubt: `has a class derived from ${shape === 'text' ? 'a built-in' : shape}` };
  return {
    shape,
    doubt: Reflect.ownKeys(value).length > ownNames ? 'has fields other than its content' : null,
  };
}

function bytesShape(value: object, kind: object): Seen {
  const { buffer } = ArrayBuffer.isView(value) ? placeOf(value) : { buffer: value };
  if (types.isSharedArrayBuffer(buffer)) return closed('is memory that other threads can change');
  if (value === buffer) return plainest('bytes', value, isBuiltIn(kind, 'ArrayBuffer'));
  const isKnownKind = kind === Buffer.prototype || isBuiltIn(kind, '\\w+Array|DataView');
  // Names of bytes are too many to list: only symbols are looked for here, and named fields by the copier.
  const added = Object.getOwnPropertySymbols(value).length > 0;
  return { shape: 'bytes', doubt: isKnownKind && !added ? null : 'is not a plain byte array' };
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const getterOf = (of: object, name: string): (() => unknown) =>
  Object.getOwnPropertyDescriptor(of, name)?.get as () => unknown;
const typedPlace = ['buffer', 'byteOffset', 'byteLength'].map((name) => getterOf(typedArray, name));
const viewPlace = ['buffer', 'byteOffset', 'byteLength'].map((name) => getterOf(DataView.prototype, name));

/** Place of a view's bytes, whatever fields were put on the view. */
export function placeOf(view: ArrayBufferView): { buffer: ArrayBuffer; offset: number; length: number } {
  const getters = types.isDataView(view) ? viewPlace : typedPlace;
  const [buffer, offset, length] = getters.map((get) => get.call(view));
  return { buffer: buffer as ArrayBuffer, offset: offset as number, length: length as number };
}

function classShape(kind: object): Seen {
  const live = liveKind(kind);
  if (isBuiltIn(kind, 'Object')) return fields;
  return { shape: live ? 'live' : 'fields', doubt: derivedDoubt(kind) };
}

function liveKind(kind: object): boolean {
  for (let at: object | null = kind; at !== null && !types.isProxy(at); at = Object.getPrototypeOf(at)) {
    if (livePrototypes.has(at)) return true;
  }
  return false;
}

/** Reason against judging a value that inherits from here: data, computed fields, another face. Null: methods only. */
function derivedDoubt(kind: object): string | null {
  for (let at: object | null = kind; at !== null; at = Object.getPrototypeOf(at)) {
    if (types.isProxy(at)) return 'inherits from a proxy';
    if (livePrototypes.has(at) || isBuiltIn(at, 'Object|\\w*Error')) return null;
    for (const name of Reflect.ownKeys(at)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(at, name) ?? {};
      const label = typeof name === 'symbol' ? (name.description ?? 'a symbol') : name;
      if (turnsInto(name, value)) return `becomes another value through ${label}()`;
      if (name === Symbol.toStringTag || name === 'constructor') continue;
      if (get ?? set) return `computes ${label}`;
      if (typeof value !== 'function') return `inherits ${label}`;
    }
  }
  return null;
}

/**
 * True for the prototype of a built-in kind of any realm, such as that of a test runner. The prototype that a native
 * constructor names cannot be replaced, and no other function can look native under that name.
 */
function isBuiltIn(prototype: unknown, names: string): boolean {
  const value: unknown = Object.getOwnPropertyDescriptor(prototype as object, 'constructor')?.value;
  if (typeof value !== 'function' || types.isProxy(value)) return false;
  const native = new RegExp(`^function (?:${names})\\(\\) \\{ \\[native code\\] \\}$`);
  return (
    native.test(Function.prototype.toString.call(value)) &&
    Object.getOwnPropertyDescriptor(value, 'prototype')?.value === prototype
  );
}

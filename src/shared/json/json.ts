// JSON from outside as plain values, with its bounds: UTF-8, depth, keys that reach into prototypes, surrogates, finite
// numbers. Knows no schema.
import { HubError } from '../error.ts';
import { isWellFormed } from '../ids.ts';
import { mayLoseDigits, withExactNumbers } from './exact-numbers.ts';

export const maxJsonDepth = 64;
/** Values of one body, counted by its commas: a small text must not become a large tree. */
export const maxValues = 200_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const invalid = (why: string): HubError =>
  new HubError('invalid_json', `The body is not valid JSON: ${why}.`);

/** Only an escape can bring half of a surrogate pair into valid UTF-8. */
const surrogateEscape = /\\u[dD]/;

export interface ParsedJson {
  readonly value: unknown;
  /** False when no text inside can hold half of a surrogate pair. */
  readonly suspect: boolean;
}

/** A value that was not looked into. */
export interface LooseJson {
  /** Whole numbers that a double cannot hold are texts of their digits. */
  readonly value: unknown;
  /** The same with those numbers rounded; undefined when there are none. */
  readonly rounded: unknown;
}

/**
 * Parses without looking inside: `measureJson` does.
 * @param exact whether whole numbers that a double cannot hold come as texts of their digits
 * @throws HubError invalid_json
 */
export function parseJson(bytes: Uint8Array, exact = false): ParsedJson {
  const text = textOf(bytes);
  const rounded = parsed(text);
  const value = exact ? (exactly(text) ?? rounded) : rounded;
  return { value, suspect: surrogateEscape.test(text) };
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid('it is not UTF-8 text');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('it cannot be parsed');
  }
}

/**
 * The value with whole numbers that a double cannot hold as texts of their digits; undefined when there are none.
 * @param json a text that was parsed: in others digits in quotation marks could become JSON, and texts have no end
 */
function exactly(json: string): unknown {
  if (!mayLoseDigits(json)) return undefined;
  const exact = withExactNumbers(json);
  return exact === json ? undefined : parsed(exact);
}

/**
 * Parses a body whose nesting and number of values are bounded before it is parsed; what comes back is plain JSON.
 * @param exact whether whole numbers that a double cannot hold come as texts of their digits
 * @throws HubError invalid_json
 */
export function readJson(bytes: Uint8Array, exact = false): unknown {
  checkShape(bytes);
  const { value, suspect } = parseJson(bytes, exact);
  measureJson(value, suspect);
  return value;
}

/**
 * Parses a body whose number of values is bounded before it is parsed, and looks no further: texts, keys and nesting
 * may be anything. Whole numbers that a double cannot hold come as texts of their digits.
 * @throws HubError invalid_json
 */
export function readLooseJson(bytes: Uint8Array): LooseJson {
  checkShape(bytes, Number.POSITIVE_INFINITY);
  const text = textOf(bytes);
  const rounded = parsed(text);
  const exact = exactly(text);
  return exact === undefined ? { value: rounded, rounded: undefined } : { value: exact, rounded };
}

/** So many bytes into a text its end is searched for: byte by byte costs eight times as much in a long one. */
const leapAfter = 32;

/** Bounds nesting and size without parsing: counts brackets and commas outside strings. */
function checkShape(bytes: Uint8Array, maxDepth = maxJsonDepth): void {
  let depth = 0;
  let commas = 0;
  let inString = false;
  /** Bytes of this text since its begin or its last leap. */
  let passed = 0;
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
      else if (++passed === leapAfter) {
        const quote = bytes.indexOf(0x22, i + 1);
        if (quote < 0) return;
        let escapes = quote;
        while (bytes[escapes - 1] === 0x5c) escapes--;
        inString = (quote - escapes) % 2 === 1;
        i = quote;
        passed = 0;
      }
    } else if (c === 0x22) {
      inString = true;
      passed = 0;
    } else if (c === 0x5b || c === 0x7b) {
      if (++depth > maxDepth) throw invalid(`it is nested deeper than ${maxDepth} levels`);
    } else if (c === 0x5d || c === 0x7d) depth--;
    else if (c === 0x2c && ++commas >= maxValues) throw invalid(`it contains more than ${maxValues} values`);
  }
}

/**
 * Checks that a parsed value is plain JSON within the bounds, and measures it.
 * @param suspect whether texts may hold half of a surrogate pair
 * @param depth levels around the value
 * @returns about the characters of its serialized form; six times that is never less than its bytes
 * @throws HubError invalid_json
 */
export function measureJson(value: unknown, suspect = true, depth = 0): number {
  switch (typeof value) {
    case 'string':
      if (suspect && !isWellFormed(value)) throw invalid('a string contains half of a surrogate pair');
      return value.length + 2;
    case 'number':
      if (!Number.isFinite(value)) throw invalid('a number is out of range');
      return 24;
    case 'boolean':
      return 5;
    case 'object':
      break;
    default:
      throw invalid(`it contains a ${typeof value}`);
  }
  if (value === null) return 4;
  if (depth >= maxJsonDepth) throw invalid(`it is nested deeper than ${maxJsonDepth} levels`);
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) size += measureJson(item, suspect, depth + 1) + 1;
    return size;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw invalid('it contains a value that JSON does not have');
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
      throw invalid(`the key '${key}' is not allowed`);
    }
    if (suspect && !isWellFormed(key)) throw invalid('a key contains half of a surrogate pair');
    size += key.length + 4 + measureJson((value as { [name: string]: unknown })[key], suspect, depth + 1);
  }
  return size;
}

// Bodies and queries: from bytes to plain JSON values, with every bound checked. Knows no route.
import { HubError } from '../domain/error.ts';
import { isWellFormed } from '../domain/ids.ts';

export const maxDepth = 64;
/** Values of one body, counted by its commas: a small text must not become a large tree. */
export const maxValues = 200_000;
const maxQueryParameters = 64;
const kib = 1024;

/** The specification's table of body limits (document 3 §1.3), by path and method. Bytes. */
export function defaultBodyLimit(method: string, path: string): number {
  if (path.startsWith('/api/v1/auth/') || path === '/api/v1/setup') return 4 * kib;
  if (
    (method === 'POST' || method === 'PUT') &&
    /^\/api\/v1\/(?:bundles|contracts|compositions)(?:\/|$)/.test(path)
  ) {
    return 5 * kib * kib;
  }
  return kib * kib;
}

/** The error of a body over its limit, in the specification's words. */
export function tooLarge(limit: number): HubError {
  const size = limit >= kib * kib ? `${Math.floor(limit / (kib * kib))}MB` : `${Math.floor(limit / kib)}KB`;
  return new HubError('payload_too_large', `Request body too large. Maximum allowed: ${size}.`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const invalid = (why: string): HubError =>
  new HubError('invalid_json', `The body is not valid JSON: ${why}.`);

/**
 * Parses a JSON body. Nesting and the number of values are bounded before parsing; keys that reach into prototypes, numbers beyond the range of a double,
 * lone surrogates and invalid UTF-8 are refused.
 * @throws HubError invalid_json
 */
export function readJson(bytes: Uint8Array): unknown {
  checkShape(bytes);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalid('it is not UTF-8 text');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('it cannot be parsed');
  }
  checkPlain(value);
  return value;
}

/** Bounds nesting and size without parsing: counts brackets and commas outside strings. */
function checkShape(bytes: Uint8Array): void {
  let depth = 0;
  let commas = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) {
      if (++depth > maxDepth) throw invalid(`it is nested deeper than ${maxDepth} levels`);
    } else if (c === 0x5d || c === 0x7d) depth--;
    else if (c === 0x2c && ++commas >= maxValues) throw invalid(`it holds more than ${maxValues} values`);
  }
}

/**
 * Checks that a decoded value is plain JSON of bounded depth. @throws HubError invalid_json
 */
export function checkPlain(value: unknown, depth = 0): void {
  if (value === null || typeof value === 'boolean') return;
  if (typeof value === 'string') {
    if (!isWellFormed(value)) throw invalid('a text holds half of a surrogate pair');
    return;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalid('a number is out of range');
    return;
  }
  if (typeof value !== 'object') throw invalid(`it holds a ${typeof value}`);
  if (depth >= maxDepth) throw invalid(`it is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) {
    for (const item of value) checkPlain(item, depth + 1);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw invalid('it holds a value that JSON has not');
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
      throw invalid(`the key '${key}' is not allowed`);
    }
    if (!isWellFormed(key)) throw invalid('a key holds half of a surrogate pair');
    checkPlain(item, depth + 1);
  }
}

/**
 * Query parameters; of repeated ones the last counts.
 * @throws HubError bad_request for more than 64 parameters or a bad escape
 */
export function readQuery(query: string): { [name: string]: string } {
  const values: { [name: string]: string } = {};
  if (query === '') return values;
  const pairs = query.split('&', maxQueryParameters + 1);
  if (pairs.length > maxQueryParameters) {
    throw new HubError('bad_request', `The query has more than ${maxQueryParameters} parameters.`);
  }
  for (const pair of pairs) {
    if (pair === '') continue;
    const split = pair.indexOf('=');
    const name = decodeQuery(split < 0 ? pair : pair.slice(0, split));
    // A plain object: this one name would not become a property of its own.
    if (name === '__proto__') continue;
    values[name] = decodeQuery(split < 0 ? '' : pair.slice(split + 1));
  }
  return values;
}

function decodeQuery(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new HubError('bad_request', 'The query holds a percent escape that is not valid UTF-8.');
  }
}

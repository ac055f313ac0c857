// Finds the elements of a list inside a large JSON object without parsing it, so that they can be parsed a few at a
// time and one that is too deep costs nothing. Knows brackets, texts and commas; what stands between them is checked by
// whoever parses it.
import { HubError } from './error.ts';
import { mayLoseDigits, withExactNumbers } from './exact-numbers.ts';

/** Where one value stands: its first byte, and the one after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** The deepest nesting inside; 0 for a value that is no list and no mapping. */
  readonly depth: number;
}

export interface ListScan {
  /** The elements of the list, in order; null when the object has no such list. */
  readonly elements: readonly Span[] | null;
  /** Other values of the object, by key; of a repeated key the last. */
  readonly others: ReadonlyMap<string, Span>;
}

export interface ScanLimits {
  /** Values in the whole text, counted by its commas. */
  readonly maxValues: number;
  readonly maxElements: number;
}

/** Bytes between two pauses: some milliseconds. */
const pauseEvery = 512 * 1024;

const invalid = (why: string): HubError =>
  new HubError('invalid_json', `The body is not valid JSON: ${why}.`);

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Scans an object for the list under `key`; JSON of another kind has none. Yields now and then, so that the caller can
 * let others work.
 * @throws HubError invalid_json; validation_failed for too many elements
 */
export function* scanList(
  bytes: Uint8Array,
  key: string,
  limits: ScanLimits,
): Generator<undefined, ListScan, undefined> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const others = new Map<string, Span>();
  let elements: Span[] | null = null;
  let values = 0;
  let nextPause = pauseEvery;
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x7b) {
    // JSON of another kind holds no list, either.
    const other = skipValue(bytes, at);
    if (other.depth === 0) parseSpans(bytes, [other]);
    if (skipSpace(bytes, other.end) !== bytes.length) throw invalid('something follows its end');
    return { elements, others };
  }
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x7d) return { elements, others };
  for (;;) {
    if (bytes[at] !== quote) throw invalid('it cannot be parsed');
    const nameEnd = skipText(bytes, at);
    const name = readName(utf8, bytes.subarray(at, nameEnd));
    at = skipSpace(bytes, nameEnd);
    if (bytes[at] !== colon) throw invalid('it cannot be parsed');
    at = skipSpace(bytes, at + 1);
    if (name === key && bytes[at] === 0x5b) {
      elements = [];
      at = skipSpace(bytes, at + 1);
      while (bytes[at] !== 0x5d) {
        const element = skipValue(bytes, at);
        if (elements.push(element) > limits.maxElements) throw tooMany(key, limits.maxElements);
        values += element.values;
        if (values > limits.maxValues) throw invalid(`it holds more than ${limits.maxValues} values`);
        at = skipSpace(bytes, element.end);
        if (at > nextPause) {
          nextPause = at + pauseEvery;
          yield;
        }
        if (bytes[at] === comma) {
          at = skipSpace(bytes, at + 1);
          if (bytes[at] === 0x5d) throw invalid('it cannot be parsed');
        } else if (bytes[at] !== 0x5d) throw invalid('it cannot be parsed');
      }
      at++;
    } else {
      const other = skipValue(bytes, at);
      values += other.values;
      if (values > limits.maxValues) throw invalid(`it holds more than ${limits.maxValues} values`);
      others.set(name, other);
      at = other.end;
    }
    at = skipSpace(bytes, at);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
    else if (bytes[at] === 0x7d) break;
    else throw invalid('it cannot be parsed');
  }
  if (skipSpace(bytes, at + 1) !== bytes.length) throw invalid('something follows its end');
  return { elements, others };
}

const tooMany = (key: string, max: number): HubError =>
  new HubError('validation_failed', `At most ${max} ${key} are taken at once.`, {
    problems: [{ loc: ['body', key], msg: `must hold at most ${max} items` }],
  });

function readName(utf8: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return JSON.parse(utf8.decode(bytes)) as string;
  } catch {
    throw invalid('a key cannot be read');
  }
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

/** The place after a text's closing quote. @param from its opening quote */
function skipText(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === backslash) at++;
    else if (byte === quote) return at + 1;
  }
  throw invalid('a text does not end');
}

function skipValue(bytes: Uint8Array, from: number): Span & { readonly values: number } {
  const first = bytes[from];
  if (first === quote) return { start: from, end: skipText(bytes, from), depth: 0, values: 1 };
  let values = 1;
  if (first !== 0x5b && first !== 0x7b) {
    let at = from;
    while (at < bytes.length && !isEnd(bytes[at])) at++;
    if (at === from) throw invalid('it cannot be parsed');
    return { start: from, end: at, depth: 0, values };
  }
  let depth = 0;
  let deepest = 0;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) at = skipText(bytes, at) - 1;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x5d || byte === 0x7d) {
      if (--depth === 0) return { start: from, end: at + 1, depth: deepest, values };
    } else if (byte === comma) values++;
  }
  throw invalid('a list or mapping does not end');
}

/** A comma, a closing bracket or white space. */
const isEnd = (byte: number | undefined): boolean =>
  byte === comma ||
  byte === 0x5d ||
  byte === 0x7d ||
  byte === 0x20 ||
  byte === 0x0a ||
  byte === 0x0d ||
  byte === 0x09;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const nonNumbers = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;

export interface ParsedSpans {
  /** Whole numbers that a double cannot hold are texts of their digits. */
  readonly values: readonly unknown[];
  /** The same with those numbers rounded; null when there are none. */
  readonly rounded: readonly unknown[] | null;
}

/**
 * Parses the values of spans that follow each other in one list. `NaN` and `Infinity` outside of texts are read as
 * null: some clients' JSON has them.
 * @throws HubError invalid_json
 */
export function parseSpans(bytes: Uint8Array, spans: readonly Span[]): ParsedSpans {
  const [first] = spans;
  const last = spans.at(-1);
  if (!first || !last) return { values: [], rounded: null };
  let text: string;
  try {
    text = `[${utf8.decode(bytes.subarray(first.start, last.end))}]`;
  } catch {
    throw invalid('it is not UTF-8 text');
  }
  const values = parseList(text);
  if (!mayLoseDigits(text)) return { values, rounded: null };
  // Only a text that can be parsed is looked at for numbers.
  const exact = withExactNumbers(text);
  return exact === text ? { values, rounded: null } : { values: parseList(exact), rounded: values };
}

function parseList(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[];
  } catch {
    if (!/NaN|Infinity/.test(text)) throw invalid('it cannot be parsed');
  }
  try {
    return JSON.parse(text.replace(nonNumbers, (found) => (found[0] === '"' ? found : 'null'))) as unknown[];
  } catch {
    throw invalid('it cannot be parsed');
  }
}

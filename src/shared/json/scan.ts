// Finds the elements of a list inside a large JSON object without parsing the object. So the elements can be parsed a
// few at a time, and one that is too deep costs nothing.
import { HubError } from '../error.ts';
import { mayLoseDigits, withExactNumbers } from './exact-numbers.ts';
import {
  closeList,
  closeObject,
  invalidJson,
  keyAt,
  OutlineReader,
  openList,
  openObject,
  type Pausing,
  type Span,
} from './outline.ts';

export interface ListScan {
  /** The elements of the list, in order; null when the object has no such list. */
  readonly elements: readonly Span[] | null;
  /** The value of the other key; null when the object has none. */
  readonly other: Span | null;
}

/** The keys of an object that are looked for: of a list, and of one more value. Of a repeated key the last counts. */
export interface ScanKeys {
  readonly list: string;
  readonly other: string;
}

export interface ScanLimits {
  /** Values in the whole text, counted by its commas. */
  readonly maxValues: number;
  readonly maxElements: number;
}

/** Bytes of a key that is read; a longer one is none that is looked for. */
const maxKeyBytes = 256;
/** Bytes of a text or number in place of the object that is parsed to learn whether it is JSON. */
const maxScalarBytes = 64 * 1024;

const sizeOf = ({ start, end }: Span): number => end - start;

/**
 * Scans an object for a list and one more value; JSON of another kind has neither.
 * @throws HubError invalid_json; validation_failed for too many elements
 */
export function* scanList(bytes: Uint8Array, keys: ScanKeys, limits: ScanLimits): Pausing<ListScan> {
  const reader = new OutlineReader(bytes, 0, limits.maxValues);
  let elements: readonly Span[] | null = null;
  let other: Span | null = null;
  yield* reader.skipBlanks();
  if (reader.isAt(openObject)) {
    for (let isFirst = true; yield* reader.hasItem(closeObject, isFirst); isFirst = false) {
      const key = yield* reader.readKey();
      const name = sizeOf(key) > maxKeyBytes ? null : keyAt(bytes, key);
      if (name === keys.list && reader.isAt(openList))
        elements = yield* scanElements(reader, keys.list, limits.maxElements);
      else {
        const value = yield* reader.readValue();
        if (name === keys.other) other = value;
      }
    }
  } else {
    const value = yield* reader.readValue();
    if (value.depth === 0 && sizeOf(value) <= maxScalarBytes) parseSpans(bytes, [value]);
  }
  if (!reader.isAtEnd) throw invalidJson('text follows its end');
  return { elements, other };
}

function* scanElements(reader: OutlineReader, list: string, maxElements: number): Pausing<readonly Span[]> {
  const elements: Span[] = [];
  for (let isFirst = true; yield* reader.hasItem(closeList, isFirst); isFirst = false)
    if (elements.push(yield* reader.readValue()) > maxElements) throw tooMany(list, maxElements);
  return elements;
}

const tooMany = (key: string, max: number): HubError =>
  new HubError('validation_failed', `The batch has more than ${max} ${key}. Send several batches.`, {
    fields: [{ field: [key], message: `must contain at most ${max} items` }],
  });

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** A text that the scan closed, or one without an end: no quotation mark is tried twice. */
const nonNumbers = /"(?:[^"\\]|\\[\s\S])*"?|-?Infinity|NaN/g;

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
    throw invalidJson('it is not UTF-8 text');
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
    if (!/NaN|Infinity/.test(text)) throw invalidJson('it cannot be parsed');
  }
  try {
    return JSON.parse(text.replace(nonNumbers, (token) => (token[0] === '"' ? token : 'null'))) as unknown[];
  } catch {
    throw invalidJson('it cannot be parsed');
  }
}

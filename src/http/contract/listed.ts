// The form of a record in lists: every field, but none larger than 4 KiB. The route of the single record returns all of
// it. Browser-safe.
import { type Truncated, truncated } from '../../shared/truncated.ts';

/** Bytes of a field's JSON that a list shows. */
export const maxListedField = 4096;

/** Of a UTF-16 unit as JSON: control characters are written as escapes. */
const maxBytesOfUnit = 6;

/**
 * A map whose largest values give way to their size, one after another, until the whole fits a list; the map itself
 * when it does. One of very many values may still not fit.
 */
export function shortenedMap(map: { readonly [name: string]: unknown }): {
  readonly [name: string]: unknown;
} {
  const json = JSON.stringify(map);
  if (!isTooLarge(json)) return map;
  const sizes = Object.entries(map).map(([name, value]) => ({
    name,
    bytes: bytesOf(JSON.stringify(value) ?? ''),
  }));
  sizes.sort((a, b) => b.bytes - a.bytes);
  const copy = { ...map };
  let left = bytesOf(json);
  for (const { name, bytes } of sizes) {
    const instead = truncated(bytes);
    const gained = bytes - bytesOf(JSON.stringify(instead));
    if (left <= maxListedField || gained <= 0) break;
    copy[name] = instead;
    left -= gained;
  }
  return copy;
}

const utf8 = new TextEncoder();
export const bytesOf = (text: string): number => utf8.encode(text).length;

/** Bytes of a JSON text. Looks at texts only whose length leaves it open whether they fit. */
function isTooLarge(json: string): boolean {
  if (json.length > maxListedField) return true;
  return json.length * 3 > maxListedField && bytesOf(json) > maxListedField;
}

/** True for a value whose JSON can be too large. */
const mayBeTooLarge = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.length * maxBytesOfUnit + 2 > maxListedField
    : typeof value === 'object' && value !== null;

/**
 * The record with each field that is too large for a list replaced; the same object when all fit.
 * @param json the record's JSON, when it is known
 */
export function shortened<T extends object>(
  record: T,
  json = JSON.stringify(record),
): { [K in keyof T]: T[K] | Truncated } {
  if (!isTooLarge(json)) return record;
  const replaced: { [name: string]: Truncated } = {};
  for (const [name, value] of Object.entries(record)) {
    if (!mayBeTooLarge(value)) continue;
    const text = JSON.stringify(value) ?? '';
    if (isTooLarge(text)) replaced[name] = truncated(bytesOf(text));
  }
  return Object.keys(replaced).length === 0 ? record : { ...record, ...replaced };
}

/**
 * The JSON of a record in a list: written once, unless it is too large for a list.
 * @param shorten makes a record smaller that is too large, before its fields give way to their size
 */
export function listedText<T extends object>(record: T, shorten?: (record: T) => T): string {
  const json = JSON.stringify(record);
  if (!isTooLarge(json)) return json;
  const smaller = shorten ? shorten(record) : record;
  const listedRecord = smaller === record ? shortened(record, json) : shortened(smaller);
  return listedRecord === record ? json : JSON.stringify(listedRecord);
}

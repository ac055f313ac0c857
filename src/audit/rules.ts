// The difference that a change made to a record, for an entry's details. Pure.

import type { JsonObject } from '../contract/record.ts';
import { canonicalJson } from '../shared/json/canonical.ts';
import { snake } from '../shared/snake-keys.ts';

/** Bytes of JSON up to which a value stands in an entry as it is. */
const maxValue = 512;

type Fields = { readonly [field: string]: unknown };

/** A value as an entry shows it: a long one by its size and digest, so that an entry stays small. */
function entryValue(value: unknown, sha256: (text: string) => string): unknown {
  if (value === undefined) return null;
  const text = canonicalJson(value);
  const bytes = Buffer.byteLength(text);
  return bytes <= maxValue ? value : { bytes, sha256: sha256(text) };
}

/**
 * `{before, after}` of the fields that differ; null stands for a record that was not, or is no more. Only fields of
 * `after` count when both are there: a patch is a record, too. The caller leaves secrets out.
 * @param sha256 hex
 */
export function changeOf(
  recordBefore: object | null,
  recordAfter: object | null,
  sha256: (text: string) => string,
): JsonObject {
  const before = recordBefore as Fields | null;
  const after = recordAfter as Fields | null;
  const differs = (field: string): boolean =>
    canonicalJson(before?.[field] ?? null) !== canonicalJson(after?.[field] ?? null);
  const side = (record: Fields, fields: readonly string[]): JsonObject =>
    Object.fromEntries(fields.map((field) => [snake(field), entryValue(record[field], sha256)]));
  if (before && after) {
    const fields = Object.keys(after).filter((field) => after[field] !== undefined && differs(field));
    return { before: side(before, fields), after: side(after, fields) };
  }
  if (after) return { before: null, after: side(after, Object.keys(after)) };
  return { before: before && side(before, Object.keys(before)), after: null };
}

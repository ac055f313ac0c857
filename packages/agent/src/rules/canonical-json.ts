// Canonical JSON (RFC 8785) of values that a JSON reader returned: equal values give equal texts. For digests and
// signatures.
import { WrittenNumber } from './strict-json.ts';

/**
 * JSON without blanks, members in the order of their code units. A WrittenNumber stays as it is written, so that the
 * text of a signed document stays exact.
 */
export function canonicalJson(value: unknown): string {
  if (value instanceof WrittenNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

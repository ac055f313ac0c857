// Canonical JSON: equal values give equal texts. For digests and signatures.

/** Keys in the order of their code units, no blanks. */
export function canonicalJson(value: unknown): string {
  const sorted = ordered(value);
  return sorted === unsortable ? written(value) : (JSON.stringify(sorted) ?? 'null');
}

const unsortable = Symbol('unsortable');

/** The first character of a digit; objects keep keys that are numbers before all others. */
const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/**
 * The value with the keys of its objects in order, so that one JSON.stringify writes it: half the time of `written`.
 * `unsortable` when a key would not keep its place.
 */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(ordered);
    return items.includes(unsortable) ? unsortable : items;
  }
  const fields = value as { readonly [key: string]: unknown };
  const sorted: { [key: string]: unknown } = {};
  for (const key of Object.keys(fields).sort()) {
    const field = ordered(fields[key]);
    if (field === unsortable || key === '__proto__' || isDigit(key.charCodeAt(0))) return unsortable;
    sorted[key] = field;
  }
  return sorted;
}

/** The same text for any keys. */
function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = value as { readonly [key: string]: unknown };
  const texts = Object.keys(fields)
    .sort()
    .flatMap((key) => (fields[key] === undefined ? [] : [`${JSON.stringify(key)}:${written(fields[key])}`]));
  return `{${texts.join(',')}}`;
}

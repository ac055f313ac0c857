// Halves of surrogate pairs, which events may contain, in texts that are signed. Pure.

/** True if JSON.stringify may have escaped a half in the text. */
export const hasEscapedHalf = (json: string): boolean => json.includes('\\ud');

const escapeHalf = (half: string): string => `\\u${half.charCodeAt(0).toString(16)}`;

/**
 * The value with each half of a surrogate pair as the text of its escape, such as `\\ud83d`: readers differ about
 * halves, so the offline check refuses them. A key that is there already gets `~` behind it.
 */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\p{Surrogate}/gu, escapeHalf);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => wellFormed(item));
  const fields = new Map<string, unknown>();
  for (const [name, field] of Object.entries(value)) {
    let key = name.replace(/\p{Surrogate}/gu, escapeHalf);
    while (fields.has(key) || (key !== name && Object.hasOwn(value, key))) key += '~';
    fields.set(key, wellFormed(field));
  }
  return Object.fromEntries(fields);
}

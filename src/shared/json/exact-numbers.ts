// Whole numbers in JSON from outside that a double cannot hold: read as numbers they would lose digits, and what is
// shown and signed would not be what was sent. They are read as texts of their digits. Pure.

/** More digits than any whole number has that is read exactly whatever it is. */
const maybeLong = /[[:,\s]-?\d{16}/;
/** In JSON each text has an end, so that no quotation mark is tried twice. */
const textsAndNumbers = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** False when the text certainly holds no such number. */
export const mayLoseDigits = (json: string): boolean => maybeLong.test(json);

/** The JSON text, which was parsed before, with those numbers in quotation marks; the same text when there are none. */
export const withExactNumbers = (json: string): string =>
  mayLoseDigits(json)
    ? json.replace(textsAndNumbers, (token) => (losesDigits(token) ? `"${token}"` : token))
    : json;

/** True for the digits of a whole number that a double does not hold. */
export const losesDigits = (token: string): boolean =>
  token.length >= 16 && /^-?\d+$/.test(token) && written(Number(token)) !== token;

/** A whole number as JSON.stringify writes it, without an exponent. */
function written(value: number): string {
  const [mantissa = '', exponent] = String(value).split('e+');
  if (exponent === undefined) return mantissa;
  const [whole = '', fraction = ''] = mantissa.split('.');
  return whole + fraction.padEnd(Number(exponent), '0');
}

/**
 * The fields of an object whose values differ.
 * @param exact parsed from a text `withExactNumbers`
 * @param rounded parsed from the text as it was
 */
export function changedFields(exact: object, rounded: object): string[] {
  const before = rounded as { readonly [name: string]: unknown };
  return Object.keys(exact).filter((name) => !isSame((exact as typeof before)[name], before[name]));
}

/** True if both values differ in nothing but numbers. */
function isSame(exact: unknown, rounded: unknown): boolean {
  if (typeof exact !== 'object' || exact === null) return Object.is(exact, rounded);
  if (Array.isArray(exact)) return exact.every((item, i) => isSame(item, (rounded as unknown[])[i]));
  const before = rounded as { readonly [name: string]: unknown };
  return Object.keys(exact).every((name) => isSame((exact as typeof before)[name], before[name]));
}

// Numbers of a text that lose digits when they are read.

/** Characters that are looked at: no number that is not rounded needs more. */
const maxSource = 400;

/** A number without its sign, exponent and outer zeros. */
function significant(number: string): string {
  const [digits = ''] = number.split(/e/i);
  return digits.replace(/\D/g, '').replace(/^0+|(?<!0)0+$/g, '');
}

/**
 * True for a whole number beyond ±9007199254740991 whose text has other digits than the number it became.
 * @param source as YAML spells numbers; empty: unknown, which is not rounded
 */
export function isRounded(source: string, value: number): boolean {
  if (source === '' || !Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  if (source.length > maxSource) return true;
  const whole = source.replace(/^[-+]/, '');
  if (/^(\d+|0[xo][\da-f]+)$/i.test(whole)) return BigInt(whole) !== BigInt(Math.abs(value));
  return significant(whole) !== significant(String(value));
}

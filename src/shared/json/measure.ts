// The size of a parsed JSON value, estimated in one walk without serialising it. Pure.
import { maxJsonDepth } from './json.ts';

export interface JsonMeasure {
  /** Levels of lists and mappings; beyond `maxJsonDepth` no deeper level is counted. */
  readonly depth: number;
  /** Members of all mappings inside. */
  readonly members: number;
  /** At least the bytes of the value as compact JSON. */
  readonly maxBytes: number;
  /**
   * UTF-16 units of the value as compact JSON without escapes. NaN if it has a number that could be written shorter
   * than `String` does.
   */
  readonly compactLength: number;
  /** True if a number may be one that lost digits when it was parsed (`mayLoseDigits`). */
  readonly hasLongNumber: boolean;
}

/** A whole number of at least 16 digits is no smaller. */
const leastLongNumber = 1e15;

/** Bytes of a UTF-16 unit in JSON at most: an escaped control character. */
const bytesOfUnit = 6;
/** Bytes at most of a number, a boolean or null, and of what stands around any value or key: quotes, colon, comma. */
const [bytesOfScalar, bytesAround] = [25, 4];

/** The least number without a whole part that has no shorter form with an exponent. */
const leastPlainFraction = 0.01;

/** UTF-16 units of the shortest text of a number; NaN if that may be one with an exponent. */
function lengthOfNumber(value: number): number {
  const isPlain = Number.isInteger(value)
    ? value % 1000 !== 0 || value === 0
    : Math.abs(value) >= leastPlainFraction;
  return isPlain ? String(value).length : Number.NaN;
}

/** Length of the brackets and commas around the items of a list or a mapping. */
const lengthAround = (items: number): number => 2 + Math.max(0, items - 1);

/** Linear in the value. A value nested deeper than `maxJsonDepth` is measured down to there. */
export function measureJson(value: unknown): JsonMeasure {
  let members = 0;
  let units = 0;
  let values = 0;
  let compactLength = 0;
  let hasLongNumber = false;

  function walk(item: unknown, level: number): number {
    values++;
    if (typeof item === 'string') {
      units += item.length;
      compactLength += item.length + 2;
      return level;
    }
    if (typeof item === 'number') {
      hasLongNumber ||= item >= leastLongNumber || item <= -leastLongNumber;
      compactLength += lengthOfNumber(item);
      return level;
    }
    if (typeof item !== 'object' || item === null || level > maxJsonDepth) {
      compactLength += item === false ? 5 : 4;
      return level;
    }
    let deepest = level + 1;
    if (Array.isArray(item)) {
      for (const one of item) deepest = Math.max(deepest, walk(one, level + 1));
      compactLength += lengthAround(item.length);
      return deepest;
    }
    const fields = item as { readonly [key: string]: unknown };
    let count = 0;
    for (const key in fields) {
      count++;
      units += key.length;
      compactLength += key.length + 3;
      deepest = Math.max(deepest, walk(fields[key], level + 1));
    }
    members += count;
    compactLength += lengthAround(count);
    return deepest;
  }

  const depth = walk(value, 0);
  const maxBytes = units * bytesOfUnit + values * bytesOfScalar + members * bytesAround;
  return { depth, members, maxBytes, compactLength, hasLongNumber };
}

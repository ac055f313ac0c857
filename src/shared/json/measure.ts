// The size of a parsed JSON value, estimated in one walk without serialising it. Pure.
import { maxJsonDepth } from './json.ts';

export interface JsonMeasure {
  /** Levels of lists and mappings; beyond `maxJsonDepth` no deeper level is counted. */
  readonly depth: number;
  /** Members of all mappings inside. */
  readonly members: number;
  /** At least the bytes of the value as compact JSON. */
  readonly maxBytes: number;
}

/** Bytes of a UTF-16 unit in JSON at most: an escaped control character. */
const bytesOfUnit = 6;
/** Bytes at most of a number, a boolean or null, and of what stands around any value or key: quotes, colon, comma. */
const [bytesOfScalar, bytesAround] = [25, 4];

/** Linear in the value. A value nested deeper than `maxJsonDepth` is measured down to there. */
export function measureJson(value: unknown): JsonMeasure {
  let members = 0;
  let units = 0;
  let values = 0;

  function walk(item: unknown, level: number): number {
    values++;
    if (typeof item === 'string') {
      units += item.length;
      return level;
    }
    if (typeof item !== 'object' || item === null || level > maxJsonDepth) return level;
    let deepest = level + 1;
    if (Array.isArray(item)) {
      for (const one of item) deepest = Math.max(deepest, walk(one, level + 1));
      return deepest;
    }
    const fields = item as { readonly [key: string]: unknown };
    for (const key in fields) {
      members++;
      units += key.length;
      deepest = Math.max(deepest, walk(fields[key], level + 1));
    }
    return deepest;
  }

  const depth = walk(value, 0);
  return { depth, members, maxBytes: units * bytesOfUnit + values * bytesOfScalar + members * bytesAround };
}

// About how many bytes a value has as JSON, without writing it: what is long is sampled.

/** Items of a list, and fields of an object, that are looked at. */
const sample = 32;
const maxDepth = 6;

export function estimateJsonBytes(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (value instanceof Uint8Array) return value.length;
  if (depth >= maxDepth) return 64;
  const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let bytes = 2;
  const count = Math.min(sample, values.length);
  for (let i = 0; i < count; i++) bytes += 8 + estimateJsonBytes(values[i], depth + 1);
  return count === 0 ? bytes : (bytes * values.length) / count;
}

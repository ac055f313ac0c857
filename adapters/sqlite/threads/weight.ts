// Estimates of the bytes that a call to a store thread holds while it waits.

/** Roughly the bytes of an argument: its texts and bytes, not deeper than records go. */
export function weigh(value: unknown, depth = 4): number {
  if (typeof value === 'string') return value.length * 2;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null || depth === 0) return 8;
  let sum = 16;
  for (const part of Object.values(value)) sum += weigh(part, depth - 1);
  return sum;
}

/** The same for the arguments of many calls, most of which are texts. */
export function weighAll(all: readonly (readonly unknown[])[]): number {
  let sum = 0;
  for (const args of all)
    for (const one of args) sum += typeof one === 'string' ? one.length * 2 : weigh(one);
  return sum;
}

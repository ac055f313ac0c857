// The one source of chance of a run: what a seed says is the same every time. Knows nothing of what it is used for.

export interface Random {
  readonly seed: string;
  /** From 0, below 1. */
  next(): number;
  /** From `min`, below `max`. */
  between(min: number, max: number): number;
  /** A whole number from 0, below `n`. */
  int(n: number): number;
  /** @throws Error when there is nothing to choose from */
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
  /** A source of its own, the same for the same name, however much was drawn from this one. */
  branch(name: string): Random;
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/** Mulberry32. */
export function random(seed: string): Random {
  let state = hash(seed);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (n: number): number => Math.floor(next() * n);
  return {
    seed,
    next,
    between: (min, max) => min + next() * (max - min),
    int,
    pick(list) {
      if (list.length === 0) throw new Error('There is nothing to choose from.');
      return list[int(list.length)] as (typeof list)[number];
    },
    shuffle(list) {
      const out = [...list];
      for (let i = out.length - 1; i > 0; i--) {
        const j = int(i + 1);
        [out[i], out[j]] = [out[j] as (typeof out)[number], out[i] as (typeof out)[number]];
      }
      return out;
    },
    branch: (name) => random(`${seed}/${name}`),
  };
}

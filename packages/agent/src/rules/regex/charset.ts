// Sets of characters: ranges, the \d \w \s classes, negation and case folding. It knows nothing of patterns.

const decimal = /\p{Nd}/u;
const word = /[\p{L}\p{N}_]/u;
const spaces: ReadonlySet<number> = new Set([
  9,
  10,
  11,
  12,
  13,
  28,
  29,
  30,
  31,
  32,
  0x85,
  0xa0,
  0x1680,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
  ...Array.from({ length: 11 }, (_, i) => 0x2000 + i),
]);

const isAsciiWord = (cp: number): boolean =>
  (cp >= 97 && cp <= 122) || (cp >= 65 && cp <= 90) || (cp >= 48 && cp <= 57) || cp === 95;

/** `\w`: letters, numbers and the underscore, of all scripts unless `ascii`. */
export const isWord = (cp: number, ascii: boolean): boolean =>
  cp < 128 || ascii ? isAsciiWord(cp) : word.test(String.fromCodePoint(cp));

/** The classes that a letter escape names; upper-case letters negate. */
export type ClassName = 'd' | 'D' | 'w' | 'W' | 's' | 'S';

function inClass(name: ClassName, cp: number, ascii: boolean): boolean {
  switch (name) {
    case 'd':
      return cp < 128 || ascii ? cp >= 48 && cp <= 57 : decimal.test(String.fromCodePoint(cp));
    case 'D':
      return !inClass('d', cp, ascii);
    case 'w':
      return isWord(cp, ascii);
    case 'W':
      return !isWord(cp, ascii);
    case 's':
      return ascii ? cp === 32 || (cp >= 9 && cp <= 13) : spaces.has(cp);
    case 'S':
      return !inClass('s', cp, ascii);
  }
}

const noCases: readonly number[] = [];

/** Blocks of scripts and signs that have no cases, which most characters are in. */
const isCaseless = (cp: number): boolean =>
  (cp >= 0x2e80 && cp < 0xa640) || (cp >= 0xac00 && cp < 0xfb00) || cp >= 0x1f000;

const caseCache = new Map<number, readonly number[]>();

/**
 * The other cases of a character: upper, lower, and the few letters that share one (K and the Kelvin sign, s and ſ, i
 * and its dotted and dotless forms).
 */
function casesOf(cp: number): readonly number[] {
  if (isCaseless(cp)) return noCases;
  const cached = caseCache.get(cp);
  if (cached) return cached;
  const text = String.fromCodePoint(cp);
  const lower = text.toLowerCase();
  const upper = text.toUpperCase();
  const cases = [lower, upper, lower.toUpperCase(), upper.toLowerCase()]
    .filter((variant) => [...variant].length === 1)
    .map((variant) => variant.codePointAt(0) as number);
  if (cases.includes(0x6b)) cases.push(0x212a);
  if (cases.includes(0x73)) cases.push(0x17f);
  if (cases.includes(0x69)) cases.push(0x130, 0x131);
  if (cp === 0x130) cases.push(0x69, 0x49);
  if (caseCache.size >= 20_000) caseCache.clear();
  caseCache.set(cp, cases);
  return cases;
}

export interface CharSetParts {
  /** Pairs of first and last code point. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly classes?: readonly ClassName[];
  readonly negated?: boolean;
  readonly fold?: boolean;
  readonly ascii?: boolean;
}

export class CharSet {
  /** Two sets with the same key have the same members. */
  readonly key: string;
  /** The one character of the set, when it is a plain one without case folding. */
  readonly literal: string | undefined;
  readonly #parts: CharSetParts;

  constructor(parts: CharSetParts) {
    this.#parts = parts;
    const { ranges, classes = [], negated = false, fold = false, ascii = false } = parts;
    this.key = `${negated}${fold}${ascii}${classes.join('')}:${ranges.map((r) => r.join('-')).join(',')}`;
    const only = ranges[0];
    this.literal =
      ranges.length === 1 && only && only[0] === only[1] && classes.length === 0 && !negated && !fold
        ? String.fromCodePoint(only[0])
        : undefined;
  }

  get folds(): boolean {
    return this.#parts.fold === true;
  }

  /** `cases` are the other cases of the character, which only a folding set looks at. */
  has(cp: number, cases: readonly number[]): boolean {
    const { negated = false, fold = false, ascii = false } = this.#parts;
    const folded = (other: number): boolean => (!ascii || (cp < 128 && other < 128)) && this.#holds(other);
    return (this.#holds(cp) || (fold && cases.some(folded))) !== negated;
  }

  #holds(cp: number): boolean {
    const { ranges, classes, ascii = false } = this.#parts;
    // An iterator and a pair taken apart for each range take most of the time of a text in many characters.
    for (let i = 0; i < ranges.length; i++) {
      const range = ranges[i] as readonly [number, number];
      if (cp >= range[0] && cp <= range[1]) return true;
    }
    if (classes) for (const name of classes) if (inClass(name, cp, ascii)) return true;
    return false;
  }
}

/** Which of the sets hold the character, in their order. */
export function membershipsOf(cp: number, sets: readonly CharSet[]): boolean[] {
  const cases = sets.some((set) => set.folds) ? casesOf(cp) : noCases;
  return sets.map((set) => set.has(cp, cases));
}

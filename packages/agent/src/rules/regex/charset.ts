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

/**
 * Letters that are equal without case, as Python's `re` has it, and that upper and lower case alone do not join: the
 * Kelvin sign, final sigma, the micro sign. Hexadecimal code points.
 */
const equalLetters = `
  49 69 130 131, 4b 6b 212a, 53 73 17f, b5 39c 3bc, c5 e5 212b, df 1e9e, 1c4 1c5 1c6, 1c7 1c8 1c9,
  1ca 1cb 1cc, 1f1 1f2 1f3, 345 399 3b9 1fbe, 390 1fd3, 392 3b2 3d0, 395 3b5 3f5, 398 3b8 3d1 3f4,
  39a 3ba 3f0, 3a0 3c0 3d6, 3a1 3c1 3f1, 3a3 3c2 3c3, 3a6 3c6 3d5, 3a9 3c9 2126, 3b0 1fe3,
  412 432 1c80, 414 434 1c81, 41e 43e 1c82, 421 441 1c83, 422 442 1c84 1c85, 42a 44a 1c86,
  462 463 1c87, 1c88 a64a a64b, 1e60 1e61 1e9b, fb05 fb06
`;

/** Greek letters with an iota below, whose capitals JavaScript writes as two letters. */
const iotaLetters: readonly (readonly [first: number, count: number, distance: number])[] = [
  [0x1f80, 8, 8],
  [0x1f90, 8, 8],
  [0x1fa0, 8, 8],
  [0x1fb3, 1, 9],
  [0x1fc3, 1, 9],
  [0x1ff3, 1, 9],
];

const letterGroups: readonly (readonly number[])[] = [
  ...equalLetters.split(',').map((group) =>
    group
      .trim()
      .split(' ')
      .map((hex) => Number.parseInt(hex, 16)),
  ),
  ...iotaLetters.flatMap(([first, count, distance]) =>
    Array.from({ length: count }, (_, i) => [first + i, first + i + distance]),
  ),
];
const groupOf: ReadonlyMap<number, readonly number[]> = new Map(
  letterGroups.flatMap((group) => group.map((cp) => [cp, group] as const)),
);

const caseCache = new Map<number, readonly number[]>();

/** The cases of a character, its own among them where it has several. */
function casesOf(cp: number): readonly number[] {
  if (isCaseless(cp)) return noCases;
  const cached = groupOf.get(cp) ?? caseCache.get(cp);
  if (cached) return cached;
  const text = String.fromCodePoint(cp);
  const cases = [text.toLowerCase(), text.toUpperCase()]
    .filter((variant) => [...variant].length === 1)
    .map((variant) => variant.codePointAt(0) as number);
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

  /**
   * `cases` are the cases of the character, which only a folding set looks at. Classes look at the character alone:
   * iota is a letter, but the combining sign with the same capital is none.
   */
  has(cp: number, cases: readonly number[]): boolean {
    const { negated = false, fold = false, ascii = false } = this.#parts;
    const folded = (other: number): boolean =>
      (!ascii || (cp < 128 && other < 128)) && this.#isInRange(other);
    return (this.#holds(cp) || (fold && cases.some(folded))) !== negated;
  }

  #holds(cp: number): boolean {
    if (this.#isInRange(cp)) return true;
    const { classes, ascii = false } = this.#parts;
    if (classes) for (const name of classes) if (inClass(name, cp, ascii)) return true;
    return false;
  }

  #isInRange(cp: number): boolean {
    const { ranges } = this.#parts;
    // An iterator and a pair taken apart for each range take most of the time of a text in many characters.
    for (let i = 0; i < ranges.length; i++) {
      const range = ranges[i] as readonly [number, number];
      if (cp >= range[0] && cp <= range[1]) return true;
    }
    return false;
  }
}

/** Which of the sets hold the character, in their order. */
export function membershipsOf(cp: number, sets: readonly CharSet[]): boolean[] {
  const cases = sets.some((set) => set.folds) ? casesOf(cp) : noCases;
  return sets.map((set) => set.has(cp, cases));
}

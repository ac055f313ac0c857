// Shell-style name patterns, as Python's fnmatch reads them, case-sensitive. Used for tools, domains, agents and
// contract names.

/** Condition for one character of the text: in one of these ranges of code points, or in none of them. */
interface Part {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [first: number, last: number])[];
}

interface Pattern {
  readonly parts: readonly Part[];
  /** Numbers of parts in front of which any text may stand; the number of parts stands for the end. */
  readonly gaps: ReadonlySet<number>;
}

/**
 * Compiles a glob: `*` any text, `?` one character, `[seq]` and `[!seq]` one character of (not of) a set; all else is
 * literal, an unclosed `[` too. The whole text must match. A match reads the text once for each literal of a pattern of
 * `*` alone. Any other match takes one step for each character of the text and each 31 of the pattern, whatever they
 * hold.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern === '*') return () => true;
  if (!/[*?[]/.test(pattern)) return (text) => text === pattern;
  if (!/[?[]/.test(pattern)) return literalsTest(pattern.split('*'));
  const read = patternOf(Array.from(pattern, codeOf));
  let automaton: Automaton | null = null;
  return (text) => {
    automaton ??= new Automaton(read);
    return automaton.matches(text);
  };
}

/** A test whether one of some globs, of any case, fits a host name in lower case. */
export function compileHostGlobs(globs: readonly string[]): (host: string) => boolean {
  const tests = globs.map((glob) => compileGlob(glob.toLowerCase()));
  return (host) => tests.some((matches) => matches(host));
}

/**
 * A test for literals with any text between them. Each literal is taken where it comes first: that leaves the most
 * room for the others.
 */
function literalsTest(literals: readonly string[]): (text: string) => boolean {
  const start = literals[0] ?? '';
  const end = literals.at(-1) ?? '';
  const middle = literals.slice(1, -1).filter((literal) => literal !== '');
  return (text) => {
    const last = text.length - end.length;
    if (last < start.length || !text.startsWith(start) || !text.endsWith(end)) return false;
    let from = start.length;
    for (const literal of middle) {
      const at = text.indexOf(literal, from);
      if (at < 0 || at + literal.length > last) return false;
      from = at + literal.length;
    }
    return true;
  };
}

/** True if the whole text fits the glob. */
export const globMatch = (pattern: string, text: string): boolean => compileGlob(pattern)(text);

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;
const [star, question, open, close, bang, dash] = ['*', '?', '[', ']', '!', '-'].map(codeOf);

function patternOf(codes: readonly number[]): Pattern {
  const parts: Part[] = [];
  const gaps = new Set<number>();
  const lastClose = codes.lastIndexOf(close as number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    // A closing bracket that comes first is a member of the set.
    const from = i + (codes[i + 1] === bang ? 2 : 1);
    // Behind the last closing bracket nothing is searched for another: many open ones would each read to the end.
    const end = code === open && from < lastClose ? codes.indexOf(close as number, from + 1) : -1;
    if (code === star) gaps.add(parts.length);
    else if (code === question) parts.push({ negated: true, ranges: [] });
    else if (end < 0) parts.push({ negated: false, ranges: [[code, code]] });
    else {
      parts.push({ negated: from === i + 2, ranges: rangesOf(codes.slice(from, end)) });
      i = end;
    }
  }
  return { parts, gaps };
}

function rangesOf(codes: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (let i = 0; i < codes.length; i++) {
    const first = codes[i] as number;
    const last = codes[i + 2];
    if (codes[i + 1] === dash && last !== undefined) {
      ranges.push([first, last]);
      i += 2;
    } else ranges.push([first, first]);
  }
  return ranges;
}

const fits = ({ negated, ranges }: Part, code: number): boolean =>
  ranges.some(([first, last]) => code >= first && code <= last) !== negated;

/** The only character that fits the part; null where several do. */
function literalOf({ negated, ranges }: Part): number | null {
  const [range, ...others] = ranges;
  return !negated && range && others.length === 0 && range[0] === range[1] ? range[0] : null;
}

/** Bits of a number that stay one small integer when shifted. */
const wordBits = 31;
const wordMask = 0x7fffffff;

/**
 * All ways to match at once, as bits: bit `n` is set while the text so far can be read as the first `n` parts. Each
 * character moves every bit up by one where its part fits; a bit in front of which a gap stands stays as well.
 */
class Automaton {
  readonly #words: number;
  readonly #gaps: Int32Array;
  /** The bit of the whole pattern. */
  readonly #whole: number;
  /**
   * Characters between two bounds fit the same parts: the first of each such range, ascending, and the bits of its
   * parts.
   */
  readonly #bounds: readonly number[];
  readonly #fitting: Int32Array;

  constructor({ parts, gaps }: Pattern) {
    this.#whole = parts.length;
    this.#words = Math.floor(parts.length / wordBits) + 1;
    this.#gaps = new Int32Array(this.#words);
    for (const gap of gaps) setBit(this.#gaps, 0, gap);
    const edges = parts.flatMap(({ ranges }) => ranges.flatMap(([first, last]) => [first, last + 1]));
    this.#bounds = [...new Set([0, ...edges])].sort((a, b) => a - b);
    this.#fitting = new Int32Array(this.#bounds.length * this.#words);
    for (const [i, part] of parts.entries()) {
      const literal = literalOf(part);
      if (literal !== null) setBit(this.#fitting, this.#rangeOf(literal) * this.#words, i + 1);
      else {
        for (const [range, code] of this.#bounds.entries()) {
          if (fits(part, code)) setBit(this.#fitting, range * this.#words, i + 1);
        }
      }
    }
  }

  matches(text: string): boolean {
    const words = this.#words;
    const gaps = this.#gaps;
    const fitting = this.#fitting;
    const reached = new Int32Array(words);
    reached[0] = 1;
    for (let i = 0; i < text.length; i++) {
      const code = text.codePointAt(i) as number;
      if (code > 0xffff) i++;
      const at = this.#rangeOf(code) * words;
      let carry = 0;
      let any = 0;
      for (let word = 0; word < words; word++) {
        const before = reached[word] as number;
        const moved = ((before << 1) & wordMask) | carry;
        carry = before >>> (wordBits - 1);
        const now = (moved & (fitting[at + word] as number)) | (before & (gaps[word] as number));
        reached[word] = now;
        any |= now;
      }
      if (any === 0) return false;
    }
    const last = reached[Math.floor(this.#whole / wordBits)] as number;
    return ((last >>> (this.#whole % wordBits)) & 1) === 1;
  }

  /** The number of the last bound that is not above the character. */
  #rangeOf(code: number): number {
    const bounds = this.#bounds;
    let low = 0;
    let high = bounds.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((bounds[middle] as number) <= code) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function setBit(words: Int32Array, from: number, bit: number): void {
  const word = from + Math.floor(bit / wordBits);
  words[word] = (words[word] as number) | (1 << (bit % wordBits));
}

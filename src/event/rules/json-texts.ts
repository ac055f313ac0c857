// The texts inside a JSON value, measured and cut in its bytes without parsing it. Sizes are those that JSON.stringify
// would write. Pure.
import {
  backslash,
  closeList,
  closeObject,
  colon,
  comma,
  isBlank,
  openList,
  openObject,
  type Pausing,
  pauseEvery,
  quote,
  type Span,
} from '../../shared/json/outline.ts';
import { textLimits } from './payload-fit.ts';

/** Place where a text of the value can be cut. */
interface CutPlace {
  readonly at: number;
  /** Bytes of what stands before it, with both quotation marks. */
  readonly bytes: number;
}

interface LongText {
  /** Behind the closing quotation mark. */
  readonly end: number;
  readonly bytes: number;
  /** By limit, the shortest limit first; as many as the text is longer than. */
  readonly cuts: readonly CutPlace[];
}

/** The shortest limit first. */
const limits = [...textLimits].reverse();
const ellipsis = Buffer.from('…');

export interface TextSizes {
  /** Bytes of the value. */
  readonly bytes: number;
  /** By limit as in `textLimits`, the bytes that it takes off the texts inside. */
  readonly savings: readonly number[];
}

export function* measureTexts(source: Uint8Array, span: Span): Pausing<TextSizes> {
  const savings = textLimits.map(() => 0);
  const walk = new TextWalk(source, span, {
    text({ bytes, cuts }) {
      for (const [i, cut] of cuts.entries()) {
        const place = savings.length - 1 - i;
        savings[place] = (savings[place] ?? 0) + bytes - cut.bytes - ellipsis.length;
      }
    },
  });
  yield* walk.walk();
  return { bytes: walk.bytes, savings };
}

/**
 * The value without blanks and with its longer texts cut.
 * @param level the limit, by its place among `textLimits`; null: none
 */
export function* cutTextsIn(source: Uint8Array, span: Span, level: number | null): Pausing<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let from = span.start;
  const leaveOut = (start: number, end: number): void => {
    if (start > from) pieces.push(source.subarray(from, start));
    from = end;
  };
  const walk = new TextWalk(source, span, {
    text({ end, cuts }) {
      const cut = level === null ? undefined : cuts[limits.length - 1 - level];
      if (!cut) return;
      leaveOut(cut.at, end - 1);
      pieces.push(ellipsis);
    },
    blanks: leaveOut,
  });
  yield* walk.walk();
  leaveOut(span.end, span.end);
  return Buffer.concat(pieces);
}

interface Visitor {
  /** A text that is longer than the shortest limit; no key. */
  text(text: LongText): void;
  blanks?(start: number, end: number): void;
}

class TextWalk {
  readonly #source: Uint8Array;
  readonly #end: number;
  readonly #visitor: Visitor;
  #at: number;
  /** Of lists and objects that are open: whether it is an object. */
  readonly #open: boolean[] = [];
  #isKeyNext = false;
  #isInText = false;
  /** Of the text that is read. */
  #textBytes = 0;
  #units = 0;
  #cuts: CutPlace[] = [];
  /** Place of the first half of a pair of escapes. */
  #half: CutPlace | null = null;
  bytes = 0;

  constructor(source: Uint8Array, { start, end }: Span, visitor: Visitor) {
    this.#source = source;
    this.#at = start;
    this.#end = end;
    this.#visitor = visitor;
  }

  *walk(): Pausing<void> {
    while (this.#at < this.#end) {
      const stop = Math.min(this.#at + pauseEvery, this.#end);
      while (this.#at < stop) {
        if (this.#isInText) this.#readText(stop);
        else this.#readByte(stop);
      }
      if (this.#at < this.#end) yield;
    }
  }

  #readByte(stop: number): void {
    const byte = this.#source[this.#at];
    if (isBlank(byte)) {
      const start = this.#at;
      while (this.#at < stop && isBlank(this.#source[this.#at])) this.#at++;
      this.#visitor.blanks?.(start, this.#at);
      return;
    }
    this.#at++;
    if (byte === quote) {
      this.#isInText = true;
      this.#textBytes = 2;
      this.#units = 0;
      this.#cuts = [];
      this.#half = null;
      return;
    }
    this.bytes++;
    if (byte === openObject || byte === openList) {
      this.#open.push(byte === openObject);
      this.#isKeyNext = byte === openObject;
    } else if (byte === closeObject || byte === closeList) this.#open.pop();
    else if (byte === comma) this.#isKeyNext = this.#open.at(-1) === true;
    else if (byte === colon) this.#isKeyNext = false;
  }

  /** Reads up to the end of the text, or to about `stop`. */
  #readText(stop: number): void {
    const source = this.#source;
    let at = this.#at;
    let units = this.#units;
    let bytes = this.#textBytes;
    let limit = limits[this.#cuts.length] ?? Number.POSITIVE_INFINITY;
    while (at < stop) {
      const start = at;
      // Most characters are one byte; the one that reaches the limit is read below.
      const runEnd = Math.min(stop, at + limit - units - 1);
      while (at < runEnd && isPlain(source[at])) at++;
      units += at - start;
      bytes += at - start;
      if (at > start) this.#half = null;
      if (at === stop) break;
      const byte = source[at] ?? 0;
      if (byte === quote) {
        this.#at = at + 1;
        this.#endText(units, bytes);
        return;
      }
      const { length, written } = byte === backslash ? escapeAt(source, at) : plainAt(byte);
      const width = length === 4 && byte !== backslash ? 2 : 1;
      while (units + width >= limit) {
        this.#cuts.push(this.#half ?? { at, bytes });
        limit = limits[this.#cuts.length] ?? Number.POSITIVE_INFINITY;
      }
      this.#half = isHighHalf(source, at, byte) ? { at, bytes } : null;
      at += length;
      units += width;
      bytes += written;
    }
    this.#at = at;
    this.#units = units;
    this.#textBytes = bytes;
  }

  #endText(units: number, bytes: number): void {
    this.#isInText = false;
    this.bytes += bytes;
    // A text of exactly the limit is not cut.
    const cuts = this.#cuts.filter((_, i) => units > (limits[i] ?? 0));
    if (!this.#isKeyNext && cuts.length > 0) this.#visitor.text({ end: this.#at, bytes, cuts });
  }
}

/** True for a byte that is a character by itself and needs no escape in JSON. */
const isPlain = (byte: number | undefined): boolean =>
  byte !== undefined && byte < 0x80 && byte !== quote && byte !== backslash;

/** Bytes of a character in the source and as written. */
interface CharacterSize {
  readonly length: number;
  readonly written: number;
}

const sizes: readonly CharacterSize[] = [0, 1, 2, 3, 4].map((bytes) => ({ length: bytes, written: bytes }));
const one = sizes[1] as CharacterSize;

function plainAt(byte: number): CharacterSize {
  if (byte < 0xc0) return one;
  return sizes[byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2] ?? one;
}

/** Characters that JSON writes as an escape of two bytes. */
const shortEscapes = new Set([8, 9, 10, 12, 13, 0x22, 0x5c]);
const slash = 0x2f;
const letterU = 0x75;

function escapeAt(source: Uint8Array, at: number): CharacterSize {
  if (source[at + 1] !== letterU) return { length: 2, written: source[at + 1] === slash ? 1 : 2 };
  const code = codeAt(source, at);
  if (shortEscapes.has(code)) return { length: 6, written: 2 };
  if (code < 0x20) return { length: 6, written: 6 };
  if (code < 0x80) return { length: 6, written: 1 };
  // Half of a pair is half of four bytes.
  return { length: 6, written: code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3 };
}

/** The code unit of an escape `\uXXXX`. */
function codeAt(source: Uint8Array, at: number): number {
  let code = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = source[i] ?? 0;
    code = code * 16 + (digit & 0xf) + (digit > 0x39 ? 9 : 0);
  }
  return code;
}

const isHighHalf = (source: Uint8Array, at: number, byte: number): boolean =>
  byte === backslash && source[at + 1] === letterU && (codeAt(source, at) & 0xfc00) === 0xd800;

// Places of the values in a JSON text, found without parsing it and with pauses. Knows brackets, texts and commas;
// whoever parses a value checks what stands between them.
import { HubError } from '../error.ts';

/** Place of one value: its first byte, and the one after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** The deepest nesting inside; 0 for a value that is no list and no mapping. */
  readonly depth: number;
}

/** Work that pauses now and then, so that the caller can let others work. */
export type Pausing<T> = Generator<undefined, T, undefined>;

/** Bytes between two pauses: about a millisecond. */
export const pauseEvery = 128 * 1024;
export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openList = 0x5b;
export const openObject = 0x7b;
export const closeList = 0x5d;
export const closeObject = 0x7d;

export const invalidJson = (why: string): HubError =>
  new HubError('invalid_json', `The body is not valid JSON: ${why}.`);
const unparsable = (): HubError => invalidJson('it cannot be parsed');

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads values one after the other. Its methods throw HubError invalid_json. */
export class OutlineReader {
  readonly #bytes: Uint8Array;
  readonly #maxValues: number;
  #at: number;
  #pauseAt: number;
  #values = 0;

  /** @param maxValues in all that is read, counted by commas */
  constructor(bytes: Uint8Array, start = 0, maxValues = Number.POSITIVE_INFINITY) {
    this.#bytes = bytes;
    this.#maxValues = maxValues;
    this.#at = start;
    this.#pauseAt = start + pauseEvery;
  }

  /** True if this is the next byte. */
  isAt(byte: number): boolean {
    return this.#bytes[this.#at] === byte;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  *skipBlanks(): Pausing<void> {
    for (;;) {
      while (this.#at < this.#pauseAt && isBlank(this.#bytes[this.#at])) this.#at++;
      if (this.#at < this.#pauseAt) return;
      yield* this.#pause();
    }
  }

  /** Reads the value that begins here, and the blanks behind it. */
  *readValue(): Pausing<Span> {
    const { values, ...span } = yield* this.#scan();
    this.#values += values;
    if (this.#values > this.#maxValues) throw invalidJson(`it contains more than ${this.#maxValues} values`);
    return span;
  }

  *#scan(): Pausing<Span & { readonly values: number }> {
    const scan = new ValueScan(this.#bytes, this.#at);
    while (!scan.advance(this.#pauseAt)) {
      this.#at = scan.at;
      yield* this.#pause();
    }
    const { start, at: end, depth, values } = scan;
    this.#at = end;
    yield* this.skipBlanks();
    return { start, end, depth, values };
  }

  /**
   * True if another item of a list or object follows, and reads up to it. The first call starts at the opening bracket.
   * The last one reads the closing bracket and the blanks after it.
   */
  *hasItem(closing: number, isFirst: boolean): Pausing<boolean> {
    if (isFirst || this.isAt(comma)) {
      this.#at++;
      yield* this.skipBlanks();
      if (!this.isAt(closing)) return true;
      if (!isFirst) throw unparsable();
    } else if (!this.isAt(closing)) throw unparsable();
    this.#at++;
    yield* this.skipBlanks();
    return false;
  }

  /** Reads a member's key, up to its value. */
  *readKey(): Pausing<Span> {
    if (!this.isAt(quote)) throw unparsable();
    const { start, end } = yield* this.#scan();
    if (!this.isAt(colon)) throw unparsable();
    this.#at++;
    yield* this.skipBlanks();
    return { start, end, depth: 0 };
  }

  *#pause(): Pausing<void> {
    this.#pauseAt = this.#at + pauseEvery;
    yield;
  }
}

/** The key at a span. @throws HubError invalid_json */
export function keyAt(bytes: Uint8Array, { start, end }: Span): string {
  try {
    return JSON.parse(utf8.decode(bytes.subarray(start, end))) as string;
  } catch {
    throw invalidJson('a key cannot be parsed');
  }
}

/** A scan of one value. */
class ValueScan {
  readonly #bytes: Uint8Array;
  readonly #isScalar: boolean;
  readonly start: number;
  /** The next byte that is read; behind the value at the end. */
  at: number;
  /** The deepest nesting so far. */
  depth = 0;
  values = 1;
  #open = 0;
  #isInText = false;

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.start = start;
    this.at = start;
    const first = bytes[start];
    this.#isScalar = first !== quote && first !== openList && first !== openObject;
  }

  /** Reads up to about `stop`. @returns whether the value has ended. @throws HubError invalid_json */
  advance(stop: number): boolean {
    return this.#isScalar ? this.#advanceScalar(stop) : this.#advanceNested(stop);
  }

  #advanceScalar(stop: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(stop, bytes.length);
    while (this.at < end && !isScalarEnd(bytes[this.at])) this.at++;
    if (this.at === end && end < bytes.length) return false;
    if (this.at === this.start) throw unparsable();
    return true;
  }

  #advanceNested(stop: number): boolean {
    const bytes = this.#bytes;
    const end = Math.min(stop, bytes.length);
    let { at, depth, values } = this;
    let open = this.#open;
    let isInText = this.#isInText;
    let hasEnded = false;
    while (at < end && !hasEnded) {
      const byte = bytes[at++];
      if (isInText) {
        if (byte === backslash) at++;
        else if (byte === quote) {
          isInText = false;
          hasEnded = open === 0;
        }
      } else if (byte === quote) isInText = true;
      else if (byte === openList || byte === openObject) depth = Math.max(depth, ++open);
      else if (byte === closeList || byte === closeObject) hasEnded = --open === 0;
      else if (byte === comma) values++;
    }
    this.at = at;
    this.depth = depth;
    this.values = values;
    this.#open = open;
    this.#isInText = isInText;
    if (!hasEnded && at >= bytes.length)
      throw invalidJson(isInText ? 'a string does not end' : 'an array or object does not end');
    return hasEnded;
  }
}

export const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** A comma, a closing bracket or white space. */
const isScalarEnd = (byte: number | undefined): boolean =>
  byte === comma || byte === closeList || byte === closeObject || isBlank(byte);

// Where the events of a body stand in its bytes, so that a few events are read without parsing the others.

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const bracketStart = 0x5b;
const bracketEnd = 0x5d;
const firstOfNull = 0x6e;
const braceStart = 0x7b;
const braceEnd = 0x7d;
const nullBytes = 4;

/** Bytes that are compared one by one before a native search, which costs as much as so many. */
const nearBytes = 16;

/** @returns the place of the quote that ends the text which begins at `start` */
function textEnd(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length) {
    const near = Math.min(json.length, at + nearBytes);
    while (at < near && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
    if (at >= json.length || json[at] === quote) return at;
    const next = json.indexOf(quote, at);
    if (next < 0) return json.length;
    if (!isEscaped(json, next, at)) return next;
    at = next + 1;
  }
  return at;
}

/** True if an odd number of backslashes stands before the byte at `at`. @param start of the bytes that count */
function isEscaped(json: Buffer, at: number, start: number): boolean {
  let first = at;
  while (first > start && json[first - 1] === backslash) first--;
  return (at - first) % 2 === 1;
}

/** @returns the place behind the object that begins at `start` */
function objectEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = textEnd(json, at);
    else if (byte === braceStart) depth++;
    else if (byte === braceEnd && --depth === 0) return at + 1;
  }
  throw new SyntaxError('A list of events ends within an event.');
}

/** The spans of a JSON list of objects and nulls. Reads on only as far as the last position that was needed. */
export class EventSpans {
  readonly json: Buffer;
  /** Start and end of each event so far; both 0 for null. */
  readonly #bounds: number[] = [];
  #at: number;

  /** @param json UTF-8, as `segmentJson` returns it */
  constructor(json: Uint8Array) {
    this.json = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
    this.#at = json.indexOf(bracketStart) + 1;
  }

  /** JSON of the event at a position, as a view of the body; null where there is none. */
  at(position: number): Uint8Array | null {
    while (this.#bounds.length <= position * 2) if (!this.#readOn()) return null;
    const end = this.#bounds[position * 2 + 1] ?? 0;
    if (end === 0) return null;
    return this.json.subarray(this.#bounds[position * 2], end);
  }

  /** True for a list of `count` items, once `at` has come to its last. */
  endsAfter(count: number): boolean {
    return count * 2 === this.#bounds.length && !this.#readOn();
  }

  /** @returns false at the end of the list */
  #readOn(): boolean {
    const { json } = this;
    let at = this.#at;
    // Blanks and commas.
    while (at < json.length && ((json[at] ?? 0) <= 0x20 || json[at] === comma)) at++;
    if (at >= json.length || json[at] === bracketEnd) return false;
    if (json[at] === firstOfNull) {
      this.#bounds.push(0, 0);
      this.#at = at + nullBytes;
    } else {
      this.#at = objectEnd(json, at);
      this.#bounds.push(at, this.#at);
    }
    return true;
  }
}

// A reader of JSON for texts that are judged here and read again elsewhere (RFC 8259): it refuses every text that two
// readers may understand differently. Runs in Node and in browsers. Cost: linear in the length of the text.

/** The text is not JSON, or two readers may understand it differently. */
export class StrictJsonError extends Error {
  /** Index of the character in the text. */
  readonly at: number;

  constructor(problem: string, at: number) {
    super(`${problem} (at character ${at})`);
    this.name = 'StrictJsonError';
    this.at = at;
  }
}

/** A number whose digits a JavaScript number does not keep, as it was written. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Exact as text: JSON.stringify knows no number that is written otherwise. */
  toJSON(): string {
    return this.text;
  }
}

export interface StrictJsonOptions {
  /**
   * `exact` (default) refuses a number whose value would change, and a whole number beyond 2^53 - 1. `written` returns
   * a WrittenNumber for each number that JSON.stringify would write with other characters.
   */
  readonly numbers?: 'exact' | 'written';
  /** Lists and objects within each other; default 128. */
  readonly maxDepth?: number;
}

const defaultDepth = 128;
/** Digits that tell every double from its neighbours, and a sign. */
const maxFractionDigits = 18;

/**
 * Reads one JSON text.
 * @throws StrictJsonError for a text that is not JSON, for nesting over `maxDepth`, and for a number that `numbers`
 *   refuses. Also for a member that stands twice in one object, and for a surrogate without its other half
 */
export function readStrictJson(text: string, options: StrictJsonOptions = {}): unknown {
  const reader = new StrictReader(text, options);
  return reader.read();
}

/**
 * The value with every WrittenNumber as a number.
 * @throws StrictJsonError for a number whose value would change; `at` is 0
 */
export function exactNumbers(value: unknown): unknown {
  if (value instanceof WrittenNumber) return exactNumber(value.text, 0);
  // JavaScript writes a whole number beyond 2^53 - 1 exactly as it came; other languages may not read it so.
  if (typeof value === 'number') return exactNumber(String(value), 0);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(exactNumbers);
  const copy: { [name: string]: unknown } = {};
  for (const [name, field] of Object.entries(value)) putMember(copy, name, exactNumbers(field));
  return copy;
}

/** JSON without blanks, each WrittenNumber as it was written. @param value as this module returns them */
export function writeStrictJson(value: unknown): string {
  if (value instanceof WrittenNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeStrictJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) members.push(`${JSON.stringify(name)}:${writeStrictJson(field)}`);
  }
  return `{${members.join(',')}}`;
}

/** Not by assignment alone: a member may be named __proto__. */
function putMember(object: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function exactNumber(text: string, at: number): number {
  const value = Number(text);
  const isWhole = Number.isInteger(value);
  if (isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)) {
    const decimal = decimalOf(text);
    // Some languages write more digits of a fraction than they need; all doubles that they may mean are this one.
    const isShort = !isWhole && decimal.indexOf('e') <= maxFractionDigits;
    if (isShort || decimal === decimalOf(String(value))) return value;
  }
  throw new StrictJsonError('a number is too large for exact comparison: send it as a string', at);
}

/** A decimal number in one form: its sign, its digits without zeros at either end, and their power of ten. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = whole + fraction;
  let from = 0;
  while (all[from] === '0') from++;
  let to = all.length;
  while (to > from && all[to - 1] === '0') to--;
  if (from === to) return '0';
  return `${sign}${all.slice(from, to)}e${Number(exponent) - fraction.length + all.length - to}`;
}

const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const hexPattern = /^[0-9a-fA-F]{4}$/;
const words: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const escapes: { readonly [letter: string]: string } = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const quote = 0x22;
const backslash = 0x5c;
const isBlank = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
/** Characters that numbers are made of. */
const isNumeric = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) || unit === 0x2b || unit === 0x2d || unit === 0x2e || (unit | 0x20) === 0x65;

class StrictReader {
  readonly #text: string;
  readonly #isExact: boolean;
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, { numbers = 'exact', maxDepth = defaultDepth }: StrictJsonOptions) {
    this.#text = text;
    this.#isExact = numbers === 'exact';
    this.#maxDepth = maxDepth;
  }

  read(): unknown {
    const value = this.#value();
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#fail('text follows the JSON value');
    return value;
  }

  #fail(problem: string, at = this.#at): never {
    throw new StrictJsonError(problem, at);
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #value(): unknown {
    this.#skipBlanks();
    const first = this.#text[this.#at];
    if (first === '"') return this.#string();
    if (first === '{' || first === '[') {
      if (++this.#depth > this.#maxDepth)
        this.#fail(`the JSON is nested deeper than ${this.#maxDepth} levels`);
      this.#at++;
      const value = first === '{' ? this.#object() : this.#list();
      this.#depth--;
      return value;
    }
    for (const [word, value] of words) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  /** True if the bracket that ends a list or an object stands here. */
  #isEnd(bracket: string): boolean {
    this.#skipBlanks();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    this.#skipBlanks();
    if (this.#text[this.#at] !== character) this.#fail(`the text is not JSON: expected ${character}`);
    this.#at++;
  }

  #object(): unknown {
    const object: { [name: string]: unknown } = {};
    for (let isFirst = true; !this.#isEnd('}'); isFirst = false) {
      if (!isFirst) this.#expect(',');
      this.#skipBlanks();
      const at = this.#at;
      if (this.#text[at] !== '"') this.#fail('the text is not JSON: expected the name of a member');
      const name = this.#string();
      if (Object.hasOwn(object, name)) {
        this.#fail(`an object contains the member ${JSON.stringify(name.slice(0, 64))} twice`, at);
      }
      this.#expect(':');
      putMember(object, name, this.#value());
    }
    return object;
  }

  #list(): unknown {
    const list: unknown[] = [];
    for (let isFirst = true; !this.#isEnd(']'); isFirst = false) {
      if (!isFirst) this.#expect(',');
      list.push(this.#value());
    }
    return list;
  }

  #string(): string {
    const parts: string[] = [];
    let from = ++this.#at;
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit === quote) break;
      if (unit === backslash) {
        parts.push(this.#text.slice(from, this.#at), this.#escaped());
        from = this.#at;
      } else if (isHigh(unit) && isLow(this.#text.charCodeAt(this.#at + 1))) this.#at += 2;
      else if (isHigh(unit) || isLow(unit)) this.#fail('a string contains half of a surrogate pair');
      // The end of the text is NaN.
      else if (unit >= 0x20) this.#at++;
      else this.#fail('the text is not JSON: a string does not end, or has a control character');
    }
    const rest = this.#text.slice(from, this.#at++);
    return parts.length === 0 ? rest : parts.join('') + rest;
  }

  #escaped(): string {
    const at = this.#at;
    const letter = this.#text[at + 1] ?? '';
    this.#at += 2;
    if (letter !== 'u') return escapes[letter] ?? this.#fail('the text is not JSON: an unknown escape', at);
    const unit = this.#hexUnit(at);
    if (isLow(unit)) this.#fail('a string contains half of a surrogate pair', at);
    if (!isHigh(unit)) return String.fromCharCode(unit);
    // Half a character as an escape and half as itself would be two readings, too.
    if (!this.#text.startsWith('\\u', this.#at)) this.#fail('a string contains half of a surrogate pair', at);
    this.#at += 2;
    const low = this.#hexUnit(at);
    if (!isLow(low)) this.#fail('a string contains half of a surrogate pair', at);
    return String.fromCharCode(unit, low);
  }

  #hexUnit(at: number): number {
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (!hexPattern.test(digits)) this.#fail('the text is not JSON: an unknown escape', at);
    this.#at += 4;
    return Number.parseInt(digits, 16);
  }

  #number(): number | WrittenNumber {
    const from = this.#at;
    while (isNumeric(this.#text.charCodeAt(this.#at))) this.#at++;
    const text = this.#text.slice(from, this.#at);
    if (!numberPattern.test(text)) this.#fail('the text is not JSON: expected a value', from);
    const value = Number(text);
    if (String(value) === text && (!Number.isInteger(value) || Number.isSafeInteger(value))) return value;
    if (this.#isExact) return exactNumber(text, from);
    return String(value) === text ? value : new WrittenNumber(text);
  }
}

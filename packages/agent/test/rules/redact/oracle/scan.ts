// Hides secrets in a text by one pass over its words: behind a name, by a token's prefix, in an address, as a program
// takes them. Where a value stands is data (forms.ts).
import { addressForms, beside, codeForms, holder, member, namedForms, programForms } from './forms.ts';
import type { NameTest, Strength } from './names.ts';
import { isCode, isDigits, isPath, looksChosen, looksDrawn } from './values.ts';

export const redacted = '[REDACTED]';

/** Characters that were read, and how many may be. */
export type Meter = { steps: number; readonly budget: number };
/** Rules that a text is judged by; `tokens` is sticky. Above 0, the text was encoded in another. */
export type Judges = {
  readonly names: NameTest;
  readonly tokens: RegExp;
  readonly meter: Meter;
  readonly depth?: number;
};

/** Characters behind a name in which a value that looks chosen, or drawn by a machine, is its value. */
const chosenReach = 160;
const drawnReach = 64;
const noName = Number.NEGATIVE_INFINITY;

const anyProgram = programForms.get('-') ?? [];
/** A word, or the marks between two. */
const wordOrMarks =
  /([\w\xc0-\u1fff\u3040-\ufeff-]+)|%(?:25){0,2}[0-9a-f]{2}|[^\w\xc0-\u1fff\u3040-\ufeff$%:;|&}\n-]+|[\s\S]/iy;
/** JSON in base64, in whole groups of four, and what is left of it. */
const base64 = /(?<![+/=.])((?:ey[JAN]|ew[o0]|W3[so])[\w+/-](?:[\w+/-]{4}){3,})[\w+/=-]{0,4}/y;
const candidate = /[^\s"'`\\,;<>()[\]{}|│║┃]{6,512}(?![\w(])/y;
const quoted = /[^"'\\\n]{1,512}/y;
const otherKey = /(?<!\b(?:is|was|to|as))["']?[ \t]{0,4}(?::|=(?![=>]))/y;
const restOfRun = /[^\s"'`,;&}\]]*/y;
const wasHidden = /^\W*(?:[\w.-]{1,64}=)?\W*REDACTED\W*$/;

const at = (pattern: RegExp, text: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index;
  return pattern.exec(text);
};

/** A text with every secret that was found replaced; the mark alone where the meter's budget does not suffice. */
export const hideSecrets = (text: string, judges: Judges): string => new Scan(text, judges).run();

class Scan {
  readonly text: string;
  readonly judges: Judges;
  #out = '';
  /** Up to here everything is written out, or hidden. */
  #kept = 0;
  #place = 0;
  #program = anyProgram;
  /** The word before, where one blank separates it from the next. */
  #word = '';
  /** Where the last name ended, and whether only a member that holds a value may follow it. */
  #nameEnd = noName;
  #isFar = false;

  constructor(text: string, judges: Judges) {
    this.text = text;
    this.judges = judges;
  }

  run(): string {
    const { text } = this;
    const { meter } = this.judges;
    while (this.#place < text.length) {
      const start = this.#place;
      const [marks = '', word] = at(wordOrMarks, text, start) ?? [];
      this.#place = start + marks.length;
      if (word === undefined && marks !== '$') this.#readMarks(marks);
      else if (this.#hideToken(marks, start)) this.#word = '';
      else if (marks.length <= 128) this.#readWord(marks, start);
      meter.steps += this.#place - start;
      if (meter.steps > meter.budget) return redacted;
    }
    return this.#out + text.slice(this.#kept);
  }

  /** Hides a stretch; where it was too long for a pattern, to the end of its run. */
  #hide(from: number, to: number): true {
    this.#out += this.text.slice(this.#kept, from) + redacted;
    this.#kept = to - from < 512 ? to : to + (at(restOfRun, this.text, to)?.[0].length ?? 0);
    this.#place = Math.max(this.#place, this.#kept);
    return true;
  }

  /** A token, or JSON in base64 that holds a secret. */
  #hideToken(word: string, start: number): boolean {
    // Most words are too short for one.
    if (word.length < 10 && /[\s,;)"']/.test(this.text[this.#place] ?? ' ') && word !== '----') return false;
    const { tokens, depth = 0 } = this.judges;
    if (at(tokens, this.text, start)) return this.#hide(start, tokens.lastIndex);
    const json = depth < 2 ? at(base64, this.text, start)?.[1] : undefined;
    if (json === undefined) return false;
    const end = base64.lastIndex;
    const inner = atob(json.replaceAll('-', '+').replaceAll('_', '/'));
    return hideSecrets(inner, { ...this.judges, depth: depth + 1 }) !== inner && this.#hide(start, end);
  }

  #readMarks(marks: string): void {
    if (marks === ' ') return;
    this.#word = '';
    if (/[|&\n;]/.test(marks)) this.#program = anyProgram;
    if (marks === '\n') this.#isFar = true;
    if (marks === ';' || marks === '}') this.#nameEnd = noName;
    if (marks === ':' && this.text.startsWith('//', this.#place))
      this.#tryForms(addressForms, this.#place, 'any');
  }

  #readWord(word: string, start: number): void {
    const pair = this.#word === '' ? word : `${this.#word} ${word}`;
    this.#word = word;
    const isFlag = word[0] === '-' && /[\s"'`=(;&|,[]/.test(this.text[start - 1] ?? ' ');
    if (isFlag && this.#tryForms(this.#program, start, 'any')) return;
    const program =
      programForms.get(pair.toLowerCase().replace(' ', '_')) ?? programForms.get(word.toLowerCase());
    if (program && this.#tryForms(program, start + word.length, 'any')) return;
    if (program) this.#program = [...program, ...anyProgram];
    const end = start + word.replace(/-+$/, '').length;
    const strength = this.judges.names.strengthOf(word.replace(/^-+|-+$/g, ''), pair);
    if (strength === 'none') this.#readNear(start, end);
    else {
      const isHidden = this.#tryForms(strength === 'code' ? codeForms : namedForms, end, strength);
      // Behind a value in quotes its statement ends.
      this.#nameEnd = isHidden && /["'`]/.test(this.text[this.#place - 1] ?? '') ? noName : end;
      this.#isFar = false;
    }
  }

  /** A word near a name: hidden where it looks chosen and stands where a value does, or looks drawn by a machine. */
  #readNear(start: number, end: number): void {
    const { text } = this;
    const distance = start - this.#nameEnd;
    if (distance > chosenReach || start < this.#kept) return;
    const value = at(candidate, text, start)?.[0] ?? '';
    const isChosen = looksChosen(value);
    const isQuoted = /["']/.test(text[start - 1] ?? '');
    const between = isChosen || isQuoted ? text.slice(this.#nameEnd, start).replace(/\\+(?=["'`])/g, '') : '';
    this.judges.meter.steps += value.length + between.length;
    const isBound = holder.test(between) || (!this.#isFar && beside.test(between));
    const isWhole = distance <= drawnReach && !/[\w+/=.-]/.test(text[start - 1] ?? '');
    if (member.test(between) && at(quoted, text, start)) this.#hide(start, quoted.lastIndex);
    else if ((isChosen && isBound) || (isWhole && looksDrawn(value))) this.#hide(start, start + value.length);
    else this.#isFar ||= at(otherKey, text, end) !== null;
  }

  /** Tries forms at a place; hides the first value that is a secret, with quotes that no name has. */
  #tryForms(forms: readonly RegExp[], index: number, strength: Strength): boolean {
    const { text } = this;
    for (const form of forms) {
      const match = at(form, text, index);
      this.judges.meter.steps += match ? match[0].length : 16;
      const value = match?.groups?.v ?? '';
      const [from, to] = [form.lastIndex - value.length, form.lastIndex];
      if (wasHidden.test(value)) return false;
      const quote = /["'`]/.exec(text[from - 1] ?? '')?.[0];
      if (from < this.#kept || !isSecret(value, strength, quote !== undefined)) continue;
      const isWhole = quote !== undefined && quote === text[to] && !/["'`\\%]/.test(text[index] ?? '');
      return isWhole ? this.#hide(from - 1, to + 1) : this.#hide(from, to);
    }
    return false;
  }
}

function isSecret(value: string, strength: Strength, isQuoted: boolean): boolean {
  if (/^["'\\`]*$/.test(value) || (strength === 'path' && isPath(value))) return false;
  if (strength === 'code') return isDigits(value);
  if (strength === 'chosen') return looksChosen(value) || looksDrawn(value);
  if (isQuoted || /^["'`\\]/.test(value)) return true;
  return !isCode(value) && (strength !== 'text' || !/^[\d.]+[,;]?$/.test(value));
}

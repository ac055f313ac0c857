// Hides secrets in a text by one pass over its words. Data in tables.ts describe the places of values.
import { declaration, isSecretValue, type Judges, looksChosen, looksDrawn } from './judges.ts';
import { between, formsByTrigger, linesOfBlock, namedForms, type Strength } from './tables.ts';

export const redacted = '[REDACTED]';

/** Characters behind a name in which a value that looks chosen, or drawn by a machine, is its value. */
const reach = 64;

/** A word, or the marks between two. */
const wordOrMarks =
  /([\w\xc0-\u1fff\u3040-\ufeff-]+|[$])|%(?:25){0,2}[0-9a-f]{2}|[^\w\xc0-\u1fff\u3040-\ufeff$%:;|&}\n-]+|[\s\S]/iy;
/** JSON in base64, in whole groups of four, and what is left of it. */
const base64 = /(?<![+/=.])((?:ey[JAN]|ew[o0]|W3[so])[\w+/-](?:[\w+/-]{4}){3,})[\w+/=-]{0,4}/y;
const candidate = /[^\s"'`\\,;<>()[\]{}|│║┃]{6,512}(?![\w(])/y;
const restOfRun = /[^\s"'`,;&}\]]*/y;
const wasHidden = /^\W*(?:\w[\w.-]{0,63}=\W*)?REDACTED\W*$/;

/** Reads a text once, and texts that are encoded in it: each is shorter. */
export class SecretScan {
  readonly text: string;
  readonly judges: Judges;
  #out = '';
  /** Up to here everything is written out, or hidden. */
  #kept = 0;
  #place = 0;
  #nameEnd = Number.NEGATIVE_INFINITY;

  constructor(text: string, judges: Judges) {
    this.text = text;
    this.judges = judges;
  }

  run(): string {
    while (this.#place < this.text.length) {
      const start = this.#place;
      const [piece = '', word] = this.#at(wordOrMarks, start) ?? [];
      this.#place = start + piece.length;
      if (word !== undefined) this.#readWord(word, start);
      else if (piece === ':') this.#tryForms(formsByTrigger.get(':'), this.#place, 'any');
      else if (piece === ';' || piece === '}') this.#nameEnd = Number.NEGATIVE_INFINITY;
    }
    return this.#out + this.text.slice(this.#kept);
  }

  #at(pattern: RegExp, index: number): RegExpExecArray | null {
    pattern.lastIndex = index;
    return pattern.exec(this.text);
  }

  /** Hides a stretch; where it was too long for a pattern, to the end of its run. */
  #hide(from: number, to: number): true {
    this.#out += this.text.slice(this.#kept, from) + redacted;
    this.#kept = to - from < 512 ? to : to + (this.#at(restOfRun, to)?.[0].length ?? 0);
    this.#place = Math.max(this.#place, this.#kept);
    return true;
  }

  /**
   * The end of a YAML block.
   * @param indent blanks before its key
   * @param end of the lines that its form holds
   */
  #endOfBlock(indent: string, end: number): number {
    const lines = new RegExp(linesOfBlock(indent), 'y');
    let last = end;
    while (this.#at(lines, last) !== null) last = lines.lastIndex;
    return last;
  }

  #readWord(word: string, start: number): void {
    if (this.#hideToken(word, start) || word.length > 128) return;
    const isFlag = word[0] === '-' && /[\s"'`=(;&|,[]/.test(this.text[start - 1] ?? ' ');
    const forms = formsByTrigger.get(isFlag ? '-' : word.toLowerCase());
    if (this.#tryForms(forms, isFlag ? start : start + word.length, 'any')) return;
    const end = start + word.replace(/(?<!-)-+$/, '').length;
    const strength = this.judges.ofWord(word, this.text, end);
    if (strength !== 'none') this.#nameEnd = end;
    if (strength === 'none') this.#readNear(start);
    else this.#tryForms(namedForms, end, strength);
  }

  /** A token, or JSON in base64 that holds a secret. */
  #hideToken(word: string, start: number): boolean {
    // Most words are too short for one.
    if (word.length < 10 && /[\s,;)"']/.test(this.text[this.#place] ?? ' ') && word !== '----') return false;
    const token = this.#at(this.judges.tokens, start)?.[0];
    if (token !== undefined) return this.#hide(start, start + token.length);
    const [run, groups = ''] = this.#at(base64, start) ?? [];
    if (run === undefined) return false;
    const json = atob(groups.replaceAll('-', '+').replaceAll('_', '/'));
    return new SecretScan(json, this.judges).run() !== json && this.#hide(start, start + run.length);
  }

  /** A word near a name: hidden where it looks chosen and stands where a value does, or looks drawn by a machine. */
  #readNear(start: number): void {
    if (start - this.#nameEnd > reach || start < this.#kept) return;
    const value = this.#at(candidate, start)?.[0] ?? '';
    const words = this.text.slice(this.#nameEnd, start).replace(/(?<!\\)\\+(?=["'`])/g, '');
    const isWhole = !/[\w+/=.-]/.test(this.text[start - 1] ?? '');
    if ((looksChosen(value) && between.some((form) => form.test(words))) || (isWhole && looksDrawn(value)))
      this.#hide(start, start + value.length);
  }

  /** Tries forms at a place; hides the first value that is a secret. */
  #tryForms(forms: readonly RegExp[] = [], index: number, strength: Strength): boolean {
    for (const form of forms) {
      const { v: value = '', i: indent } = this.#at(form, index)?.groups ?? {};
      const end = form.lastIndex;
      const from = end - value.length;
      if (wasHidden.test(value)) return false;
      if (from < this.#kept || /^["'\\`]*$/.test(value) || !isSecretValue(strength, value)) continue;
      const isQuoted = /["'`]/.test(this.text[from - 1] ?? '') || /^["'`\\]/.test(value);
      const isOther = declaration.test(value) || (strength === 'text' && /^[\d.]+[,;]?$/.test(value));
      if (strength !== 'chosen' && !isQuoted && isOther) continue;
      return this.#hide(from, indent === undefined ? end : this.#endOfBlock(indent, end));
    }
    return false;
  }
}

// Pattern text to a syntax tree: the part of Python's `re` that can be matched in linear time. No matching here.
import { RuleError } from '../error.ts';
import { CharSet, type CharSetParts, type ClassName } from './charset.ts';

/** Conditions on a position that consume no character. */
export type Place =
  | 'start'
  | 'line-start'
  | 'end'
  | 'end-or-last-newline'
  | 'line-end'
  | 'word-edge'
  | 'no-word-edge';

export type Node =
  | { readonly type: 'set'; readonly set: CharSet }
  | { readonly type: 'place'; readonly place: Place }
  | { readonly type: 'cat'; readonly items: readonly Node[] }
  | { readonly type: 'alt'; readonly items: readonly Node[] }
  | {
      readonly type: 'repeat';
      readonly item: Node;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    };

export interface Flags {
  readonly fold: boolean;
  readonly dotAll: boolean;
  readonly multiline: boolean;
  readonly ascii: boolean;
}

export interface ParsedPattern {
  readonly node: Node;
  readonly flags: Flags;
}

/** Characters in one pattern. */
export const maxPatternLength = 1000;
const maxGroupDepth = 50;
const maxRepeat = 1000;

/**
 * Parses a pattern.
 * @throws RuleError "Invalid pattern: …" with the offset, also for backreferences, lookaround, atomic groups and
 * possessive quantifiers, which no linear-time engine can match.
 */
export function parsePattern(pattern: string): ParsedPattern {
  if (pattern.length > maxPatternLength) {
    throw new RuleError(`Invalid pattern: longer than ${maxPatternLength} characters`);
  }
  return new PatternParser(pattern).parse();
}

const anyCharacter = new CharSet({ ranges: [], negated: true });
const notNewline = new CharSet({ ranges: [[10, 10]], negated: true });
const controlEscapes: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };

class PatternParser {
  readonly #text: string;
  readonly #names = new Set<string>();
  #at = 0;
  #flags: Flags = { fold: false, dotAll: false, multiline: false, ascii: false };

  constructor(text: string) {
    this.#text = text;
  }

  parse(): ParsedPattern {
    const leading = /^(?:\(\?[aimsu]+\))+/.exec(this.#text)?.[0];
    if (leading) {
      for (const letter of leading) this.#flags = withFlag(this.#flags, letter, true);
      this.#at = leading.length;
    }
    const flags = this.#flags;
    const node = this.#alternatives(0);
    if (this.#at < this.#text.length) throw this.#problem('unbalanced )');
    return { node, flags };
  }

  #alternatives(depth: number): Node {
    if (depth > maxGroupDepth) throw this.#problem(`groups nested deeper than ${maxGroupDepth}`);
    const items = [this.#sequence(depth)];
    while (this.#take('|')) items.push(this.#sequence(depth));
    const [only] = items;
    return items.length === 1 && only ? only : { type: 'alt', items };
  }

  #sequence(depth: number): Node {
    const items: Node[] = [];
    while (this.#at < this.#text.length && this.#peek() !== '|' && this.#peek() !== ')') {
      const item = this.#atom(depth);
      if (item === null) continue;
      const repeated = this.#quantified(item);
      items.push(...(repeated.type === 'cat' ? repeated.items : [repeated]));
    }
    const [only] = items;
    return items.length === 1 && only ? only : { type: 'cat', items };
  }

  #quantified(item: Node): Node {
    const at = this.#at;
    const range = this.#quantifier();
    if (!range) return item;
    if (item.type === 'place') throw this.#problem('nothing to repeat', at);
    const [min, max] = range;
    if (min > max) throw this.#problem('min repeat greater than max repeat', at);
    if (min > maxRepeat || (max !== Infinity && max > maxRepeat)) {
      throw this.#problem(`repeat counts are limited to ${maxRepeat}`, at);
    }
    const lazy = this.#take('?');
    if (!lazy && this.#peek() === '+') throw this.#problem('possessive quantifiers are not supported');
    const next = this.#at;
    if (this.#quantifier()) throw this.#problem('multiple repeat', next);
    return { type: 'repeat', item, min, max, lazy };
  }

  #quantifier(): [number, number] | null {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    const braces = /^\{(\d*)(,?)(\d*)\}/.exec(this.#text.slice(this.#at, this.#at + 24));
    if (!braces || (braces[1] === '' && braces[2] === '')) return null;
    this.#at += braces[0].length;
    const min = braces[1] === '' ? 0 : Number(braces[1]);
    return [min, braces[2] === '' ? min : braces[3] === '' ? Infinity : Number(braces[3])];
  }

  /** One item, or null for something that stands for nothing (a comment). */
  #atom(depth: number): Node | null {
    const start = this.#at;
    const char = this.#next();
    switch (char) {
      case '(':
        return this.#group(depth, start);
      case '[':
        return this.#bracket(start);
      case '.':
        return { type: 'set', set: this.#flags.dotAll ? anyCharacter : notNewline };
      case '^':
        return { type: 'place', place: this.#flags.multiline ? 'line-start' : 'start' };
      case '$':
        return { type: 'place', place: this.#flags.multiline ? 'line-end' : 'end-or-last-newline' };
      case '\\':
        return this.#escape(start);
      case '*':
      case '+':
      case '?':
        throw this.#problem('nothing to repeat', start);
      case '{':
        this.#at = start;
        if (this.#quantifier()) throw this.#problem('nothing to repeat', start);
        this.#at = start + 1;
        return this.#set({ ranges: [[123, 123]] });
      default: {
        const cp = char.codePointAt(0) ?? 0;
        return this.#set({ ranges: [[cp, cp]] });
      }
    }
  }

  #group(depth: number, start: number): Node | null {
    const outer = this.#flags;
    if (this.#take('?')) {
      const rest = this.#text.slice(this.#at, this.#at + 80);
      if (rest.startsWith('#')) {
        const end = this.#text.indexOf(')', this.#at);
        if (end < 0) throw this.#problem('missing ), unterminated comment', start);
        this.#at = end + 1;
        return null;
      }
      if (/^(?:=|!|<=|<!)/.test(rest)) throw this.#problem('lookaround is not supported', start);
      if (rest.startsWith('>')) throw this.#problem('atomic groups are not supported', start);
      if (rest.startsWith('P=')) throw this.#problem('backreferences are not supported', start);
      if (rest.startsWith('(')) throw this.#problem('conditional groups are not supported', start);
      const name = /^P?<([^\W\d]\w*)>/.exec(rest);
      const flags = /^([aimsu]*)(?:-([ims]+))?:/.exec(rest);
      if (name?.[1] !== undefined) {
        if (this.#names.has(name[1])) throw this.#problem(`group name ${name[1]} is used twice`, start);
        this.#names.add(name[1]);
        this.#at += name[0].length;
      } else if (flags) {
        for (const letter of flags[1] ?? '') this.#flags = withFlag(this.#flags, letter, true);
        for (const letter of flags[2] ?? '') this.#flags = withFlag(this.#flags, letter, false);
        this.#at += flags[0].length;
      } else if (/^[aimsu]+\)/.test(rest)) {
        throw this.#problem('flags are only supported at the start of the pattern', start);
      } else {
        throw this.#problem('unknown group', start);
      }
    }
    const node = this.#alternatives(depth + 1);
    if (!this.#take(')')) throw this.#problem('missing )', start);
    this.#flags = outer;
    // A group may be repeated even when a bare place may not.
    return node.type === 'place' ? { type: 'cat', items: [node] } : node;
  }

  #escape(start: number): Node {
    if (this.#at >= this.#text.length) throw this.#problem('ends with a backslash', start);
    const char = this.#next();
    if ('dDwWsS'.includes(char)) return this.#set({ ranges: [], classes: [char as ClassName] });
    switch (char) {
      case 'b':
        return { type: 'place', place: 'word-edge' };
      case 'B':
        return { type: 'place', place: 'no-word-edge' };
      case 'A':
        return { type: 'place', place: 'start' };
      case 'Z':
      case 'z':
        return { type: 'place', place: 'end' };
    }
    const cp = this.#escapedCodePoint(char, start);
    return this.#set({ ranges: [[cp, cp]] });
  }

  #escapedCodePoint(char: string, start: number): number {
    const control = controlEscapes[char];
    if (control !== undefined) return control;
    if (char === 'x') return this.#hex(2, start);
    if (char === 'u') return this.#hex(4, start);
    if (char === 'U') return this.#hex(8, start);
    if (/[0-9]/.test(char)) {
      const octal = /^(?:0[0-7]{0,2}|[1-3][0-7]{2})/.exec(this.#text.slice(this.#at - 1, this.#at + 2))?.[0];
      if (octal === undefined) throw this.#problem('backreferences are not supported', start);
      this.#at += octal.length - 1;
      return Number.parseInt(octal, 8);
    }
    if (/[a-zA-Z]/.test(char)) throw this.#problem(`unknown escape \\${char}`, start);
    return char.codePointAt(0) ?? 0;
  }

  #hex(digits: number, start: number): number {
    const text = this.#text.slice(this.#at, this.#at + digits);
    const value = text.length === digits && /^[0-9a-fA-F]+$/.test(text) ? Number.parseInt(text, 16) : -1;
    if (value < 0 || value > 0x10ffff) throw this.#problem('incomplete or too large escape', start);
    this.#at += digits;
    return value;
  }

  #bracket(start: number): Node {
    const negated = this.#take('^');
    const ranges: [number, number][] = [];
    const classes: ClassName[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      if (this.#at >= this.#text.length) throw this.#problem('unterminated set', start);
      const at = this.#at;
      const low = this.#member();
      if (this.#peek() === '-' && this.#text[this.#at + 1] !== ']' && this.#at + 1 < this.#text.length) {
        this.#at++;
        const high = this.#member();
        if (typeof low === 'string' || typeof high === 'string' || low > high) {
          throw this.#problem(`bad character range ${this.#text.slice(at, this.#at)}`, at);
        }
        ranges.push([low, high]);
      } else if (typeof low === 'string') classes.push(low);
      else ranges.push([low, low]);
    }
    this.#at++;
    return this.#set({ ranges, classes, negated });
  }

  #member(): number | ClassName {
    const start = this.#at;
    const char = this.#next();
    if (char !== '\\') return char.codePointAt(0) ?? 0;
    if (this.#at >= this.#text.length) throw this.#problem('ends with a backslash', start);
    const escaped = this.#next();
    if ('dDwWsS'.includes(escaped)) return escaped as ClassName;
    if (escaped === 'b') return 8;
    return this.#escapedCodePoint(escaped, start);
  }

  #set(parts: CharSetParts): Node {
    const { fold, ascii } = this.#flags;
    return { type: 'set', set: new CharSet({ ...parts, fold: fold && hasCase(parts), ascii }) };
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #next(): string {
    const cp = this.#text.codePointAt(this.#at) ?? 0;
    this.#at += cp > 0xffff ? 2 : 1;
    return String.fromCodePoint(cp);
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at++;
    return true;
  }

  #problem(message: string, at = this.#at): RuleError {
    return new RuleError(`Invalid pattern: ${message} at offset ${at}`);
  }
}

function hasCase({ ranges, classes = [] }: CharSetParts): boolean {
  if (classes.length > 0) return true;
  return ranges.some(([first, last]) => {
    if (first !== last) return true;
    const char = String.fromCodePoint(first);
    return char.toLowerCase() !== char || char.toUpperCase() !== char;
  });
}

function withFlag(flags: Flags, letter: string, on: boolean): Flags {
  switch (letter) {
    case 'i':
      return { ...flags, fold: on };
    case 's':
      return { ...flags, dotAll: on };
    case 'm':
      return { ...flags, multiline: on };
    case 'a':
      return { ...flags, ascii: on };
    default:
      return flags;
  }
}

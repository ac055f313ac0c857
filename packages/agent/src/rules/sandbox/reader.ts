// Reads the words of a command by the profile of its program: which are flags, paths, hosts, numbers and text. A word
// without a place in the profile leaves every sandbox.
import { remembered } from '../remembered.ts';
import { type CommandProfile, type WordKind, wordKinds } from './profiles/profile.ts';
import type { ShellWord } from './shell.ts';

/** The part of a word that has a kind: the word, or the value of the option in it. */
export interface ReadWord {
  kind: WordKind;
  readonly value: string;
}

const namesIn = remembered(1_000, (list: string): readonly string[] => list.split(/\s+/).filter(Boolean));
const isListed = (name: string, list = ''): boolean => namesIn(list).includes(name);

/** Kinds of options by name; the first kind that lists a name has it. */
const kindsByOption = remembered(1_000, (options: CommandProfile['options']) => {
  const pairs = wordKinds.flatMap((kind) =>
    namesIn(options?.[kind] ?? '').map((name) => [name, kind] as const),
  );
  return new Map<string, WordKind>(pairs.reverse());
});

/**
 * The kinds of all words up to another command, which starts at their end; null if a word has no place.
 * @param hasTexts false: a text is judged as a word
 */
export function readWords(
  profile: CommandProfile,
  words: readonly ShellWord[],
  hasTexts: boolean,
): readonly ReadWord[] | null {
  const reader = new WordReader(profile, words, hasTexts);
  return reader.read() ? reader.roles : null;
}

class WordReader {
  readonly roles: ReadWord[] = [];
  readonly #words: readonly ShellWord[];
  #profile: CommandProfile;
  #hasTexts: boolean;
  /** An option replaces the first operand. */
  #isShifted = false;

  constructor(profile: CommandProfile, words: readonly ShellWord[], hasTexts: boolean) {
    this.#profile = profile;
    this.#words = words;
    this.#hasTexts = hasTexts;
  }

  read(): boolean {
    this.#add('flag', this.#next() ?? '');
    const operands: ReadWord[] = [];
    let depth = 0;
    let hasOptions = this.#profile.options !== undefined;
    for (let text = this.#next(); text !== undefined; text = this.#next()) {
      const { subcommands = {}, stops } = this.#profile;
      if (hasOptions && text === '--') {
        hasOptions = false;
        this.#add('flag');
      } else if (hasOptions && text.length > 1 && text[0] === '-') {
        if (!this.#option(text)) return false;
      } else if (operands.length === 0 && Object.hasOwn(subcommands, text)) {
        this.#profile = subcommands[text] as CommandProfile;
        hasOptions = this.#profile.options !== undefined;
        // Behind an option a word may be its value instead, and no text.
        this.#hasTexts &&= depth++ > 0 || this.roles.length === 1;
        this.#add('flag');
      } else {
        const kind = this.#operandKind(operands.length);
        if (kind === undefined) return false;
        if (kind === 'command') break;
        operands.push(this.#add(kind, text));
        if (stops) hasOptions = false;
      }
    }
    if (this.#isShifted)
      for (const [i, role] of operands.entries()) role.kind = this.#operandKind(i + 1) ?? role.kind;
    if (!this.#hasTexts) for (const role of this.roles) if (role.kind === 'text') role.kind = 'word';
    return true;
  }

  #next(): string | undefined {
    return this.#words[this.roles.length]?.text;
  }

  #operandKind(index: number): WordKind | undefined {
    const { operands = [] } = this.#profile;
    return operands[index] ?? operands.at(-1);
  }

  #add(kind: WordKind, value = ''): ReadWord {
    const role = { kind, value };
    this.roles.push(role);
    return role;
  }

  #kindOf(option: string): WordKind | undefined {
    return kindsByOption(this.#profile.options).get(option);
  }

  #option(text: string): boolean {
    const [name = ''] = text.split('=', 1);
    const value = name === text ? null : text.slice(name.length + 1);
    const kind = this.#kindOf(name);
    // A short flag has no value, and the letter behind it may be that of another option.
    if (kind === 'flag' && name.length === 2 && value !== null) return false;
    if (kind !== undefined) return this.#value(name, kind, value);
    if (/^-\d+$/.test(text) && this.#kindOf('-#')) return this.#value('-#', 'flag', null);
    const other = this.#kindOf('*');
    if (text[1] === '-' || other !== undefined) return other !== undefined && !!this.#add(other, text);
    return this.#letters(text);
  }

  /** Flags of one letter each; the last letter may have a value: the rest of the word, or the next word. */
  #letters(text: string): boolean {
    const letters = [...text.slice(1)].map((letter) => `-${letter}`);
    const index = letters.findIndex((letter) => this.#kindOf(letter) !== 'flag');
    const option = letters[index];
    if (option === undefined) return this.#value(text, 'flag', null);
    const kind = this.#kindOf(option);
    if (kind === undefined) return false;
    const rest = letters
      .slice(index + 1)
      .map((letter) => letter.slice(1))
      .join('');
    const isAttached = isListed(option, this.#profile.attached);
    if (kind === 'text' && isAttached && index > 0) this.#hasTexts = false;
    const isWord = kind === 'text' && !isAttached && (rest !== '' || index > 0);
    return this.#value(option, isWord ? 'word' : kind, rest === '' ? null : rest);
  }

  #value(option: string, kind: WordKind, attached: string | null): boolean {
    const { instead, values } = this.#profile;
    if (isListed(option, instead)) this.#isShifted = true;
    // A file may hold the pattern, the script or the message.
    if (kind === 'path') this.#hasTexts = false;
    if (kind === 'flag' || attached === null) this.#add('flag');
    const value = kind === 'flag' ? undefined : (attached ?? this.#next());
    if (value === undefined) return true;
    this.#add(kind, value);
    const allowed = values?.[option];
    const fits = (one: string): boolean => (/[=.]$/.test(one) ? value.startsWith(one) : value === one);
    return allowed === undefined || namesIn(allowed).some(fits);
  }
}

// Reads the words of a command by the profile of its program: which are flags, paths, hosts, numbers and text. A word
// without a place in the profile leaves every sandbox.
import { type CommandProfile, type WordKind, wordKinds } from './profiles/profile.ts';
import type { ShellWord } from './shell.ts';

/** The part of a word that has a kind: the word, or the value of the option in it. */
export interface ReadWord {
  kind: WordKind;
  readonly value: string;
}

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

const names = new Map<string, ReadonlySet<string>>();
function namesOf(list = ''): ReadonlySet<string> {
  const set = names.get(list) ?? new Set(list.split(/\s+/).filter((name) => name !== ''));
  if (names.size < 1_000) names.set(list, set);
  return set;
}

class WordReader {
  readonly roles: ReadWord[] = [];
  readonly #words: readonly ShellWord[];
  #profile: CommandProfile;
  #hasTexts: boolean;
  #isSubcommand = false;
  #isShifted = false;

  constructor(profile: CommandProfile, words: readonly ShellWord[], hasTexts: boolean) {
    this.#profile = profile;
    this.#words = words;
    this.#hasTexts = hasTexts;
  }

  read(): boolean {
    this.#add('flag', this.#words[0]?.text ?? '');
    const operands: ReadWord[] = [];
    let hasOptions = this.#profile.options !== undefined;
    while (this.roles.length < this.#words.length) {
      const text = this.#words[this.roles.length]?.text ?? '';
      if (hasOptions && text.length > 1 && text[0] === '-') {
        if (text === '--') hasOptions = false;
        if (text === '--') this.#add('flag', '');
        else if (!this.#option(text)) return false;
        continue;
      }
      const { subcommands, stops } = this.#profile;
      if (subcommands && operands.length === 0 && Object.hasOwn(subcommands, text)) {
        this.#profile = subcommands[text] as CommandProfile;
        // In doubt a word is no text.
        this.#hasTexts &&= this.#isSubcommand || this.roles.length === 1;
        this.#isSubcommand = true;
        hasOptions = this.#profile.options !== undefined;
        this.#add('flag', '');
        continue;
      }
      const kind = this.#operandKind(operands.length);
      if (kind === undefined) return false;
      if (kind === 'command') break;
      operands.push(this.#add(kind, text));
      if (stops) hasOptions = false;
    }
    if (this.#isShifted)
      for (const [i, role] of operands.entries()) role.kind = this.#operandKind(i + 1) ?? role.kind;
    if (!this.#hasTexts) for (const role of this.roles) if (role.kind === 'text') role.kind = 'word';
    return true;
  }

  #operandKind(index: number): WordKind | undefined {
    const { operands = [] } = this.#profile;
    return operands[index] ?? operands.at(-1);
  }

  #add(kind: WordKind, value: string): ReadWord {
    const role = { kind, value };
    this.roles.push(role);
    return role;
  }

  #kindOf(option: string): WordKind | undefined {
    for (const kind of wordKinds) if (namesOf(this.#profile.options?.[kind]).has(option)) return kind;
    return undefined;
  }

  #option(text: string): boolean {
    const equals = text.indexOf('=');
    const name = equals < 0 ? text : text.slice(0, equals);
    const kind = this.#kindOf(name);
    // A short flag has no value, and the letter behind it may be that of another option.
    if (kind === 'flag' && equals === 2) return false;
    if (kind !== undefined) return this.#value(name, kind, equals < 0 ? null : text.slice(equals + 1));
    if (/^-\d+$/.test(text) && this.#kindOf('-#')) return this.#value('-#', 'flag', null);
    const other = this.#kindOf('*');
    if (text[1] === '-' || other !== undefined) return other !== undefined && !!this.#add(other, text);
    for (let i = 1; i < text.length; i++) {
      const option = `-${text[i]}`;
      const letterKind = this.#kindOf(option);
      if (letterKind === undefined) return false;
      if (letterKind !== 'flag') return this.#letter(option, letterKind, i, text.slice(i + 1));
    }
    return this.#value(text, 'flag', null);
  }

  /** The last letter of a cluster, which has a value: the rest of the word, or the next word. */
  #letter(option: string, kind: WordKind, index: number, rest: string): boolean {
    const isAttached = namesOf(this.#profile.attached).has(option);
    if (kind === 'text' && isAttached && index > 1) this.#hasTexts = false;
    const isWord = kind === 'text' && !isAttached && (rest !== '' || index > 1);
    return this.#value(option, isWord ? 'word' : kind, rest === '' ? null : rest);
  }

  #value(option: string, kind: WordKind, attached: string | null): boolean {
    if (namesOf(this.#profile.instead).has(option)) this.#isShifted = true;
    if (kind === 'flag') return !!this.#add('flag', '');
    // A file may hold the pattern, the script or the message.
    if (kind === 'path') this.#hasTexts = false;
    let value = attached;
    if (value === null) {
      this.#add('flag', '');
      value = this.#words[this.roles.length]?.text ?? null;
    }
    if (value === null) return true;
    this.#add(kind, value);
    const prefixes = this.#profile.values?.[option];
    const fits = (one: string): boolean => (/[=.]$/.test(one) ? value.startsWith(one) : value === one);
    return prefixes === undefined || [...namesOf(prefixes)].some(fits);
  }
}

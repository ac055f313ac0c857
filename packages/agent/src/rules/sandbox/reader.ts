// Reads the words of a command by the profile of its program: which are flags, paths, hosts, numbers and text. A word
// without a place in the profile leaves every sandbox.
import { remembered } from '../remembered.ts';
import { type CommandProfile, type WordKind, wordKinds } from './profiles/profile.ts';

/** The part of a word that has a kind: the word, or the value of the option in it. */
export interface ReadWord {
  kind: WordKind;
  readonly value: string;
}

const namesIn = remembered(1_000, (list: string): readonly string[] => list.split(/\s+/).filter(Boolean));
const isListed = (name: string, list = ''): boolean => namesIn(list).includes(name);

/** Kinds of options by name; the first kind that lists a name has it. */
const kindsByOption = remembered(1_000, (options: CommandProfile['options']) => {
  const pairs = wordKinds.map((kind) => namesIn(options?.[kind] ?? '').map((name) => [name, kind] as const));
  return new Map<string, WordKind>(pairs.flat().reverse());
});

/** Reads words, up to another command among them. */
export class WordReader {
  readonly #roles: ReadWord[] = [];
  readonly #words: readonly string[];
  #profile: CommandProfile;
  #hasTexts: boolean;
  /** An option replaces the first operand. */
  #isShifted = false;

  /** @param hasTexts false: a text is judged as a word */
  constructor(profile: CommandProfile, words: readonly string[], hasTexts: boolean) {
    this.#profile = profile;
    this.#words = words;
    this.#hasTexts = hasTexts;
  }

  /** The kinds of the words, which end where another command starts; null if a word has no place. */
  read(): readonly ReadWord[] | null {
    this.#add('flag');
    const operands: ReadWord[] = [];
    let depth = 0;
    let isRest = false;
    for (let text = this.#next(); text !== undefined; text = this.#next()) {
      const { subcommands = {}, stops } = this.#profile;
      const below = Object.hasOwn(subcommands, text) ? subcommands[text] : undefined;
      if (!isRest && this.#profile.options && /^-./s.test(text)) {
        isRest = text === '--';
        if (!(isRest ? this.#add('flag') : this.#option(text))) return null;
      } else if (below && operands.length === 0) {
        this.#profile = below;
        isRest = false;
        // Behind an option a word may be its value instead, and no text.
        this.#hasTexts &&= this.#roles.length === ++depth;
        this.#add('flag');
      } else {
        const kind = this.#operandKind(operands.length);
        if (kind === undefined) return null;
        if (kind === 'command') break;
        operands.push(this.#add(kind, text));
        isRest ||= stops === true;
      }
    }
    if (this.#isShifted)
      for (const [i, role] of operands.entries()) role.kind = this.#operandKind(i + 1) ?? role.kind;
    if (!this.#hasTexts) for (const role of this.#roles) if (role.kind === 'text') role.kind = 'word';
    return this.#roles;
  }

  #next(): string | undefined {
    return this.#words[this.#roles.length];
  }

  #operandKind(index: number): WordKind | undefined {
    const { operands = [] } = this.#profile;
    return operands[index] ?? operands.at(-1);
  }

  #add(kind: WordKind, value = ''): ReadWord {
    const role = { kind, value };
    this.#roles.push(role);
    return role;
  }

  /** Reads an option with its value; false if the profile does not name it. */
  #option(text: string): boolean {
    const kinds = kindsByOption(this.#profile.options);
    const [name = ''] = text.split('=', 1);
    const value = name === text ? null : text.slice(name.length + 1);
    const kind = kinds.get(name);
    // A short flag has no value, and the letter behind it may be that of another option.
    if (kind !== undefined)
      return !(kind === 'flag' && name.length === 2 && value !== null) && this.#value(name, kind, value);
    if (/^-\d+$/.test(text) && kinds.has('-#')) return !!this.#add('flag');
    const other = kinds.get('*');
    if (other !== undefined) return !!this.#add(other, text);
    return text[1] !== '-' && this.#letters(text, kinds);
  }

  /** Flags of one letter each; the last letter may have a value: the rest of the word, or the next word. */
  #letters(text: string, kinds: ReadonlyMap<string, WordKind>): boolean {
    const index = [...text].findIndex((letter, i) => i > 0 && kinds.get(`-${letter}`) !== 'flag');
    if (index < 0) return !!this.#add('flag');
    const option = `-${text[index]}`;
    const kind = kinds.get(option);
    const rest = text.slice(index + 1);
    const isAttached = rest !== '' && !isListed(option, this.#profile.attached);
    if (kind === 'text' && (index > 1 || isAttached)) this.#hasTexts = false;
    return kind !== undefined && this.#value(option, kind, rest === '' ? null : rest);
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
    const fits = (one: string): boolean => (/[=.]$/.test(one) ? value.startsWith(one) : value === one);
    return values?.[option] === undefined || namesIn(values[option]).some(fits);
  }
}

// Reads the words of a command by the profile of its program: which are flags, paths, hosts, numbers and text. A word
// without a place in the profile leaves every sandbox.
import { remembered } from '../remembered.ts';
import { type CommandProfile, namesIn, type WordKind, wordKinds } from './profiles/profile.ts';

/** The part of a word that has a kind: the word, or the value of the option in it. */
export interface ReadWord {
  readonly kind: WordKind;
  readonly value: string;
}

/** The value stands in the same word; null: in the next word. */
type Option = readonly [name: string, kind: WordKind, value: string | null];

/** A word that a program may take for an option. Modes such as `-u+x` are none. Keys of `--sort` are not tested. */
const optionLike = /^--?(?![ugoa]+[+=][rwxst]+$)[A-Za-z]/;

/** Kinds of options by name; the first kind that lists a name has it. */
const kindsByOption = remembered(1_000, (options: CommandProfile['options'] = {}) => {
  const pairs = wordKinds.flatMap((kind) => namesIn(options[kind]).map((name) => [name, kind] as const));
  return new Map<string, WordKind>(pairs.reverse());
});

/**
 * The kinds of words, which end where another command starts; null if a word has no place.
 * @param hasTexts false: a text is judged as a word
 */
export function readWords(
  program: CommandProfile,
  words: readonly string[],
  hasTexts: boolean,
): readonly ReadWord[] | null {
  const flag: ReadWord = { kind: 'flag', value: '' };
  const roles = [flag];
  let [profile, areTexts, isRest] = [program, hasTexts, false];
  let [operands, shift] = [0, 0];
  // A profile may say "flag" where a program takes the next word as a value. Then both read the next words differently.
  let [longFlagAt, isDoubtful] = [-1, false];
  for (let text = words[1]; text !== undefined; text = words[roles.length]) {
    const { operands: kinds = [], subcommands = {}, instead, values = {} } = profile;
    const below = operands === 0 && Object.hasOwn(subcommands, text) ? subcommands[text] : undefined;
    if (!isRest && profile.options && /^-./s.test(text)) {
      const option = optionOf(text, profile);
      if (option === null) return null;
      const [name, kind, value] = option;
      const at = roles.length;
      const isBehindFlag = longFlagAt === at - 1;
      isRest = name === '--';
      isDoubtful ||= isRest && isBehindFlag;
      // A file may hold the pattern. A word behind an option may be its value, and no subcommand.
      areTexts &&= kind !== 'path' && !profile.subcommands;
      if (namesIn(instead).includes(name)) shift = 1;
      if (shift === 1 && operands > 0) return null;
      if (kind === 'flag' || value === null) roles.push(flag);
      if (kind === 'flag' && value === null && isLong(name, profile)) longFlagAt = at;
      const sentValue = kind === 'flag' ? undefined : (value ?? words[roles.length]);
      if (sentValue === undefined) continue;
      if (!isAllowed(sentValue, values[name])) return null;
      const isChecked = value === null && isBehindFlag && name !== '--sort';
      if (isChecked && optionLike.test(sentValue)) return null;
      roles.push({ kind, value: sentValue });
    } else if (below) {
      [profile, isRest] = [below, false];
      roles.push(flag);
    } else {
      const kind = kinds[operands + shift] ?? kinds.at(-1);
      if (kind === undefined) return null;
      if (kind === 'command') break;
      if (isDoubtful && kind !== 'word' && optionLike.test(text)) return null;
      roles.push({ kind, value: text });
      operands++;
      isRest ||= profile.stops === true;
    }
  }
  return areTexts ? roles : roles.map((role) => (role.kind === 'text' ? { ...role, kind: 'word' } : role));
}

/** True for the name of one option of several letters. */
const isLong = (name: string, { options }: CommandProfile): boolean =>
  name.length > 2 && kindsByOption(options).has(name);

/** The option that a word begins with; null if the profile does not name it. */
function optionOf(text: string, { options, attached }: CommandProfile): Option | null {
  const kinds = kindsByOption(options);
  const [name = ''] = text.split('=', 1);
  const value = name === text ? null : text.slice(name.length + 1);
  const kind = name === '--' ? 'flag' : kinds.get(name);
  // A short flag has no value, and the letter behind it may be that of another option.
  if (kind === 'flag' && name.length === 2 && value !== null) return null;
  if (kind !== undefined) return [name, kind, value];
  if (/^-\d+$/.test(text) && kinds.has('-#')) return ['-#', 'flag', value];
  if (text[1] === '-') return null;
  // Flags of one letter each; the last letter may have a value: the rest of the word, or the next word.
  const last = [...text].findIndex((letter, at) => at > 0 && kinds.get(`-${letter}`) !== 'flag');
  if (last < 0) return [text, 'flag', null];
  const option = `-${text[last]}`;
  const lastKind = kinds.get(option);
  // A text behind other letters may be none.
  const isMixed = lastKind === 'text' && (last > 1 || !namesIn(attached).includes(option));
  return lastKind && !isMixed ? [option, lastKind, text.slice(last + 1) || null] : null;
}

/** True if a value is among those that an option allows. */
const isAllowed = (value: string, list?: string): boolean =>
  list === undefined ||
  namesIn(list).some((one) => (/[=.]$/.test(one) ? value.startsWith(one) : value === one));

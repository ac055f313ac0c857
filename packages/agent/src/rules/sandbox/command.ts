// Judges a command: its words by the profile of its program, as paths, and as hosts.
import { type Budget, spend } from '../regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import type { Boundaries } from './boundaries.ts';
import { isFileUrl } from './path.ts';
import {
  addressOfUrl,
  carriers,
  curlPattern,
  hiding,
  lineOption,
  plain,
  shells,
} from './profiles/commands.ts';
import { inlineCode, nameOf, profiles } from './profiles/index.ts';
import { type CommandProfile, type WordKind, withoutProfile } from './profiles/profile.ts';
import { type ReadWord, WordReader } from './reader.ts';
import { readCommand, type ShellWord } from './shell.ts';

/** The part of a sandbox that the commands of one call are judged by. */
export interface CommandRules {
  readonly budget: Budget;
  /** First words that are allowed; null: all. */
  readonly commands: ReadonlySet<string> | null;
  /** Null: paths are not judged. */
  readonly boundaries: Boundaries | null;
  /** True if a host that a text of a kind names is refused; null: hosts are not judged. */
  readonly refusesHosts: ((text: string, kind: WordKind, budget: Budget) => boolean) | null;
  /** Folders that relative words start from: the command must stay within from each. */
  readonly cwds: readonly string[];
  /** Quotes mean nothing that can be relied on. */
  readonly windows: boolean;
  readonly profileOf: (program: string) => CommandProfile | undefined;
}

/** Programs that run the next one among their words: `sudo nice make`. */
const maxDepth = 8;
/** Parts of one word that may be words of their own. */
const maxParts = 100;
/** Names that leave no sandbox: nothing is kept there. */
const harmless: ReadonlySet<string> = new Set(['', '/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);

export function commandLeaves(rules: CommandRules, { line, words }: NamedCommand): boolean {
  spend(rules.budget, 8 + line.length + words.length);
  if (rules.windows && /[;&|`%^\n\r]/.test(line)) return true;
  const read = readCommand(line);
  if (read === null || words.some((word) => word.includes('\0'))) return true;
  const all = [...read, ...words.map((text) => ({ text, isGlob: false }))];
  const isListed = all[0]?.isGlob === false && rules.commands?.has(all[0].text) === true;
  return (rules.commands !== null && !isListed) || wordsLeave(rules, all, isListed, 0);
}

function wordsLeave(
  rules: CommandRules,
  words: readonly ShellWord[],
  isListed: boolean,
  depth: number,
): boolean {
  const texts = words.map(({ text }) => text);
  const [first] = texts;
  if (first === undefined) return false;
  // A value of a variable, or a line for another shell.
  if (depth > maxDepth || first.includes('=') || (depth > 0 && /\s/.test(first))) return true;
  const program = nameOf(first);
  const profile = rules.profileOf(program);
  const hasTexts = depth === 0 && first === program;
  const roles = new WordReader(profile ?? withoutProfile, texts, hasTexts).read();
  return (
    roles === null ||
    hidesCommand(texts, texts.slice(0, roles.length), program, profile) ||
    roles.some((role, i) => !(isListed && i === 0) && wordLeaves(rules, words[i] as ShellWord, role)) ||
    wordsLeave(rules, words.slice(roles.length), false, depth + 1)
  );
}

/**
 * True if a word may hold a command that the profile does not name.
 * @param words the program first, then its own, then those of a command that it runs
 */
function hidesCommand(
  words: readonly string[],
  own: readonly string[],
  program: string,
  profile: CommandProfile | undefined,
): boolean {
  const behind = (programs: RegExp): readonly string[] => {
    const at = own.findIndex((word, i) => (i > 0 || profile === undefined) && programs.test(nameOf(word)));
    return at < 0 ? [] : own.slice(at + 1);
  };
  const patterns = hiding.flatMap(([programs, pattern]) => (programs.test(program) ? [pattern] : []));
  // The built-in profile of an interpreter names no option with code.
  const inline = profile === profiles[program] ? undefined : inlineCode.get(program);
  const isCurl = words.some((word) => /^curl$/i.test(nameOf(word)));
  return (
    words.some((word, i) => patterns.some((pattern) => pattern.test(`${word}\0${words[i + 1] ?? ''}`))) ||
    own.some((word, i) => i > 0 && inline?.test(word)) ||
    behind(carriers).some((word) => !plain.test(word)) ||
    behind(shells).some((word) => lineOption.test(word)) ||
    (isCurl && own.some((word) => curlPattern.test(word)))
  );
}

function wordLeaves(rules: CommandRules, word: ShellWord, role: ReadWord): boolean {
  const { kind, value } = role;
  const { boundaries, budget, cwds, refusesHosts } = rules;
  spend(budget, 1 + (word.text.length >> 2));
  if (kind === 'text' && !word.isGlob) return false;
  if (kind === 'number' && !/^[+-]?\d[\d.,+-]*[A-Za-z%]{0,2}$/.test(value)) return true;
  if (kind === 'words' && /^@|=@|^-[A-Za-z][^=]*\//.test(value)) return true;
  // Curl expands braces and ranges itself: in a scheme or a host they spell another one.
  if (kind === 'host' && /[{[]/.test(isFileUrl(value) ? value : (value.split('/', 1)[0] ?? ''))) return true;
  const namesHost = (text: string, as: WordKind): boolean => refusesHosts?.(text, as, budget) === true;
  if (kind !== 'text' && (namesHost(value, kind) || (value !== word.text && namesHost(word.text, 'word'))))
    return true;
  if (boundaries === null) return false;
  const parts = partsOf(word.text);
  if (parts === null) return true;
  spend(budget, 4 * parts.length);
  const isPath = kind === 'path' || (kind === 'words' && !value.startsWith('-'));
  return cwds.some(
    (cwd) =>
      (word.isGlob && boundaries.globLeaves(word.text, cwd)) ||
      (isPath && !harmless.has(value) && boundaries.leaves(value, cwd)) ||
      parts.some((part) => !harmless.has(part) && boundaries.leaves(part, cwd, true)),
  );
}

/**
 * A word, and the text behind `=`, `@`, `<` and the letters of short options in it: whole, and each item of a list.
 * Null if there is too much of it.
 */
function partsOf(word: string): readonly string[] | null {
  const starts = [...word.matchAll(/[=@<]/g)].map(({ index }) => index + 1);
  for (const { 0: letters, index } of word.matchAll(/(?<![^=\s"'])-[A-Za-z0-9]+/g))
    for (let i = 2; i <= letters.length; i++) starts.push(index + i);
  // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
  const separator = /^(?:[A-Z_]|npm_)\w*=/.test(word) ? /[:,;\s"']/ : /[:,;]/;
  const lists = starts.slice(0, maxParts).map((index) => {
    const rest = word.slice(index);
    const isAddress = word[index - 1] === '@' && word[index - 2] !== '=';
    return [rest, ...(isAddress ? [] : rest.replace(addressOfUrl, '').split(separator, maxParts))];
  });
  return starts.length > maxParts || lists.some(({ length }) => length > maxParts)
    ? null
    : [word, ...lists.flat()];
}

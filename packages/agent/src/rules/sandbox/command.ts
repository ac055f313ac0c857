// Judges a command: its words by the profile of its program, as paths, and as hosts.
import type { EngineOptions } from '../evaluate/options.ts';
import { type Budget, spend } from '../regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import type { Boundaries } from './boundaries.ts';
import {
  addressOfUrl,
  carriers,
  curlPattern,
  harmless,
  hiding,
  partStart,
  plain,
} from './profiles/commands.ts';
import { nameOf, profileOf, profiles } from './profiles/index.ts';
import { inlineCode } from './profiles/interpreters.ts';
import { type CommandProfile, forms, type WordKind, withoutProfile } from './profiles/profile.ts';
import { type ReadWord, readWords } from './reader.ts';
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
  readonly options: EngineOptions;
}

/** Programs that run the next one among their words: `sudo nice make`. */
const maxDepth = 8;
/** Parts of one word that may be words of their own. */
const maxParts = 100;

export function commandLeaves(rules: CommandRules, { line, words }: NamedCommand): boolean {
  spend(rules.budget, 8 + line.length + words.length);
  const read = rules.options.windows && /[;&|`%^\n\r]/.test(line) ? null : readCommand(line);
  if (read === null || words.some((word) => word.includes('\0'))) return true;
  const all = [...read, ...words.map((text) => ({ text, isGlob: false }))];
  return rules.commands?.has(all[0]?.text ?? '') === false || wordsLeave(rules, all, 0);
}

function wordsLeave(rules: CommandRules, words: readonly ShellWord[], depth: number): boolean {
  const [first] = words;
  if (first === undefined) return false;
  const program = nameOf(first.text);
  // Names that a shell finds, values of variables, and lines for another shell.
  if (depth > maxDepth || first.isGlob || /[=\s]/.test(first.text)) return true;
  const texts = words.map(({ text }) => text);
  const profile = profileOf(program, rules.options.commandProfiles);
  const roles = readWords(profile ?? withoutProfile, texts, depth === 0 && program === first.text);
  if (roles === null || hidesCommand(texts, roles.length, profile)) return true;
  // The list of commands names the program itself.
  const judged = depth === 0 && rules.commands !== null ? 1 : 0;
  return (
    roles.some((role, i) => i >= judged && wordLeaves(rules, words[i] as ShellWord, role)) ||
    wordsLeave(rules, words.slice(roles.length), depth + 1)
  );
}

/**
 * True if a word may hold a command that the profile does not name.
 * @param words the program first, then its own up to `end`, then those of a command that it runs
 */
function hidesCommand(words: readonly string[], end: number, profile?: CommandProfile): boolean {
  const names = words.map(nameOf);
  const [program = ''] = names;
  const own = words.slice(1, end);
  const patterns = hiding.flatMap(([programs, pattern]) => (programs.test(program) ? [pattern] : []));
  // The built-in profile of an interpreter names no option with code.
  const inline = profile && profile === profiles[program] ? undefined : inlineCode.get(program);
  const carrier = names.findIndex((name, i) => (i > 0 || !profile) && carriers.test(name));
  const carried = carrier < 0 ? [] : words.slice(carrier + 1, end);
  const isCurl = names.some((name) => /^curl$/i.test(name));
  return (
    words.some((word, i) => patterns.some((pattern) => pattern.test(`${word}\0${words[i + 1] ?? ''}`))) ||
    carried.some((word) => !plain.test(word)) ||
    own.some((word) => inline?.test(word) || (isCurl && curlPattern.test(word)))
  );
}

function wordLeaves(rules: CommandRules, { text, isGlob }: ShellWord, { kind, value }: ReadWord): boolean {
  const { boundaries, budget, cwds, refusesHosts } = rules;
  spend(budget, 1 + (text.length >> 2));
  if (kind === 'text' && !isGlob) return false;
  if (!forms[kind].test(value)) return true;
  const isRefused = (name: string, as: WordKind): boolean => refusesHosts?.(name, as, budget) === true;
  if (isRefused(value, kind) || (value !== text && isRefused(text, 'word'))) return true;
  if (boundaries === null) return false;
  const paths = pathsOf(text, value);
  if (paths === null) return true;
  spend(budget, 4 * paths.length);
  return cwds.some(
    (cwd) =>
      (isGlob && boundaries.globLeaves(text, cwd)) || paths.some((path) => boundaries.leaves(path, cwd)),
  );
}

/** The paths that a word may hold: whole, behind each start of a part, and in lists there. Null: there are too many. */
function pathsOf(word: string, value: string): readonly string[] | null {
  const starts = [...word.matchAll(partStart)].map(({ index }) => index);
  const lists = starts.slice(0, maxParts).map((start) => {
    const part = word.slice(start);
    const isAddress = word[start - 1] === '@' && word[start - 2] !== '=';
    // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
    return [part, ...(isAddress ? [] : part.replace(addressOfUrl, '').split(/[:,;\s"']/, maxParts))];
  });
  if ([starts, ...lists].some(({ length }) => length > maxParts)) return null;
  return [...new Set([word, value, ...lists.flat()])].filter((path) => !harmless.has(path));
}

// Judges a command: its words by the profile of its program, as paths, and as hosts.
import type { EngineOptions } from '../evaluate/options.ts';
import { type Budget, spend } from '../regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import type { Boundaries } from './boundaries.ts';
import { nameOf, plainNameOf, profileOf, profiles } from './profiles/index.ts';
import { addressOfUrl, isCurlPattern, mayBeCurlName, mayBeCurlUrl } from './profiles/network.ts';
import { type CommandProfile, forms, withoutProfile } from './profiles/profile.ts';
import { inlineCode } from './profiles/projects.ts';
import { carriers, hiding } from './profiles/wrappers.ts';
import { type ReadWord, readWords } from './reader.ts';
import { readCommand, type ShellWord } from './shell.ts';
import type { HostTest } from './url.ts';

/** The part of a sandbox that the commands of one call are judged by. */
export interface CommandRules {
  readonly options: EngineOptions;
  readonly budget: Budget;
  /** First words that are allowed; null: all. */
  readonly commands: ReadonlySet<string> | null;
  /** Null: paths are not judged. */
  readonly boundaries: Boundaries | null;
  readonly refusesHosts: HostTest;
  /** Folders that relative words start from: the command must stay within from each. */
  readonly cwds: readonly string[];
}

/** Programs that run the next one among their words: `sudo nice make`. */
const maxDepth = 8;
/** Parts of one word that may be words of their own. */
const maxParts = 100;
/** Names that leave no sandbox: nothing is kept there. */
const harmless: ReadonlySet<string> = new Set(['', '/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);
/** No blanks, no character with a meaning to a shell, and no option that makes a shell run the next word. */
const plain = /^(?![-+](?=[A-Za-z]).*c)[^\s$`;&|<>(){}\\"'*?[\]~!#]*$/;

export function commandLeaves(rules: CommandRules, { line, words }: NamedCommand): boolean {
  spend(rules.budget, 8 + line.length + words.length);
  const read = rules.options.windows && /[;&|`%^\n\r]/.test(line) ? null : readCommand(line);
  if (read === null || words.some((word) => word.includes('\0'))) return true;
  const all = [...read, ...words.map((text) => ({ text, isGlob: false }))];
  return rules.commands?.has(all[0]?.text ?? '') === false || wordsLeave(rules, all, 0);
}

function wordsLeave(rules: CommandRules, words: readonly ShellWord[], depth: number): boolean {
  const texts = words.map(({ text }) => text);
  const [first] = texts;
  if (first === undefined) return false;
  // The program is known by its name alone: no glob, no value of a variable, no line for another shell.
  const isUnknown = words[0]?.isGlob || first.includes('=') || (depth > 0 && /\s/.test(first));
  if (depth > maxDepth || isUnknown) return true;
  const profile = profileOf(nameOf(first), rules.options.commandProfiles);
  const roles = readWords(profile ?? withoutProfile, texts, depth === 0 && first === nameOf(first));
  const isListed = depth === 0 && rules.commands !== null;
  return (
    roles === null ||
    hidesCommand(texts, roles, profile) ||
    roles.some((role, i) => !(isListed && i === 0) && wordLeaves(rules, words[i] as ShellWord, role)) ||
    wordsLeave(rules, words.slice(roles.length), depth + 1)
  );
}

/**
 * True if a word may hold a command that the profile does not name.
 * @param words the program first, then its own, then those of a command that it runs
 * @param roles of the program and of its own words
 */
function hidesCommand(
  words: readonly string[],
  roles: readonly ReadWord[],
  profile?: CommandProfile,
): boolean {
  const [first = ''] = words;
  const program = plainNameOf(first);
  // Words of a program without a profile may be programs, under whatever name.
  const names = words.map(profile ? nameOf : plainNameOf);
  const patterns = hiding.flatMap(([programs, pattern]) => (programs.test(program) ? [pattern] : []));
  const carrier = names.findIndex((name, i) => (i > 0 || !profile) && carriers.test(name));
  // The built-in profile of an interpreter names no option with code.
  const isBuiltIn = profile && profile === profiles[nameOf(first)];
  const code = isBuiltIn ? undefined : inlineCode.get(program);
  const curlIndex = names.findIndex((name) => /^curl$/i.test(name));
  const hides = ({ kind, value }: ReadWord, i: number): boolean => {
    const word = words[i] ?? '';
    if (carrier >= 0 && i > carrier && !plain.test(word)) return true;
    if (i > 0 && code?.test(word)) return true;
    if (curlIndex < 0) return false;
    // With a profile, only curl itself reads names so: others search, or name the file.
    if (
      curlIndex === 0 &&
      kind === 'path' &&
      isCurlPattern(value === word ? (words[i - 1] ?? '') : word, value)
    )
      return true;
    const isUnknown = !profile || kind === 'words';
    return mayBeCurlUrl(word) || (isUnknown && i > curlIndex && mayBeCurlName(value));
  };
  return (
    words.some((word, i) => patterns.some((pattern) => pattern.test(`${word}\0${words[i + 1] ?? ''}`))) ||
    roles.some(hides)
  );
}

function wordLeaves(rules: CommandRules, { text, isGlob }: ShellWord, { kind, value }: ReadWord): boolean {
  const { boundaries, budget, cwds, refusesHosts } = rules;
  spend(budget, 1 + (text.length >> 2));
  if (kind === 'text' && !isGlob) return false;
  if (!forms[kind].test(value)) return true;
  const isInWord = value !== text && refusesHosts(text, 'word', budget);
  if (kind !== 'text' && (isInWord || refusesHosts(value, kind, budget))) return true;
  if (boundaries === null) return false;
  const parts = partsOf(text);
  if (parts === null) return true;
  spend(budget, 4 * parts.length);
  const isPath = kind === 'path' || kind === 'archive' || (kind === 'words' && !value.startsWith('-'));
  return (
    (isGlob && cwds.some((cwd) => boundaries.globLeaves(text, cwd))) ||
    (isPath && !harmless.has(value) && boundaries.leaves(value, cwds)) ||
    parts.some((part) => !harmless.has(part) && boundaries.leaves(part, cwds, true))
  );
}

/** Behind `=`, `@`, `<`, and each letter of short options. */
const partStart = /(?<=[=@<]|(?<![^=\s"'])-[A-Za-z0-9]{1,100})/g;

/** A word, and the text behind each start of a part: whole, and each item of a list. Null if there are too many. */
function partsOf(word: string): readonly string[] | null {
  const starts = [...word.matchAll(partStart)].map(({ index }) => index);
  const lists = starts.slice(0, maxParts).map((start) => {
    const part = word.slice(start);
    const isAddress = word[start - 1] === '@' && word[start - 2] !== '=';
    // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
    return [part, ...(isAddress ? [] : part.replace(addressOfUrl, '').split(/[:,;\s"']/, maxParts))];
  });
  const isMore = starts.length > maxParts || lists.some(({ length }) => length > maxParts);
  return isMore ? null : [word, ...lists.flat()];
}

// Judges a command: its words by the profile of its program, as paths, and as hosts.
import { type Budget, spend } from '../regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import { type Boundaries, isHarmless } from './boundaries.ts';
import { hidesCommand, isPlain } from './hidden.ts';
import { nameOf } from './profiles/index.ts';
import { type CommandProfile, withoutProfile } from './profiles/profile.ts';
import { type ReadWord, readWords } from './reader.ts';
import { literalWord, readCommand, type ShellWord } from './shell.ts';
import { hostOfRemote, hostsInText, hostsOfUrl, isFileUrl, workOfHost } from './url.ts';

/** The part of a sandbox that the commands of one call are judged by. */
export interface CommandRules {
  /** First words that are allowed; null: all. */
  readonly commands: ReadonlySet<string> | null;
  /** Null: paths are not judged. */
  readonly boundaries: Boundaries | null;
  /** True if a host is refused; null: hosts are not judged. */
  readonly refusesHost: ((host: string) => boolean) | null;
  /** Folders that relative words start from: the command must stay within from each. */
  readonly cwds: readonly string[];
  /** Quotes mean nothing that can be relied on. */
  readonly windows: boolean;
  readonly profileOf: (program: string) => CommandProfile | undefined;
}

export function commandLeaves(rules: CommandRules, { line, words }: NamedCommand, budget: Budget): boolean {
  spend(budget, 8 + line.length + words.length);
  if (rules.windows && /[;&|`%^\n\r]/.test(line)) return true;
  const read = readCommand(line);
  if (read === null || words.some((word) => word.includes('\0'))) return true;
  const all = [...read, ...words.map(literalWord)];
  const [first] = all;
  const isListed = first !== undefined && first.glob === null && rules.commands?.has(first.text) === true;
  if (rules.commands && !isListed) return true;
  return new CommandJudge(rules, budget).leaves(all, isListed, 0);
}

/** Programs that run the next one among their words: `sudo nice make`. */
const maxDepth = 8;

class CommandJudge {
  readonly #rules: CommandRules;
  readonly #budget: Budget;

  constructor(rules: CommandRules, budget: Budget) {
    this.#rules = rules;
    this.#budget = budget;
  }

  leaves(words: readonly ShellWord[], isListed: boolean, depth: number): boolean {
    const [first] = words;
    if (first === undefined) return false;
    // A value of a variable, or a line for another shell.
    if (depth > maxDepth || first.text.includes('=') || (depth > 0 && /\s/.test(first.text))) return true;
    const name = nameOf(first.text);
    const profile = this.#rules.profileOf(name);
    const roles = readWords(profile ?? withoutProfile, words, depth === 0 && first.text === name);
    if (roles === null) return true;
    const texts = words.map(({ text }) => text);
    const rest = words.slice(roles.length);
    return (
      hidesCommand(texts, roles, name, profile) ||
      roles.some((role, i) => !(isListed && i === 0) && this.#wordLeaves(words[i] as ShellWord, role)) ||
      // Watch gives the words to a shell.
      (name === 'watch' && !texts.slice(roles.length).every(isPlain)) ||
      this.leaves(rest, false, depth + 1)
    );
  }

  #wordLeaves(word: ShellWord, role: ReadWord): boolean {
    spend(this.#budget, 1 + (word.text.length >> 2));
    const { kind, value } = role;
    if (kind === 'text' && word.glob === null) return false;
    if (kind === 'number' && !/^[+-]?\d[\d.,+-]*[A-Za-z%]{0,2}$/.test(value)) return true;
    if (kind === 'words' && /^@|=@|^-[A-Za-z][^=]*\//.test(value)) return true;
    // Curl expands braces and ranges itself: in a scheme or a host they spell another one.
    if (kind === 'host' && /[{[]/.test(isFileUrl(value) ? value : (value.split('/', 1)[0] ?? '')))
      return true;
    return this.#pathLeaves(word, role) || (kind !== 'text' && this.#hostLeaves(word.text, role));
  }

  #pathLeaves({ text, glob }: ShellWord, { kind, value }: ReadWord): boolean {
    const { boundaries, cwds } = this.#rules;
    if (boundaries === null) return false;
    const isPath = (kind === 'path' || (kind === 'words' && !value.startsWith('-'))) && !isHarmless(value);
    const parts = partsOf(text);
    if (parts === null) return true;
    spend(this.#budget, 4 * parts.length);
    return cwds.some(
      (cwd) =>
        (glob !== null && boundaries.globLeaves(glob, cwd)) ||
        (isPath && boundaries.leaves(value, cwd)) ||
        boundaries.wordLeaves(text, cwd, false) ||
        parts.some((part) => boundaries.wordLeaves(part, cwd, true)),
    );
  }

  #hostLeaves(text: string, { kind, value }: ReadWord): boolean {
    const { refusesHost } = this.#rules;
    if (refusesHost === null) return false;
    if (text.includes(':')) spend(this.#budget, workOfHost + text.length);
    const hosts = new Set(hostsInText(text));
    if (kind === 'host') for (const host of hostsOfUrl(value)) hosts.add(host);
    const [start = '', ...rest] = value.split(':', 2);
    // A `ref` has a host where a dot or an `@` stands before its colon, and no branch behind it.
    const hasHost = rest.length > 0 && /[.@]/.test(start) && !rest[0]?.startsWith('refs/');
    const isRemote = kind === 'remote' || (kind === 'ref' && hasHost);
    const host = isRemote && !value.includes('://') ? hostOfRemote(value) : null;
    if (host !== null) hosts.add(host);
    spend(this.#budget, hosts.size * workOfHost);
    return [...hosts].some((one) => refusesHost(one));
  }
}

/** Parts of one word that may be words of their own. */
const maxParts = 100;

/** Up to the port, or the path, of a URL with one of the schemes that programs are commonly given. */
const addressOfUrl =
  /^(?:https?|wss?|s?ftp|ssh|git(?:\+ssh)?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats|tcp|grpc|s3|gs):\/\/[^\s:]*/i;

/** The text behind `=`, `@` and the letters of short options in a word; null if there is too much of it. */
function partsOf(word: string): readonly string[] | null {
  const letters = /^-[A-Za-z0-9]+/.exec(word)?.[0].length ?? 0;
  if (letters > maxParts || word.split(/[=@]/, maxParts + 2).length > maxParts + 1) return null;
  const marks = [...word.matchAll(/[=@](?=.)/gs)];
  const parts = marks.flatMap(({ 0: mark, index }) => {
    const part = word.slice(index + 1);
    // `a=<file` and `a=~/x:~/y` are read as files too, and so is each of `a=@x,y`. An address in a URL is no list.
    const file = part[0] === '<' ? [part.slice(1)] : [];
    if (mark === '=') return [part, ...file, ...part.replace(addressOfUrl, '').split(':', maxParts).slice(1)];
    return [part, ...file, ...(word[index - 1] === '=' ? part.split(/[,;]/, maxParts) : [])];
  });
  for (let i = 2; i <= letters && i < word.length; i++) parts.push(word.slice(i));
  // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
  if (!/^(?:[A-Z_]|npm_)\w*=/.test(word)) return parts;
  for (const piece of word.slice(word.indexOf('=') + 1).split(/[\s"']+/, maxParts)) {
    const below = partsOf(piece);
    if (below === null) return null;
    parts.push(piece, ...below);
  }
  return parts;
}

// Judges a command: its words by the profile of its program, as paths, and as hosts.
import { type Budget, spend } from '../regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import { type Boundaries, isHarmless } from './boundaries.ts';
import { arePlain, hidesCommand } from './hidden.ts';
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
  /** Whether a host is refused; null: hosts are not judged. */
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
    const own = words.slice(0, roles.length);
    const texts = words.map(({ text }) => text);
    if (hidesCommand(texts, roles, name, profile)) return true;
    const isAllowed = (i: number): boolean => i === 0 && isListed;
    if (own.some((word, i) => !isAllowed(i) && this.#wordLeaves(word, roles[i] as ReadWord))) return true;
    const rest = words.slice(roles.length);
    // Watch gives the words to a shell.
    if (name === 'watch' && !arePlain(rest.map(({ text }) => text))) return true;
    return this.leaves(rest, false, depth + 1);
  }

  #wordLeaves(word: ShellWord, { kind, value }: ReadWord): boolean {
    spend(this.#budget, 1 + (word.text.length >> 2));
    if (kind === 'text' && word.glob === null) return false;
    if (kind === 'number' && !/^[+-]?\d[\d.,+-]*[A-Za-z%]{0,2}$/.test(value)) return true;
    if (kind === 'words' && /^@|=@|^-[A-Za-z][^=]*\//.test(value)) return true;
    return (
      this.#pathLeaves(word, kind, value) || (kind !== 'text' && this.#hostLeaves(word.text, kind, value))
    );
  }

  #pathLeaves(word: ShellWord, kind: ReadWord['kind'], value: string): boolean {
    const { boundaries, cwds } = this.#rules;
    // Curl expands braces and ranges itself: in a scheme or a host they spell another one.
    if (kind === 'host' && (/^[^/]*[{[]/.test(value) || (isFileUrl(value) && /[{[]/.test(value))))
      return true;
    if (boundaries === null) return false;
    const isPath = kind === 'path' || (kind === 'words' && !value.startsWith('-'));
    return cwds.some((cwd) => {
      if (word.glob !== null && boundaries.globLeaves(word.glob, cwd)) return true;
      if (isPath && !isHarmless(value) && boundaries.leaves(value, cwd)) return true;
      if (boundaries.wordLeaves(word.text, cwd, false)) return true;
      for (const part of partsOf(word.text)) {
        if (part === null) return true;
        spend(this.#budget, 4);
        if (boundaries.wordLeaves(part, cwd, true)) return true;
      }
      return false;
    });
  }

  #hostLeaves(text: string, kind: ReadWord['kind'], value: string): boolean {
    const { refusesHost } = this.#rules;
    if (refusesHost === null) return false;
    const hosts = new Set<string>();
    if (text.includes(':')) {
      spend(this.#budget, workOfHost + text.length);
      for (const host of hostsInText(text)) hosts.add(host);
    }
    const colon = value.indexOf(':');
    const isRemote =
      kind === 'remote' ||
      (kind === 'ref' &&
        /[.@]/.test(value.slice(0, Math.max(colon, 0))) &&
        !value.startsWith('refs/', colon + 1));
    if (kind === 'host') for (const host of hostsOfUrl(value)) hosts.add(host);
    else if (isRemote && !value.includes('://')) {
      const host = hostOfRemote(value);
      if (host !== null) hosts.add(host);
    }
    spend(this.#budget, hosts.size * workOfHost);
    return [...hosts].some((host) => refusesHost(host));
  }
}

/** Parts of one word that may be words of their own. */
const maxParts = 100;

/** Up to the port, or the path, of a URL with one of the schemes that programs are commonly given. */
const addressOfUrl =
  /^(?:https?|wss?|s?ftp|ssh|git(?:\+ssh)?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats|tcp|grpc|s3|gs):\/\/[^\s:]*/i;

/** The text behind `=`, `@` and the letters of short options in a word; null if there is too much of it. */
function* partsOf(word: string): Iterable<string | null> {
  let count = 0;
  for (let i = 0; i < word.length - 1; i++) {
    if (word[i] !== '=' && word[i] !== '@') continue;
    if (++count > maxParts) {
      yield null;
      return;
    }
    const part = word.slice(i + 1);
    yield part;
    // `a=<file` and `a=~/x:~/y` are read as files too, and so is each of `a=@x,y`.
    if (part[0] === '<') yield part.slice(1);
    if (word[i] === '@' && word[i - 1] === '=') yield* part.split(/[,;]/).slice(0, maxParts);
    // The address in a URL is no list of paths.
    if (word[i] === '=') yield* part.replace(addressOfUrl, '').split(':').slice(1, maxParts);
  }
  // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
  if (/^(?:[A-Z_]|npm_)\w*=/.test(word)) {
    for (const piece of word.slice(word.indexOf('=') + 1).split(/[\s"']+/, maxParts)) {
      yield piece;
      yield* partsOf(piece);
    }
  }
  const letters = /^-[A-Za-z0-9]+/.exec(word)?.[0].length ?? 0;
  for (let i = 2; i <= Math.min(letters, maxParts) && i < word.length; i++) yield word.slice(i);
  if (letters > maxParts) yield null;
}

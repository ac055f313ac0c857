// Judges a command: its words as paths, its redirections, its first word, and the hosts it names.
import { type Budget, spend } from '../../../../src/rules/regex/regex.ts';
import type { NamedCommand } from './arguments.ts';
import { type Boundaries, isHarmless } from './boundaries.ts';
import { expandBraces } from './brace.ts';
import { linesOfBuiltin } from './builtins.ts';
import { commandsWithin } from './inner.ts';
import { hostsOfProgram, nameOf } from './network.ts';
import { hasWildcard, literalWord, readCommand, type ShellCommand, type ShellWord } from './shell.ts';
import { textWords } from './texts.ts';
import { hostsInText, workOfHost } from './url.ts';

/** The part of one sandbox for the commands of one call. */
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
}

/** Commands within commands: `sh -c "sh -c …"`. */
const maxDepth = 8;
const shells = /^(?:(?:r?ba|z|d?a|m?k|ya|fi|t?c)?sh)$/;

export const commandLeaves = (rules: CommandRules, command: NamedCommand, budget: Budget): boolean =>
  new CommandJudge(rules, budget).leaves(command, 0);

class CommandJudge {
  readonly #rules: CommandRules;
  readonly #budget: Budget;

  constructor(rules: CommandRules, budget: Budget) {
    this.#rules = rules;
    this.#budget = budget;
  }

  leaves({ line, words }: NamedCommand, depth: number): boolean {
    if (depth > maxDepth) return true;
    // Every character is read once, and a word up to 100 times over when braces expand it.
    spend(this.#budget, 8 + line.length + words.length);
    if (this.#rules.windows && /[;&|`%^\n\r]/.test(line)) return true;
    const read = readCommand(line);
    if (read === null || words.some((word) => word.includes('\0'))) return true;
    const all = this.#expand(read, words);
    return all === null || this.#redirects(read) || this.#judge(all, read, depth);
  }

  /** The words a program gets, each with all the readings shells may give it; null: too many. */
  #expand(read: ShellCommand, literal: readonly string[]): readonly ShellWord[] | null {
    const all: ShellWord[] = [];
    for (const word of read.words) {
      const expanded = expandBraces(word);
      if (expanded === null) return null;
      for (const one of expanded) {
        spend(this.#budget, 1 + (one.text.length >> 2));
        all.push(one);
      }
    }
    for (const word of literal) {
      spend(this.#budget, 1 + (word.length >> 2));
      all.push(literalWord(word));
    }
    return all;
  }

  #redirects({ redirections }: ShellCommand): boolean {
    const { boundaries, refusesHost, cwds } = this.#rules;
    for (const { operator, target } of redirections) {
      if (operator.endsWith('&') && /^(?:\d+-?|-)$/.test(target.text)) continue;
      if (isHarmless(target.text)) continue;
      if (/[*?[{]/.test(target.live)) return true;
      // Bash opens a connection for this name.
      const socket = /^\/dev\/(?:tcp|udp)\/([^/]*)/.exec(target.text);
      if (socket && refusesHost?.(socket[1]?.toLowerCase() ?? '')) return true;
      if (boundaries === null) {
        if (operator !== '<' || socket) return true;
      } else if (cwds.some((cwd) => boundaries.leaves(target.text, cwd))) return true;
    }
    return false;
  }

  #judge(words: readonly ShellWord[], read: ShellCommand, depth: number): boolean {
    const { commands } = this.#rules;
    const [first] = words;
    const listed = first !== undefined && commands?.has(first.text) === true && !hasWildcard(first);
    if (commands && !listed) return true;
    const texts = textWords(words.map(({ text }) => text));
    const named = words.filter((word, i) => !texts.has(i) || hasWildcard(word));
    const judged = [...(listed ? named.slice(1) : named), ...read.remarks];
    // Not every shell knows braces: to others they are part of the name.
    judged.push(...read.words.filter((word) => word.live.includes('{')));
    if (judged.some((word) => this.#pathLeaves(word))) return true;
    if (this.#rules.boundaries !== null && namesFilesByPattern(words)) return true;
    // To a shell without braces, a shell among the words gets them unexpanded.
    const inner =
      this.#inner(words, depth) || (words.length !== read.words.length && this.#inner(read.words, depth));
    return inner || this.#hostLeaves(named, read);
  }

  #pathLeaves(word: ShellWord): boolean {
    const { boundaries, cwds } = this.#rules;
    if (boundaries === null) return false;
    return cwds.some((cwd) => {
      if (hasWildcard(word) && boundaries.globLeaves(word, cwd)) return true;
      if (boundaries.wordLeaves(word.text, cwd, word.live.startsWith('~'))) return true;
      for (const part of partsOf(word.text)) {
        if (part === null) return true;
        spend(this.#budget, 4);
        if (boundaries.wordLeaves(part, cwd, true)) return true;
      }
      return false;
    });
  }

  #hostLeaves(words: readonly ShellWord[], read: ShellCommand): boolean {
    const { refusesHost } = this.#rules;
    if (refusesHost === null) return false;
    const texts = words.map(({ text }) => text);
    for (const text of [...texts, ...read.remarks.map((word) => word.text)]) {
      if (!text.includes(':')) continue;
      spend(this.#budget, workOfHost + text.length);
      for (const host of hostsInText(text)) if (refusesHost(host)) return true;
    }
    const hosts = hostsOfProgram(texts);
    spend(this.#budget, hosts.size * workOfHost);
    for (const host of hosts) if (refusesHost(host)) return true;
    return false;
  }

  /** Commands that a shell is given among the words: what follows its `-c`, and what builtins such as `eval` get. */
  #inner(words: readonly ShellWord[], depth: number): boolean {
    const leaves = (line: string): boolean => this.leaves({ line, words: [] }, depth + 1);
    for (const [i, word] of words.entries()) {
      if (!shells.test(nameOf(word.text))) continue;
      const given = commandStrings(words, i + 1);
      if (given.some((inner) => hasWildcard(inner) || leaves(inner.text))) return true;
    }
    const texts = words.map(({ text }) => text);
    // Which programs may run such a command is not asked: who allows tar or git allows what they start.
    const others = new CommandJudge({ ...this.#rules, commands: null }, this.#budget);
    if (commandsWithin(texts).some((line) => others.leaves({ line, words: [] }, depth + 1))) return true;
    const lines = linesOfBuiltin(texts);
    return lines === null || lines.some((line) => line !== '' && leaves(line));
  }
}

/** Curl expands braces and ranges itself, also in quotes: they may spell a scheme, or a folder below `file:`. */
const curlPattern = /^(?!\[[\da-f:.]+\])(?=[^\s"']*:)(?:file:[^\s"']*|[^\s"'/]*)[{[][^\s"']*$/i;
const namesFilesByPattern = (words: readonly ShellWord[]): boolean =>
  words.some(({ text }) => nameOf(text) === 'curl') &&
  words.some(({ text }) => text.includes('/') && curlPattern.test(text));

/**
 * The word that a shell runs as a command, with the words before it that some shells may take for it; none when no
 * option is `-c`. Each `o` in a cluster takes a word of its own, wherever it stands: `bash -oc pipefail 'ls'`.
 */
function commandStrings(words: readonly ShellWord[], from: number): readonly ShellWord[] {
  let found = false;
  const named: ShellWord[] = [];
  for (let i = from; i < words.length; i++) {
    const word = words[i] as ShellWord;
    if (word.text === '--' || word.text === '-') return found ? [...named, ...words.slice(i + 1, i + 2)] : [];
    if (word.text === '--rcfile' || word.text === '--init-file') i++;
    else if (/^[-+][A-Za-z]/.test(word.text)) {
      found ||= word.text.includes('c');
      const values = word.text.match(/[oO]/g)?.length ?? 0;
      // The name of an option, such as `pipefail`, is no command in any shell.
      named.push(...words.slice(i + 1, i + 1 + values).filter(({ text }) => !/^[a-z_]+$/.test(text)));
      i += values;
    } else if (!word.text.startsWith('--')) return found ? [...named, word] : [];
  }
  return found ? named : [];
}

/** Parts of one word that may be words of their own. */
const maxParts = 100;

/** Up to the port, or the path, of a URL with one of the schemes that programs are commonly given. */
const addressOfUrl =
  /^(?:https?|wss?|s?ftp|ssh|git(?:\+ssh)?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats|tcp|grpc|s3|gs):\/\/[^\s:]*/i;

/** The texts behind `=`, `@` and the letters of short options in a word; null when there are too many of them. */
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
    // Of a URL's address nothing is a list: what follows its scheme is no path from the root.
    if (word[i] === '=') yield* part.replace(addressOfUrl, '').split(':').slice(1, maxParts);
  }
  // Variables hold options and lists, which programs split at blanks: `NODE_OPTIONS='--require /x'`.
  if (/^(?:[A-Z_]|npm_)\w*=/.test(word)) {
    for (const piece of word.slice(word.indexOf('=') + 1).split(/[\s"']+/, maxParts)) {
      yield piece;
      yield* partsOf(piece);
    }
  }
  if (!/^-[A-Za-z0-9]./.test(word)) return;
  const letters = /^-[A-Za-z0-9]+/.exec(word)?.[0].length ?? 0;
  for (let i = 2; i <= Math.min(letters, maxParts); i++) yield word.slice(i);
  if (letters > maxParts) yield null;
}

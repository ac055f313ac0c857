// The test whether a path, a word or a glob stays within a sandbox's folders, by text or by the agent's own files.
import { compileGlob } from '../../../../src/rules/evaluate/glob.ts';
import { foldCase } from '../../../../src/rules/fold.ts';
import { climbs, type Files, lexicalPath, liesWithin, readingsOf } from './path.ts';
import { hasWildcard, type ShellWord } from './shell.ts';
import { filePathOf, isFileUrl } from './url.ts';

/** Links and folders that are looked up to follow one glob. */
export const maxMatches = 1_000;
/** Names that are read to find them. */
export const maxListed = 10_000;

/** Words of one call that are looked up among the files. */
export const maxLookups = 10_000;

/** Files that the shell and its programs may always name: nothing is kept or told there. */
const harmless = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);
export const isHarmless = (path: string): boolean => harmless.has(path);

/** The folders of one sandbox as they lie at the time of one call. */
export class Boundaries {
  readonly #within: readonly string[];
  readonly #notWithin: readonly string[];
  readonly #files: Files | null;
  /** Canonical forms of the folders that words are taken from. */
  readonly #starts = new Map<string, string>();
  #lookups = 0;

  constructor(within: readonly string[], notWithin: readonly string[], files: Files | null) {
    this.#files = files;
    const bases = files?.roots ?? [files?.cwd ?? '/'];
    const fromEach = (paths: readonly string[]): readonly string[] =>
      bases.flatMap((base) => paths.map((path) => this.canonical(path, base)));
    this.#within = fromEach(within);
    this.#notWithin = fromEach(notWithin).map((path) => this.#name(path));
  }

  canonical(path: string, cwd: string): string {
    return this.#files?.canonical(path, cwd) ?? lexicalPath(path, cwd);
  }

  /** True if a path leaves in one of its readings: as written, decoded, without blanks around it, as a `file:` URL. */
  leaves(text: string, cwd: string): boolean {
    for (const reading of readingsOf(text)) {
      if (reading.includes('\0')) return true;
      const bare = reading.trim();
      if (this.#outside(reading, cwd) || (bare !== reading && this.#outside(bare, cwd))) return true;
      // On some systems a backslash parts folders too.
      if (bare.includes('\\') && this.#outside(bare.replaceAll('\\', '/'), cwd)) return true;
      if (isFileUrl(bare) && this.leaves(filePathOf(bare), cwd)) return true;
    }
    return false;
  }

  /**
   * True if a word of a command leaves. A word that says where it starts, or that climbs, is a path; another one only
   * when it is a name of something, leads through a link, or lies by its text in a folder that is excluded.
   */
  wordLeaves(word: string, cwd: string, tilde: boolean): boolean {
    if (isHarmless(word)) return false;
    if (isFileUrl(word)) return this.leaves(filePathOf(word), cwd);
    for (const reading of readingsOf(word)) {
      if (reading.startsWith('/') || (tilde && reading.startsWith('~')) || climbs(reading)) {
        if (this.#outside(reading, cwd)) return true;
      } else if (this.#nameLeaves(reading, cwd)) return true;
    }
    return false;
  }

  /** True if a path is in none of the folders, or in an excluded one. */
  #outside(path: string, cwd: string): boolean {
    if (this.#isOut(this.canonical(path, cwd)) || (climbs(path) && /^(?:\$|~[^/])/.test(path))) return true;
    if (this.#files === null || !climbs(path) || /^[~$]/.test(path)) return false;
    // Many programs resolve `..` by text before they follow links.
    return this.#isOut(this.canonical(lexicalPath(path, this.#start(cwd)), cwd));
  }

  #isOut(canonical: string): boolean {
    return !this.#within.some((folder) => liesWithin(canonical, folder)) || this.#isExcluded(canonical);
  }

  #isExcluded(canonical: string): boolean {
    const name = this.#name(canonical);
    return this.#notWithin.some((folder) => liesWithin(name, folder));
  }

  /** One text for all names of one file. */
  #name(canonical: string): string {
    return this.#files?.ignoresCase ? foldCase(canonical.normalize('NFC')) : canonical;
  }

  #nameLeaves(word: string, cwd: string): boolean {
    if (word === '' || word.length > 4_096) return false;
    const start = this.#start(cwd);
    // Not from `start`: a word that begins with `~` or `$` is only a name here.
    const byText = lexicalPath(`${start}/${word}`);
    const files = this.#files;
    if (!files) return word.includes('/') && this.#isExcluded(byText);
    if (++this.#lookups > maxLookups) return true;
    const canonical = files.canonical(`${start}/${word}`, start);
    if (canonical !== byText) return this.#isOut(canonical);
    if (!this.#isOut(canonical)) return false;
    return (word.includes('/') && this.#isExcluded(canonical)) || files.exists(canonical);
  }

  #start(cwd: string): string {
    let start = this.#starts.get(cwd);
    if (start === undefined) {
      start = this.canonical(cwd, '/');
      this.#starts.set(cwd, start);
    }
    return start;
  }

  /** True if a match of a glob may leave. The word holds a live wildcard. */
  globLeaves(word: ShellWord, cwd: string): boolean {
    const steps = stepsOf(word);
    if (steps.some(({ text, wild }) => text === '..' || (wild && text.startsWith('.')))) return true;
    const first = steps.findIndex(({ wild }) => wild);
    if (first < 0) return false;
    const fixed = steps.slice(0, first).map(({ text }) => text);
    const tilde = word.live.startsWith('~');
    if (tilde && first === 0) return true;
    const start = this.#start(cwd);
    const rooted = tilde || word.text.startsWith('/');
    const folder = this.canonical(`${tilde ? '' : rooted ? '/' : `${start}/`}${fixed.join('/')}`, start);
    const linked = !rooted && folder !== lexicalPath(`${start}/${fixed.join('/')}`);
    if (this.#isExcluded(folder) || ((rooted || linked) && this.#isOut(folder))) return true;
    const rest = steps.slice(first);
    if (this.#mayReachExcluded(folder, rest)) return true;
    return this.#files !== null && this.#matchesLeave(this.#files, folder, rest);
  }

  /** True if, by text, the glob could name an excluded folder or something in it. */
  #mayReachExcluded(folder: string, steps: readonly GlobStep[]): boolean {
    const from = this.#name(folder);
    return this.#notWithin.some((excluded) => {
      if (!liesWithin(excluded, from)) return false;
      const names = excluded.slice(from === '/' ? 1 : from.length + 1).split('/');
      return names.length <= steps.length && names.every((name, i) => steps[i]?.matches(name));
    });
  }

  /** Follows a glob through the files. More names than can be looked at leave. */
  #matchesLeave(files: Files, start: string, steps: readonly GlobStep[]): boolean {
    let folders = [start];
    let listed = 0;
    let looked = 0;
    for (const [i, step] of steps.entries()) {
      const last = i === steps.length - 1;
      const found: string[] = [];
      for (const folder of folders) {
        const names = step.wild
          ? files.list(folder, maxListed - listed)
          : [{ name: step.text, isLink: true }];
        if (names === null) return true;
        listed += names.length;
        for (const { name, isLink } of names) {
          if (!step.matches(name)) continue;
          const path = lexicalPath(`${folder}/${name}`);
          if ((isLink || !last) && ++looked > maxMatches) return true;
          if (!step.wild && !files.exists(path)) continue;
          const canonical = isLink ? files.canonical(path, folder) : path;
          if (last && this.#isOut(canonical)) return true;
          found.push(canonical);
        }
      }
      folders = found;
    }
    return false;
  }
}

interface GlobStep {
  readonly text: string;
  readonly wild: boolean;
  matches(name: string): boolean;
}

/**
 * The components of a glob. A set `[…]` is taken for anything up to the end of its component: too much, never too
 * little.
 */
function stepsOf({ text, live }: ShellWord): GlobStep[] {
  const steps: GlobStep[] = [];
  let from = 0;
  for (const part of text.split('/')) {
    const meaning = live.slice(from, from + part.length);
    from += part.length + 1;
    if (part === '' || part === '.') continue;
    const wild = hasWildcard({ live: meaning });
    if (wild) {
      const fits = compileGlob(patternOf(part, meaning));
      // A wildcard at the start does not match a dot there.
      steps.push({ text: part, wild, matches: (name) => name[0] !== '.' && fits(name) });
    } else steps.push({ text: part, wild, matches: (name) => name === part });
  }
  return steps;
}

function patternOf(part: string, meaning: string): string {
  let pattern = '';
  for (let i = 0; i < part.length; i++) {
    if (meaning[i] === '[') return `${pattern}*`;
    const char = part[i] as string;
    pattern += /[*?]/.test(meaning[i] as string) ? char : /[*?[]/.test(char) ? `[${char}]` : char;
  }
  return pattern;
}

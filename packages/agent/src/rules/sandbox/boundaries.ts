// The test whether a path, a word or a glob stays within a sandbox's folders, by text or by the agent's own files.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { remembered } from '../remembered.ts';
import { climbs, type FileName, type Files, lexicalPath, liesWithin, readingsOf } from './path.ts';
import { wildcards } from './shell.ts';
import { filePathOf, isFileUrl } from './url.ts';

/** Links and folders that are looked up to follow one glob. */
export const maxMatches = 1_000;
/** Names that are read to find them. */
export const maxListed = 10_000;

/** Words of one call that are looked up among the files. */
export const maxLookups = 10_000;

/** Names that leave no sandbox: nothing is kept there. */
const harmless = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);
export const isHarmless = (path: string): boolean => harmless.has(path);

/** The folders of one sandbox as they lie at the time of one call. */
export class Boundaries {
  readonly #within: readonly string[];
  readonly #notWithin: readonly string[];
  readonly #files: Files | null;
  /** The canonical form of a folder that words are taken from. */
  readonly #start = remembered(maxLookups, (cwd: string) => this.canonical(cwd, '/'));
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
    return [...readingsOf(text)].some((reading) => {
      const bare = reading.trim();
      // On some systems a backslash parts folders too.
      const paths = new Set([reading, bare, bare.replaceAll('\\', '/')]);
      return (
        reading.includes('\0') ||
        [...paths].some((path) => this.#pathLeaves(path, cwd)) ||
        (isFileUrl(bare) && this.leaves(filePathOf(bare), cwd))
      );
    });
  }

  /**
   * True if a word of a command leaves. A word that says where it starts, or that climbs, is a path; another one only
   * when it is a name of something, leads through a link, or lies by its text in a folder that is excluded.
   */
  wordLeaves(word: string, cwd: string, tilde: boolean): boolean {
    if (isHarmless(word)) return false;
    if (isFileUrl(word)) return this.leaves(filePathOf(word), cwd);
    return [...readingsOf(word)].some((reading) => {
      const isPath = reading[0] === '/' || (tilde && reading[0] === '~') || climbs(reading);
      return isPath ? this.#pathLeaves(reading, cwd) : this.#nameLeaves(reading, cwd);
    });
  }

  /** True if a path is in none of the folders, or in an excluded one. */
  #pathLeaves(path: string, cwd: string): boolean {
    if (this.#isOut(this.canonical(path, cwd))) return true;
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
    if (!this.#isOut(canonical)) return false;
    return (
      canonical !== byText || (word.includes('/') && this.#isExcluded(canonical)) || files.exists(canonical)
    );
  }

  /**
   * True if a match of a glob may leave: by its literal start, by a part that begins with a dot, or by a name that it
   * matches. These are the names of excluded folders, and of files.
   */
  globLeaves(glob: string, cwd: string): boolean {
    const parts = glob.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.some((part) => part.startsWith('.'))) return true;
    const steps = parts.map(stepOf);
    const first = steps.findIndex(({ isWild }) => isWild);
    if (first < 0) return false;
    const fixed = parts.slice(0, first).join('/');
    const start = this.#start(cwd);
    const rooted = glob.startsWith('/');
    const folder = this.canonical(`${rooted ? '' : start}/${fixed}`, start);
    const linked = !rooted && folder !== lexicalPath(`${start}/${fixed}`);
    return (
      this.#isExcluded(folder) ||
      ((rooted || linked) && this.#isOut(folder)) ||
      this.#matchesLeave(folder, steps.slice(first))
    );
  }

  /** Follows a glob through folders. More names than can be looked at leave. */
  #matchesLeave(start: string, steps: readonly GlobStep[]): boolean {
    let folders = [start];
    const counts = { listed: 0, lookups: 0 };
    for (const [i, step] of steps.entries()) {
      const isLast = i === steps.length - 1;
      const paths = new Set<string>();
      for (const folder of folders) {
        const names = this.#namesIn(folder, step, maxListed - counts.listed);
        if (names === null) return true;
        counts.listed += names.length;
        for (const { name, isLink } of names.filter(({ name }) => step.matches(name))) {
          if ((isLink || !isLast) && ++counts.lookups > maxMatches) return true;
          const path = lexicalPath(`${folder}/${name}`);
          const canonical = isLink ? this.canonical(path, folder) : path;
          if (this.#isExcluded(canonical) || (isLast && this.#isOut(canonical))) return true;
          paths.add(canonical);
        }
      }
      folders = [...paths];
    }
    return false;
  }

  /** Names in a folder that a step may match: those of files, and of the ways to excluded folders. */
  #namesIn(folder: string, { text, isWild }: GlobStep, max: number): readonly FileName[] | null {
    const from = folder === '/' ? '/' : `${this.#name(folder)}/`;
    const ways = this.#notWithin.filter((excluded) => excluded.startsWith(from));
    const excluded = ways.map((way) => ({ name: way.slice(from.length).split('/')[0] ?? '', isLink: false }));
    const files = this.#files;
    if (!files) return excluded;
    const isThere = isWild || files.exists(lexicalPath(`${folder}/${text}`));
    const names = isWild ? files.list(folder, max) : isThere ? [{ name: text, isLink: true }] : [];
    return names && [...excluded, ...names];
  }
}

interface GlobStep {
  readonly text: string;
  readonly isWild: boolean;
  matches(name: string): boolean;
}

/** One part of a glob. A set `[…]` is taken for anything up to the end of its part: too much, never too little. */
function stepOf(part: string): GlobStep {
  const star = wildcards['*'];
  const marked = part.replace(new RegExp(`${wildcards['[']}.*`, 's'), star);
  if (!marked.includes(star) && !marked.includes(wildcards['?']))
    return { text: part, isWild: false, matches: (name) => name === part };
  const pattern = marked.replace(/[*?[]/g, '[$&]').replaceAll(star, '*').replaceAll(wildcards['?'], '?');
  const fits = compileGlob(pattern);
  // A wildcard at the start does not match a dot there.
  return { text: part, isWild: true, matches: (name) => name[0] !== '.' && fits(name) };
}

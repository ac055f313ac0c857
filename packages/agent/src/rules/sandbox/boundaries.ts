// The test whether a path or a glob stays within a sandbox's folders, by text or by the agent's own files.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { climbs, type Files, lexicalPath, liesWithin, readingsOf } from './path.ts';

/** Names of one call that match the parts of globs. */
export const maxMatches = 1_000;
/** Names of one call that are read to find them. */
export const maxListed = 10_000;
/** Names of one call that are looked up among the files. */
export const maxLookups = 10_000;

const isWild = (part: string): boolean => /[*?]/.test(part);

/** The folders of one sandbox as they lie at the time of one call. */
export class Boundaries {
  readonly #within: readonly string[];
  readonly #notWithin: readonly string[];
  readonly #files: Files | undefined;
  #lookups = 0;
  #listed = 0;
  #matches = 0;

  constructor(within: readonly string[], notWithin: readonly string[], files?: Files) {
    this.#files = files;
    const bases = files?.roots ?? [files?.cwd ?? '/'];
    const fromEach = (paths: readonly string[]): readonly string[] =>
      bases.flatMap((base) => paths.map((path) => this.canonical(path, base)));
    this.#within = fromEach(within);
    this.#notWithin = fromEach(notWithin);
  }

  canonical(path: string, cwd: string): string {
    return this.#files?.canonical(path, cwd) ?? lexicalPath(path, cwd);
  }

  /**
   * True if a path leaves in one of its readings: if it is in none of the folders, or in an excluded one.
   * @param cwd canonical
   */
  leaves(text: string, cwd: string): boolean {
    return [...readingsOf(text)].some((path) => {
      if (path.includes('\0') || (this.#files && ++this.#lookups > maxLookups)) return true;
      // Many programs resolve `..` by text before they follow links.
      const byText = climbs(path) && !/^[~$]/.test(path) ? lexicalPath(path, cwd) : path;
      return [...new Set([path, byText])].some((one) => this.#isOut(this.canonical(one, cwd)));
    });
  }

  #isOut(canonical: string): boolean {
    return (
      !this.#within.some((folder) => liesWithin(canonical, folder)) ||
      this.#notWithin.some((folder) => liesWithin(this.#name(canonical), this.#name(folder)))
    );
  }

  /** One text for all names of one file. */
  #name(canonical: string): string {
    return this.#files?.ignoresCase ? foldCase(canonical.normalize('NFC')) : canonical;
  }

  /** True if a match of a glob may leave: by its literal start, by a part that begins with a dot, or by itself. */
  globLeaves(glob: string, cwd: string): boolean {
    // A set `[…]` is taken for anything up to the end of its part: too much, never too little.
    const parts = glob.replace(/\[[^/]*/g, '*').split('/');
    const first = parts.findIndex(isWild);
    const start = parts.slice(0, first).reduce((path, part) => `${path}${part}/`, '');
    if (parts.some((part) => part[0] === '.' && part !== '.') || this.leaves(start, cwd)) return true;
    let matches = [this.canonical(start, cwd)];
    for (const part of parts.slice(first).filter((one) => one !== '' && one !== '.')) {
      matches = matches.flatMap((folder) => this.#matchesIn(folder, part));
      this.#matches += matches.length;
      // More names than can be looked at leave.
      const isTooMuch = this.#matches > maxMatches || this.#listed > maxListed;
      if (isTooMuch || matches.some((path) => this.#isOut(path))) return true;
    }
    return false;
  }

  /** Paths in a folder that a part of a glob matches: those on the way to excluded folders, and those of files. */
  #matchesIn(folder: string, part: string): readonly string[] {
    const below = folder === '/' ? '/' : `${folder}/`;
    const names = isWild(part) ? this.#namesIn(folder) : [part];
    const excluded = this.#notWithin
      .filter((path) => path.startsWith(below))
      .map((path) => path.slice(below.length).replace(/\/.*/s, ''));
    return [...excluded, ...names]
      .filter(compileGlob(part))
      .map((name) => this.canonical(`${below}${name}`, folder));
  }

  /** Names that a wildcard at the start may match: those without a dot there. */
  #namesIn(folder: string): readonly string[] {
    const names = this.#files ? this.#files.list(folder, maxListed - this.#listed) : [];
    this.#listed += names?.length ?? maxListed + 1;
    return names?.filter((name) => name[0] !== '.') ?? [];
  }
}

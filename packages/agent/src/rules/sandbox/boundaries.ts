// The test whether a path, a name or a glob stays within a sandbox's folders, by text or by the agent's own files.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import {
  climbs,
  climbsFromUnknown,
  type Files,
  isRooted,
  lexicalPath,
  liesWithin,
  readingsOf,
} from './path.ts';

const isWild = (part: string): boolean => /[*?]/.test(part);

/** The folders of one sandbox as they lie at the time of one call. */
export class Boundaries {
  readonly #within: readonly string[];
  readonly #notWithin: readonly string[];
  readonly #files: Files | undefined;
  /** Lookups that are left: names, names that globs list, and links and folders among these. */
  readonly #left = { names: 10_000, listed: 10_000, matches: 1_000 };

  constructor(within: readonly string[], notWithin: readonly string[], files?: Files) {
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

  /**
   * True if a path leaves in one of its readings, from one of the folders.
   * @param cwds canonical
   * @param isName the text is a path only if it says where it starts, climbs, leads through a link, or names a file
   */
  leaves(text: string, cwds: readonly string[], isName = false): boolean {
    return cwds.some((cwd) => [...readingsOf(text)].some((path) => this.#pathLeaves(path, cwd, isName)));
  }

  #pathLeaves(path: string, cwd: string, isName: boolean): boolean {
    if (path.includes('\0') || (this.#files && isName && --this.#left.names < 0)) return true;
    const canonical = this.canonical(path, cwd);
    const byText = lexicalPath(path, cwd);
    if (climbsFromUnknown(path)) return true;
    // Many programs resolve `..` by text before they follow links.
    if (climbs(path) && path[0] !== '~')
      return this.#isOut(canonical) || this.#isOut(this.canonical(byText, cwd));
    const isPath = !isName || isRooted(path) || canonical !== byText || this.#isExcluded(canonical);
    return this.#isOut(canonical) && (isPath || this.#files?.exists(canonical) === true);
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

  /**
   * True if a match of a glob may leave: by its literal start, by a part that begins with a dot, or by a name that it
   * matches. These are the names of excluded folders, and of files.
   */
  globLeaves(glob: string, cwd: string): boolean {
    // A set `[…]` is taken for anything up to the end of its part: too much, never too little.
    const parts = glob.replace(/\[[^/]*/g, '*').split('/');
    const first = parts.findIndex(isWild);
    const start = parts.slice(0, first).reduce((path, part) => `${path}${part}/`, '');
    const wild = parts.slice(first).filter((part) => part !== '' && part !== '.');
    return (
      parts.some((part) => part[0] === '.' && part !== '.') ||
      this.leaves(start, [cwd], true) ||
      this.#matchesLeave(this.canonical(start, cwd), wild)
    );
  }

  /** Follows the parts of a glob from a folder. More names than can be looked at leave. */
  #matchesLeave(folder: string, [part, ...rest]: readonly string[]): boolean {
    if (part === undefined) return this.#isOut(folder);
    const listed = isWild(part)
      ? this.#files?.list(folder, this.#left.listed)
      : [part]
          .filter((name) => this.#files?.exists(`${folder}/${name}`))
          .map((name) => ({ name, isLink: true }));
    if (listed === null) return true;
    this.#left.listed -= listed?.length ?? 0;
    const below = folder === '/' ? '/' : `${this.#name(folder)}/`;
    const excluded = this.#notWithin.flatMap((path) =>
      path.startsWith(below) ? [{ name: path.slice(below.length).replace(/\/.*/s, ''), isLink: false }] : [],
    );
    // A wildcard at the start does not match a dot there.
    const names = [...excluded, ...(listed ?? []).filter(({ name }) => name[0] !== '.')];
    const matches = compileGlob(part);
    return names.some(({ name, isLink }) => {
      if (!matches(name)) return false;
      if ((isLink || rest.length > 0) && --this.#left.matches < 0) return true;
      const path = lexicalPath(`${folder}/${name}`);
      const canonical = isLink ? this.canonical(path, folder) : path;
      return this.#isExcluded(canonical) || this.#matchesLeave(canonical, rest);
    });
  }
}

// The test whether a path, a name or a glob stays within a sandbox's folders, by text or by the agent's own files.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { remembered } from '../remembered.ts';
import {
  climbs,
  type Files,
  filePathOf,
  isFileUrl,
  isRooted,
  lexicalPath,
  liesWithin,
  readingsOf,
} from './path.ts';

/** Links and folders that are looked up to follow one glob. */
export const maxMatches = 1_000;
/** Names that are read to find them. */
export const maxListed = 10_000;
/** Names of one call that are looked up among the files. */
export const maxLookups = 10_000;

/** The folders of one sandbox as they lie at the time of one call. */
export class Boundaries {
  readonly #within: readonly string[];
  readonly #notWithin: readonly string[];
  readonly #files: Files | null;
  /** The canonical form of a folder that names are taken from. */
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

  /**
   * True if a path leaves in one of its readings: as written, decoded, without blanks around it, as a `file:` URL.
   * @param isName the text is a path only if it says where it starts, climbs, leads through a link, or names a file
   */
  leaves(text: string, cwd: string, isName = false): boolean {
    return readingsOf(text).some((reading) => {
      const bare = reading.trim();
      // On some systems a backslash parts folders too.
      const paths = new Set([reading, bare, bare.replaceAll('\\', '/')]);
      return (
        reading.includes('\0') ||
        [...paths].some((path) => this.#pathLeaves(path, cwd, isName)) ||
        (isFileUrl(bare) && this.leaves(filePathOf(bare), cwd))
      );
    });
  }

  /** True if a path is in none of the folders, or in an excluded one. */
  #pathLeaves(path: string, cwd: string, isName: boolean): boolean {
    if (this.#files && isName && ++this.#lookups > maxLookups) return true;
    const start = this.#start(cwd);
    const canonical = this.canonical(path, start);
    const byText = lexicalPath(path, start);
    // Many programs resolve `..` by text before they follow links.
    if (climbs(path) && !/^[~$]/.test(path))
      return this.#isOut(canonical) || this.#isOut(this.canonical(byText, start));
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
    const first = parts.findIndex((part) => /[*?]/.test(part));
    const start = parts.slice(0, first).reduce((path, part) => `${path}${part}/`, '');
    const wild = parts.slice(first).filter((part) => part !== '' && part !== '.');
    if (parts.some((part) => part[0] === '.' && part !== '.') || this.#pathLeaves(start, cwd, true))
      return true;
    const folder = this.canonical(start, this.#start(cwd));
    const below = folder === '/' ? '/' : `${this.#name(folder)}/`;
    const reaches = (excluded: string): boolean => {
      const names = excluded.slice(below.length).split('/');
      const matches = compileGlob(wild.slice(0, names.length).join('/'));
      return excluded.startsWith(below) && names.length <= wild.length && matches(names.join('/'));
    };
    return this.#notWithin.some(reaches) || this.#matchesLeave(folder, wild);
  }

  /** Follows a glob through folders. More names than can be looked at leave. */
  #matchesLeave(start: string, parts: readonly string[]): boolean {
    const files = this.#files;
    if (!files) return false;
    const counts = { listed: 0, lookups: 0 };
    let folders = new Set([start]);
    for (const [i, part] of parts.entries()) {
      const isWild = /[*?]/.test(part);
      const matches = compileGlob(part);
      const paths = new Set<string>();
      for (const folder of folders) {
        const isThere = isWild || files.exists(`${folder}/${part}`);
        const others = isThere ? [{ name: part, isLink: true }] : [];
        const names = isWild ? files.list(folder, maxListed - counts.listed) : others;
        if (names === null) return true;
        counts.listed += names.length;
        // A wildcard at the start does not match a dot there.
        for (const { name, isLink } of names.filter(({ name }) => name[0] !== '.' && matches(name))) {
          if ((isLink || i < parts.length - 1) && ++counts.lookups > maxMatches) return true;
          const path = lexicalPath(`${folder}/${name}`);
          const canonical = isLink ? this.canonical(path, folder) : path;
          if (this.#isExcluded(canonical)) return true;
          paths.add(canonical);
        }
      }
      folders = paths;
    }
    return [...folders].some((path) => this.#isOut(path));
  }
}

// Paths as texts: canonical forms without a file system, the readings of one text, and "lies within".

/** Questions of a sandbox about files. Without answers, paths are judged by text alone. */
export interface Files {
  /** The folder from which relative paths start when a call names none. */
  readonly cwd: string;
  /** Folders that relative boundaries are taken from, each of them; default: `cwd`. */
  readonly roots?: readonly string[];
  /** The folder of a call that names no path is judged as a path: the call may work on it. Default false. */
  readonly judgesFolder?: boolean;
  /** Names that differ by case alone name one file. Default false. */
  readonly ignoresCase?: boolean;
  /** Absolute, without `.`, `..` and links; also of a path that does not exist. */
  canonical(path: string, cwd: string): string;
  /** True if something has that name; a link that leads nowhere has it too. */
  exists(path: string): boolean;
  /** The names in a folder, none when it cannot be read; null when there are more than `max`. */
  list(folder: string, max: number): readonly FileName[] | null;
}

export interface FileName {
  readonly name: string;
  readonly isLink: boolean;
}

const drive = /^[a-z]:[\\/]/i;

/** True if a path says itself where it starts: at a root, a drive, a home folder or a variable. */
export const isRooted = (path: string): boolean => /^[/~$]/.test(path) || drive.test(path);

/**
 * Canonical form by text alone: relative paths are taken from `cwd`, `..` never leaves the root. `~`, `$NAME` and
 * drives are kept as names below the root. So a path through one of them lies only within folders whose own path
 * contains it.
 */
export function lexicalPath(path: string, cwd = '/'): string {
  let absolute = isRooted(path) ? path : `${cwd}/${path}`;
  if (drive.test(absolute)) absolute = absolute[0]?.toLowerCase() + absolute.slice(1).replaceAll('\\', '/');
  const parts: string[] = [];
  for (const part of absolute.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** True if a canonical path is the boundary or below it; compares whole components. */
export const liesWithin = (path: string, boundary: string): boolean =>
  path === boundary || path.startsWith(boundary === '/' ? '/' : `${boundary}/`);

/** True if a path goes up anywhere. */
export const climbs = (path: string): boolean => path.includes('..') && path.split('/').includes('..');

/**
 * True if a path goes up from a variable, from a user's folder, or past the home folder. A shell expands these names
 * and most tools do not, so each opens another file.
 */
export const climbsFromUnknown = (path: string): boolean =>
  /^[~$]/.test(path) && climbs(path) && !(path.startsWith('~/') && liesWithin(lexicalPath(path), '/~'));

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A text as written, and as programs that decode it would read it, at most three times over. */
export function decodingsOf(text: string, rounds = 3): readonly string[] {
  const decoded = text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    utf8.decode(Uint8Array.from(run.slice(1).split('%'), (hex) => Number.parseInt(hex, 16))),
  );
  return rounds === 0 || decoded === text ? [text] : [text, ...decodingsOf(decoded, rounds - 1)];
}

/** Up to the path; also within another URL, as archives, viewers and package managers name files. */
const fileUrl =
  /^(?:(?:jar|zip|view-source|filesystem):|(?:git|hg|svn|bzr)\+)?file:(?:[\\/]{2}localhost(?=[\\/]))?/i;
export const isFileUrl = (text: string): boolean => fileUrl.test(text);

/** The path of a `file:` URL, percent-encoded as it is. One on another machine lies in no folder. */
function filePathOf(url: string): string {
  const path = url.replace(/[\t\n\r]/g, '').replace(fileUrl, '');
  return /^[\\/]{2}[^\\/]/.test(path) ? '\0' : `/${path}`;
}

/**
 * The paths that programs may read in a text: as written, decoded, without blanks around it, with backslashes between
 * folders, and as a `file:` URL.
 */
export function readingsOf(text: string): ReadonlySet<string> {
  // Most names are read in one way, and a call may contain thousands.
  const readings = new Set(/[%\\\s:]/.test(text) ? decodingsOf(text) : [text]);
  // A set visits what is added to it, too.
  for (const reading of readings) {
    const bare = reading.trim();
    readings.add(bare).add(bare.replaceAll('\\', '/'));
    if (isFileUrl(bare)) readings.add(filePathOf(bare));
  }
  return readings;
}

/** True if a whole text is a path by its look, whatever the name it stands under. */
export const looksLikePath = (text: string): boolean =>
  /^(?:\/|\.\.?[\\/]|~[\w.-]*\/|~$|\.\.$|[a-z]:[\\/])/i.test(text) ||
  isFileUrl(text) ||
  (climbs(text) && !/\s/.test(text));

// The agent's own file system as sandboxes ask about it: links followed, names listed. Reads names only.
import { lstatSync, opendirSync, readlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { platform, cwd as processCwd } from 'node:process';
import { type FileName, type Files, lexicalPath } from '../rules/sandbox/path.ts';

/** As many links as the kernel follows. */
const maxLinks = 40;

/**
 * @param cwd where relative paths start; default: this process's folder, at the time of each call
 * @param roots where relative boundaries of sandboxes start; default: `cwd`
 */
export const agentFiles = (cwd?: string, roots?: readonly string[]): Files => ({
  get cwd() {
    return cwd ?? processCwd();
  },
  ...(roots ? { roots } : {}),
  ignoresCase: platform === 'darwin' || platform === 'win32',
  canonical: canonicalPath,
  exists: (path) => isThere(path),
  list,
});

/**
 * The canonical form of a path a tool names, also of one that does not exist yet: a link that leads to nothing is
 * followed, because writing through it makes what it leads to. A path whose meaning only a shell knows (`$NAME`,
 * `~user`) is kept by text. It lies within nothing unless it climbs, and sandboxes refuse one that climbs.
 */
export function canonicalPath(path: string, cwd: string): string {
  if (path.startsWith('$') || (path.startsWith('~') && path !== '~' && !path.startsWith('~/')))
    return lexicalPath(path);
  let start = path;
  if (path.startsWith('~')) start = homedir() + path.slice(1);
  else if (!isAbsolute(path)) start = `${isAbsolute(cwd) ? cwd : join(processCwd(), cwd)}/${path}`;
  const pending = start.split('/').reverse();
  let done = '/';
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      done = dirname(done);
      continue;
    }
    const next = join(done, part);
    const target = linkTarget(next);
    if (target === null || ++links > maxLinks) done = next;
    else {
      if (target.startsWith('/')) done = '/';
      pending.push(...target.split('/').reverse());
    }
  }
  return done;
}

/** Target of a symbolic link; null for everything else, and for a path that cannot be read. */
function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (failure) {
    // A name that is too long, or below a file, names nothing; one that may not be looked at may be there.
    const { code } = failure as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM';
  }
}

function list(path: string, max: number): readonly FileName[] | null {
  const names: FileName[] = [];
  try {
    const folder = opendirSync(path);
    try {
      for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
        if (names.length >= max) return null;
        // An entry without a kind from the system may be a link.
        names.push({ name: entry.name, isLink: !entry.isFile() && !entry.isDirectory() });
      }
    } finally {
      folder.closeSync();
    }
  } catch {
    return [];
  }
  return names;
}

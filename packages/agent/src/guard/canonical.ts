// Paths as the agent's own file system means them: relative to the working directory, with symbolic links followed. Reads names only.
import { lstatSync, readlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { cwd } from 'node:process';
import { lexicalPath } from '../rules/evaluate/path.ts';

/** As many links as the kernel follows. */
const maxLinks = 40;

/**
 * The canonical form of a path a tool names, also of one that does not exist yet: a link that leads to nothing is followed, because
 * writing through it makes what it leads to. A path whose meaning only a shell knows (`$NAME`, `~user`) is kept by text, and so lies
 * within nothing.
 */
export function canonicalPath(path: string): string {
  if (path.startsWith('$') || (path.startsWith('~') && path !== '~' && !path.startsWith('~/')))
    return lexicalPath(path);
  let start = path;
  if (path.startsWith('~')) start = homedir() + path.slice(1);
  else if (!path.startsWith('/')) start = `${cwd()}/${path}`;
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

/** Where a symbolic link leads; null for everything else, and for what cannot be looked at. */
function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

// Profiles of well-known programs, built in, and the search among them.
import { files } from './files.ts';
import { git } from './git.ts';
import { network } from './network.ts';
import type { CommandProfile, CommandProfiles } from './profile.ts';
import { projects } from './projects.ts';
import { texts } from './texts.ts';
import { wrappers } from './wrappers.ts';

export const profiles: CommandProfiles = {
  ...Object.fromEntries([...files, ...texts, ...network, ...projects, ...wrappers]),
  git,
};

/** The name of a program, in whatever folder it lies. */
export const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

/**
 * The name of a program up to its version, in lower case: `python3.11` and `python3-dbg` are python. Some file systems
 * take `BASH` for bash.
 */
export function plainNameOf(word: string): string {
  const name = nameOf(word).toLowerCase();
  const at = name.search(/[a-z]-?\d/);
  return at < 0 ? name : name.slice(0, at + 1);
}

/** The profile of a program by its name. Own profiles go first. */
export const profileOf = (name: string, own: CommandProfiles = {}): CommandProfile | undefined =>
  [own, profiles].find((one) => Object.hasOwn(one, name))?.[name];

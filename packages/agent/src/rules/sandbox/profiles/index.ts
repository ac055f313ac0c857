// Profiles of well-known programs, built in, and the search among them.
import { build } from './build.ts';
import { files } from './files.ts';
import { git } from './git.ts';
import { network } from './network.ts';
import type { CommandProfile, CommandProfiles } from './profile.ts';
import { texts } from './texts.ts';
import { wrappers } from './wrappers.ts';

export const profiles: CommandProfiles = Object.fromEntries([
  ...[...files, ...texts, ...network, ...build, ...wrappers],
  ['git', git],
]);

/** Words before the code that an interpreter runs. */
export const inlineCode: ReadonlyMap<string, RegExp> = new Map([
  ...['bash', 'sh', 'zsh', 'dash', 'ksh', 'fish', 'csh', 'tcsh'].map((name) => [name, /^-\w*c/] as const),
  ...['python', 'python2', 'python3', 'pypy'].map((name) => [name, /^-\w*c/] as const),
  ...[
    'node',
    'nodejs',
    'perl',
    'ruby',
    'php',
    'lua',
    'deno',
    'bun',
    'tsx',
    'ts-node',
    'R',
    'Rscript',
    'osascript',
  ].map((name) => [name, /^(?:-\w*[ceEpr]|--?eval|--print|--run|eval$)/] as const),
]);
/** Programs that run code, or any other program: a list with one of them allows everything. */
export const interpreters: ReadonlySet<string> = new Set([
  ...inlineCode.keys(),
  ...[
    'env',
    'xargs',
    'sudo',
    'doas',
    'awk',
    'gawk',
    'mawk',
    'sed',
    'make',
    'npx',
    'npm',
    'pnpm',
    'yarn',
    'vim',
    'less',
  ],
]);

/** The name of a program, in whatever folder it lies. */
export const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

/** The profile of a program by its name. Own profiles go first. */
export const profileOf = (name: string, own: CommandProfiles): CommandProfile | undefined =>
  [own, profiles].find((one) => Object.hasOwn(one, name))?.[name];

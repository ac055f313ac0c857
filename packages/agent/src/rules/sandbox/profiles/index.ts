// Profiles of well-known programs, built in.

import { build } from './build.ts';
import { files } from './files.ts';
import { git } from './git.ts';
import { network } from './network.ts';
import type { CommandProfiles } from './profile.ts';
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

/** Whether words of a program are judged by a profile, also where the program lies in a folder. */
export const hasProfile = (program: string, own: CommandProfiles = {}): boolean =>
  [own, profiles].some((one) => Object.hasOwn(one, program.slice(program.lastIndexOf('/') + 1)));

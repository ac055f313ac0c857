// File paths of a call: which arguments are paths, their canonical form without a file system, and "lies within".

import { type Budget, spend } from '../regex/regex.ts';
import type { ToolCall } from './call.ts';
import { shellWords, withoutRedirect } from './shell.ts';

const pathKeys: ReadonlySet<string> = new Set([
  ...[
    'path',
    'file_path',
    'filePath',
    'directory',
    'dir',
    'folder',
    'target',
    'destination',
    'source',
    'src',
    'dst',
  ],
]);
const maxDepth = 4;

/** Makes a path absolute and free of `.`, `..`, doubled and trailing slashes. A client may also resolve links. */
export type Canonical = (path: string) => string;

/**
 * Canonical form by text alone: relative paths are taken from `base`, `..` never leaves the root. `~` and `$NAME` are kept as
 * names below the root, so that a path through them lies within nothing that does not say so itself.
 */
export function lexicalPath(path: string, base = '/'): string {
  const absolute =
    path.startsWith('/') || path.startsWith('~') || path.startsWith('$') ? path : `${base}/${path}`;
  const parts: string[] = [];
  for (const part of absolute.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Whether a canonical path is the boundary or below it; compares whole components. */
export const liesWithin = (path: string, boundary: string): boolean =>
  path === boundary || path.startsWith(boundary === '/' ? '/' : `${boundary}/`);

/** Every text inside the arguments, at most four levels deep, with the key it is under (of the nearest mapping). */
export function argumentTexts(call: ToolCall, budget: Budget): { key: string; text: string }[] {
  const texts: { key: string; text: string }[] = [];
  const visit = (value: unknown, key: string, depth: number): void => {
    spend(budget, 1);
    if (typeof value === 'string') texts.push({ key, text: value });
    else if (depth < maxDepth && value !== null && typeof value === 'object') {
      if (Array.isArray(value)) for (const item of value) visit(item, key, depth + 1);
      else for (const [name, item] of Object.entries(value)) visit(item, name, depth + 1);
    }
  };
  visit(call.args, '', -1);
  return texts;
}

/**
 * The paths a call names, as written: texts under a path-like key, other texts that begin with `/`, and words of the `command`
 * argument that begin with `/`, `~` or `$NAME/`, climb with `..`, or hold such a path after `=`.
 */
export function candidatePaths(call: ToolCall, budget: Budget): string[] {
  const paths: string[] = [];
  for (const { key, text } of argumentTexts(call, budget)) {
    if (text !== '' && (pathKeys.has(key) || text.startsWith('/'))) paths.push(text);
  }
  const command = Object.hasOwn(call.args, 'command') ? call.args.command : undefined;
  if (typeof command === 'string') {
    spend(budget, command.length >> 2);
    for (const word of shellWords(command)) {
      const bare = withoutRedirect(word);
      if (looksLikePath(bare)) paths.push(bare);
      const value = bare.slice(bare.indexOf('=') + 1);
      if (value !== bare && looksLikePath(value)) paths.push(value);
    }
  }
  return paths;
}

const looksLikePath = (word: string): boolean =>
  /^(?:\/|~|\$\w+\/)/.test(word) || word === '..' || /^\.\.\/|\/\.\.(?:\/|$)/.test(word);

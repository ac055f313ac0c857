// Recognizes the kinds of a call's arguments by their names: edits of files, paths and URLs; and colours commands.
// Other arguments appear unchanged.

import { plainName } from '../../approval/rules/amounts.ts';
import { isMapping } from '../../shared/json/mapping.ts';

type Arguments = { readonly [name: string]: unknown };

export interface FileEdit {
  readonly before: string;
  readonly after: string;
}

const beforeNames = new Set(['oldstring', 'oldtext', 'oldstr', 'before', 'search', 'original']);
const afterNames = new Set(['newstring', 'newtext', 'newstr', 'after', 'replace', 'replacement', 'updated']);

const pairOf = (args: Arguments): { readonly names: readonly string[]; readonly edit: FileEdit } | null => {
  const find = (names: ReadonlySet<string>) =>
    Object.entries(args).find(([name, value]) => names.has(plainName(name)) && typeof value === 'string');
  const [before, after] = [find(beforeNames), find(afterNames)];
  return before && after
    ? { names: [before[0], after[0]], edit: { before: String(before[1]), after: String(after[1]) } }
    : null;
};

/** The edits that a call makes, and the names of the arguments that contain them. */
export function editsOf(args: Arguments): {
  readonly names: readonly string[];
  readonly edits: readonly FileEdit[];
} {
  const own = pairOf(args);
  if (own) return { names: own.names, edits: [own.edit] };
  for (const [name, value] of Object.entries(args)) {
    if (!Array.isArray(value) || value.length === 0) continue;
    const pairs = value.map((one) => (isMapping(one) ? pairOf(one) : null));
    // A list with other members appears unchanged, because nothing may be left out.
    const isWhole = pairs.every((pair, at) => pair && Object.keys(value[at]).length === pair.names.length);
    if (isWhole) return { names: [name], edits: pairs.flatMap((pair) => (pair ? [pair.edit] : [])) };
  }
  return { names: [], edits: [] };
}

/** True for a text in the format of `diff` or `git diff`. */
export const isPatch = (name: string, value: unknown): value is string =>
  ['patch', 'diff', 'unifieddiff'].includes(plainName(name)) &&
  typeof value === 'string' &&
  /^(?:@@|[+-])/m.test(value);

export const patchLines = (text: string) =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line, at) => {
      const isHead = /^(?:\+\+\+|---|\*\*\*|@@|diff |index )/.test(line);
      const kind = isHead
        ? 'same'
        : line.startsWith('+')
          ? 'added'
          : line.startsWith('-')
            ? 'removed'
            : 'same';
      return { at, kind, text: kind === 'same' ? line : line.slice(1) } as const;
    });

const pathNames =
  /^(?:path|file|filename|filepath|dir|directory|folder|cwd|workdir|workingdirectory|source|destination|target|from|to)$/;

/** A path in two parts: the folders and the last segment. */
export function pathOf(name: string, value: unknown): readonly [folder: string, last: string] | null {
  if (!pathNames.test(plainName(name)) || typeof value !== 'string') return null;
  if (value.includes('://') || value.includes('\n') || value.length > 1_000) return null;
  const parts = /^(.*[/\\])([^/\\]+[/\\]?)$/.exec(value);
  return parts ? [parts[1] ?? '', parts[2] ?? ''] : null;
}

/** A URL in three parts: the text before the host, the real host, and the rest. */
export function addressParts(value: unknown): readonly [before: string, host: string, rest: string] | null {
  if (typeof value !== 'string' || value.length > 1_000 || !/^https?:\/\//i.test(value)) return null;
  const { host = '' } = URL.canParse(value) ? new URL(value) : {};
  const end = value.search(/(?<=^https?:\/\/[^/?#\\]*)[/?#\\]/i);
  const authority = end < 0 ? value : value.slice(0, end);
  // The parsed form differs from the text (a default port, another script), so the text appears unchanged.
  if (host === '' || !authority.toLowerCase().endsWith(host)) return null;
  const at = authority.length - host.length;
  return [value.slice(0, at), value.slice(at, authority.length), value.slice(authority.length)];
}

export type CommandPart = readonly [
  kind: 'program' | 'flag' | 'text' | 'operator' | 'variable' | 'plain',
  text: string,
];

/**
 * A command in parts, for colours only: program names, flags, quoted texts, variables, and operators between commands.
 * No decision depends on it.
 */
export function commandParts(command: string): readonly CommandPart[] {
  const sign =
    /(\s+)|('[^']*'?)|("(?:\\[\s\S]|[^"\\])*"?)|(\$\((?!\()|[`;|&<>(){}]+|\n)|(\$\{[^}]*\}?|\$\w+)|((?:\\[\s\S]|[^\s'"`;|&<>(){}$\\])+|\$|\\)/g;
  const parts: CommandPart[] = [];
  let isStart = true;
  for (const match of command.matchAll(sign)) {
    const [all, space, single, double, operator, variable, word] = match;
    if (space !== undefined) {
      if (space.includes('\n')) isStart = true;
      parts.push(['plain', all]);
    } else if (operator !== undefined) {
      parts.push(['operator', all]);
      isStart = !/^[<>]+$/.test(operator);
    } else if (single !== undefined || double !== undefined) {
      parts.push([isStart ? 'program' : 'text', all]);
      isStart = false;
    } else if (variable !== undefined) {
      parts.push(['variable', all]);
      isStart = false;
    } else if (word !== undefined) {
      const isSetting = isStart && /^\w+=/.test(word);
      parts.push([
        isSetting ? 'variable' : isStart ? 'program' : word.startsWith('-') ? 'flag' : 'plain',
        all,
      ]);
      if (!isSetting) isStart = false;
    }
  }
  return parts;
}

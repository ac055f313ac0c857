// The kind of an argument, by its name or its declaration: content, a path, a URL or a command.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { remembered } from '../remembered.ts';

/** Kinds that an argument may be declared to hold. `cwd` is a path that the call's commands run in. */
export const argumentKinds = ['path', 'url', 'command', 'content', 'cwd'] as const;
export type ArgumentKind = (typeof argumentKinds)[number];

/** A whole name without separators, a blank, and the last word of a longer name: `output_path`, `baseUrl`. */
const names: { readonly [kind in ArgumentKind]: RegExp } = {
  content:
    /^(?:content|(?:old|new|file|insert)?text|body|message|(?:old|new)str(?:ing)?|pattern|regex|query|prompt|description|code|patch|diff|html|data) /,
  cwd: /^(?:cwd|workdir|workingdir(?:ectory)?) /,
  path: /^(?:(?:path|file(?:path|name)?|dir|folder|target|destination|source)s?|director(?:y|ies)|dest|src|dst|workspace) | (?:(?:path|file(?:name)?|dir|folder)s?|filepath|directory)$/,
  url: /^(?:ur[li]|href|link|endpoint|host(?:name)?|domain)s? | (?:(?:ur[li]|domain)s?|href|endpoint|host(?:name)?)$/,
  command: /^(?:(?:command|cmd|script)s?|shell|commandline|argv) | (?:commands?|cmd|script)$/,
};

/** The kind that a name implies; null: the look of its text decides. Case, `_` and `-` do not count. */
export const kindOfName = remembered(2_000, (name: string): ArgumentKind | null => {
  if (name.length > 100) return null;
  const words = name.split(/[_\-. ]+|(?<=[a-z0-9])(?=[A-Z])/).map(foldCase);
  const text = `${words.join('')} ${words.at(-1)}`;
  return (Object.keys(names) as ArgumentKind[]).find((kind) => names[kind].test(text)) ?? null;
});

/** Kinds of arguments by tool (a name or a glob) and argument; `a.b` is the argument `b` in the mapping `a`. */
export type ToolArguments = {
  readonly [tool: string]: { readonly [argument: string]: ArgumentKind };
};

/** The declarations of one tool, by the names on the way to an argument with a dot before each: `.a.b`. */
export type Declared = ReadonlyMap<string, ArgumentKind>;

/** The place of an argument in a mapping. A declaration cannot name an argument with a dot. */
export const placeBelow = (place: string, name: string): string => `${place}.${name.replaceAll('.', '\0')}`;

/** The declarations for each tool. An exact name wins over globs, later ones over earlier ones. */
export function compileDeclarations(tools: ToolArguments = {}): (tool: string) => Declared {
  const rows = Object.entries(tools).map(([name, kinds]) => ({ name, kinds, matches: compileGlob(name) }));
  return remembered(1_000, (tool) => {
    const globs = rows.filter(({ name, matches }) => name !== tool && matches(tool));
    const all = [...globs, ...rows.filter(({ name }) => name === tool)].map(({ kinds }) => kinds);
    return new Map(all.flatMap(Object.entries).map(([path, kind]) => [`.${path}`, kind]));
  });
}

// The kind of an argument, by its name or its declaration: content, a path, a URL or a command. Null: the look of its
// text decides.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { remembered } from '../remembered.ts';
import { type ArgumentKind, lastWords, wholes } from './profiles/arguments.ts';

/** Kinds of arguments by tool (a name or a glob) and argument; `a.b` is the argument `b` in the mapping `a`. */
export type ToolArguments = {
  readonly [tool: string]: { readonly [argument: string]: ArgumentKind };
};

/** The declarations of one tool, by the names on the way to an argument with a dot before each: `.a.b`. */
export type Declared = ReadonlyMap<string, ArgumentKind>;

/** The place of an argument in a mapping. A declaration cannot name an argument with a dot. */
export const placeBelow = (place: string, name: string): string => `${place}.${name.replaceAll('.', '\0')}`;

/** The kind that a name implies; null when its text must be looked at. Case, `_` and `-` do not count. */
export const kindOfName = remembered(2_000, (name: string): ArgumentKind | null => {
  if (name.length > 100) return null;
  const whole = foldCase(name.replace(/[_\-. ]/g, ''));
  const last = foldCase(name.split(/[_\-. ]+|(?<=[a-z0-9])(?=[A-Z])/).at(-1) ?? '');
  const row =
    wholes.find(([, names]) => names.test(whole)) ?? lastWords.find(([, names]) => names.test(last));
  return row?.[0] ?? null;
});

/** The declarations for each tool. An exact name wins over globs, later ones over earlier ones. */
export function compileDeclarations(tools: ToolArguments = {}): (tool: string) => Declared {
  const rows = Object.entries(tools).map(([name, kinds]) => ({ name, kinds, matches: compileGlob(name) }));
  return remembered(1_000, (tool) => {
    const globs = rows.filter(({ name, matches }) => name !== tool && matches(tool));
    const all = [...globs, ...rows.filter(({ name }) => name === tool)];
    return new Map(
      all.flatMap(({ kinds }) => Object.entries(kinds).map(([path, kind]) => [`.${path}`, kind])),
    );
  });
}

// What an argument holds, by its name or its declaration: content, a path, a URL, a command, or whatever its text looks
// like.
import { compileGlob } from '../evaluate/glob.ts';
import { foldCase } from '../fold.ts';
import { remembered } from '../remembered.ts';
import { type ArgumentKind, lastWords, type Named, wholes } from './profiles/arguments.ts';

export { type ArgumentKind, argumentKinds } from './profiles/arguments.ts';

/** Kinds of arguments by tool (a name or a glob) and argument; `a.b` is the argument `b` in the mapping `a`. */
export type ToolArguments = {
  readonly [tool: string]: { readonly [argument: string]: ArgumentKind };
};

/** The declarations of one tool as a tree of names. */
export interface Declared {
  kind?: ArgumentKind;
  readonly below: Map<string, Declared>;
}

const kindIn = (kinds: Named, name: string): ArgumentKind | null =>
  kinds.find(([, names]) => names.test(name))?.[0] ?? null;

/** The kind that a name implies; null when its text must be looked at. Case, `_` and `-` do not count. */
export const kindOfName = remembered(2_000, (name: string): ArgumentKind | null => {
  if (name.length > 100) return null;
  const words = name.split(/[_\-. ]+|(?<=[a-z0-9])(?=[A-Z])/);
  const last = words.length > 1 ? foldCase(words.at(-1) ?? '') : '';
  return kindIn(wholes, foldCase(name.replace(/[_\-. ]/g, ''))) ?? kindIn(lastWords, last);
});

/** The declarations for each tool. An exact name wins over globs, later ones over earlier ones. */
export function compileDeclarations(tools: ToolArguments = {}): (tool: string) => Declared | null {
  const globs = Object.entries(tools).map(([name, kinds]) => ({ name, kinds, matches: compileGlob(name) }));
  return remembered(1_000, (tool) => {
    const matching = globs.filter(({ name, matches }) => name !== tool && matches(tool));
    const exact = globs.filter(({ name }) => name === tool);
    const declared: Declared = { below: new Map() };
    for (const { kinds } of [...matching, ...exact])
      for (const [path, kind] of Object.entries(kinds)) nodeAt(declared, path.split('.')).kind = kind;
    return declared.below.size === 0 ? null : declared;
  });
}

function nodeAt(root: Declared, steps: readonly string[]): Declared {
  let node = root;
  for (const step of steps) {
    const next = node.below.get(step) ?? { below: new Map() };
    node.below.set(step, next);
    node = next;
  }
  return node;
}

// The kind of an argument, by its name: content, a path, a URL, a command, or whatever its text looks like.
import { compileGlob } from '../../../../src/rules/evaluate/glob.ts';
import { foldCase } from '../../../../src/rules/fold.ts';

/** Kinds that an argument may be declared to hold. `cwd` is a path that the call's commands run in. */
export const argumentKinds = ['path', 'url', 'command', 'content', 'cwd'] as const;
export type ArgumentKind = (typeof argumentKinds)[number];

/** Kinds of arguments by tool (a name or a glob) and argument; `a.b` is the argument `b` in the mapping `a`. */
export type ToolArguments = {
  readonly [tool: string]: { readonly [argument: string]: ArgumentKind };
};

/** The declarations of one tool as a tree of names. */
export interface Declared {
  kind?: ArgumentKind;
  readonly below: Map<string, Declared>;
}

type Named = readonly (readonly [ArgumentKind, RegExp])[];

/** Whole names, as `readName` joins them. */
const wholes: Named = [
  [
    'content',
    /^(?:content|(?:old|new|file|insert)?text|body|message|(?:old|new)str(?:ing)?|pattern|regex|query|prompt|description|code|patch|diff|html|data)$/,
  ],
  [
    'path',
    /^(?:(?:path|file(?:path|name)?|dir|folder|target|destination|source)s?|director(?:y|ies)|dest|src|dst|workspace)$/,
  ],
  ['cwd', /^(?:cwd|workdir|workingdir(?:ectory)?)$/],
  ['url', /^(?:ur[li]|href|link|endpoint|host(?:name)?|domain)s?$/],
  ['command', /^(?:(?:command|cmd|script)s?|shell|commandline|argv)$/],
];
/** Last words of longer names: `output_path`, `baseUrl`, `test_command`. */
const lastWords: Named = [
  ['path', /^(?:(?:path|file(?:name)?|dir|folder)s?|filepath|directory)$/],
  ['url', /^(?:(?:ur[li]|domain)s?|href|endpoint|host(?:name)?)$/],
  ['command', /^(?:commands?|cmd|script)$/],
];
const kindIn = (kinds: Named, name: string): ArgumentKind | null =>
  kinds.find(([, names]) => names.test(name))?.[0] ?? null;

const maxCachedNames = 2_000;
const cache = new Map<string, ArgumentKind | null>();

/** The kind a name tells; null when its text must be looked at. Case, `_` and `-` do not count. */
export function kindOfName(name: string): ArgumentKind | null {
  if (name.length > 100) return null;
  let kind = cache.get(name);
  if (kind === undefined) {
    kind = readName(name);
    if (cache.size >= maxCachedNames) cache.clear();
    cache.set(name, kind);
  }
  return kind;
}

function readName(name: string): ArgumentKind | null {
  const words = name.split(/[_\-. ]+|(?<=[a-z0-9])(?=[A-Z])/);
  const last = words.length > 1 ? foldCase(words.at(-1) ?? '') : '';
  return kindIn(wholes, foldCase(name.replace(/[_\-. ]/g, ''))) ?? kindIn(lastWords, last);
}

/** The declarations for each tool, read once. An exact name wins over globs, later ones over earlier ones. */
export function compileDeclarations(tools: ToolArguments = {}): (tool: string) => Declared | null {
  const entries = Object.entries(tools);
  if (entries.length === 0) return () => null;
  const globs = entries.map(([tool, kinds]) => ({ tool, kinds, matches: compileGlob(tool) }));
  const known = new Map<string, Declared | null>();
  return (tool) => {
    let declared = known.get(tool);
    if (declared === undefined) {
      const matching = globs.filter((one) => one.tool !== tool && one.matches(tool));
      const exact = globs.filter((one) => one.tool === tool);
      declared = treeOf([...matching, ...exact].flatMap(({ kinds }) => Object.entries(kinds)));
      if (known.size >= 1000) known.clear();
      known.set(tool, declared);
    }
    return declared;
  };
}

function treeOf(entries: readonly (readonly [string, ArgumentKind])[]): Declared | null {
  if (entries.length === 0) return null;
  const root: Declared = { below: new Map() };
  for (const [path, kind] of entries) {
    let node = root;
    for (const step of path.split('.')) {
      let next = node.below.get(step);
      if (!next) {
        next = { below: new Map() };
        node.below.set(step, next);
      }
      node = next;
    }
    node.kind = kind;
  }
  return root;
}

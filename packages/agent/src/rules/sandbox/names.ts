// What an argument holds, by its name: content, a path, a URL, a command, or whatever its text looks like.
import { compileGlob } from '../evaluate/glob.ts';

/** What an argument may be declared to hold. `cwd` is a path that the call's commands run in. */
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

const listed = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/));

const content = listed(
  `content text body message oldstring newstring pattern regex query prompt description code patch diff html data
   oldstr newstr oldtext newtext filetext inserttext`,
);
const paths = listed(
  `path paths file files filepath filepaths filename filenames directory directories dir dirs folder folders target targets
   destination destinations dest source sources src dst workspace`,
);
const folders = listed('cwd workdir workingdir workingdirectory');
const urls = listed(
  'url urls uri uris href hrefs link links endpoint endpoints host hosts hostname hostnames domain domains',
);
const commands = listed('command commands cmd cmds script scripts shell commandline argv');
/** Last words of longer names: `output_path`, `baseUrl`, `test_command`. */
const lastWords: { readonly [word: string]: ArgumentKind } = Object.fromEntries([
  ...'path paths file files filename filenames filepath dir dirs directory folder folders'
    .split(' ')
    .map((word) => [word, 'path'] as const),
  ...'url urls uri uris href endpoint host hostname domain domains'
    .split(' ')
    .map((word) => [word, 'url'] as const),
  ...'command commands cmd script'.split(' ').map((word) => [word, 'command'] as const),
]);

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
  const joined = name.replace(/[_\-. ]/g, '').toLowerCase();
  if (content.has(joined)) return 'content';
  if (paths.has(joined)) return 'path';
  if (folders.has(joined)) return 'cwd';
  if (urls.has(joined)) return 'url';
  if (commands.has(joined)) return 'command';
  const words = name.split(/[_\-. ]+|(?<=[a-z0-9])(?=[A-Z])/);
  const last = words.length > 1 ? (words.at(-1) ?? '').toLowerCase() : '';
  return Object.hasOwn(lastWords, last) ? (lastWords[last] ?? null) : null;
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

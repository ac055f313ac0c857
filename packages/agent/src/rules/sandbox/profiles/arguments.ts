// Names of arguments of tools, and the kinds that they tell.

/** Kinds that an argument may be declared to hold. `cwd` is a path that the call's commands run in. */
export const argumentKinds = ['path', 'url', 'command', 'content', 'cwd'] as const;
export type ArgumentKind = (typeof argumentKinds)[number];

export type Named = readonly (readonly [ArgumentKind, RegExp])[];

/** Whole names, as `readName` joins them. */
export const wholes: Named = [
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
export const lastWords: Named = [
  ['path', /^(?:(?:path|file(?:name)?|dir|folder)s?|filepath|directory)$/],
  ['url', /^(?:(?:ur[li]|domain)s?|href|endpoint|host(?:name)?)$/],
  ['command', /^(?:commands?|cmd|script)$/],
];
/** Names that may hold the rest of a command beside it: `{command: "rm", args: ["-rf", "/"]}`. */
export const restNames: ReadonlySet<string> = new Set(['args', 'argv', 'arguments']);

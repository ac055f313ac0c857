// Programs that run code from their words, and programs that run any other program.

/** Words before the code that an interpreter runs. */
const words: readonly (readonly [programs: string, word: RegExp])[] = [
  ['bash sh zsh dash ksh fish csh tcsh python python2 python3 pypy', /^-\w*c/],
  [
    'node nodejs perl ruby php lua deno bun tsx ts-node R Rscript osascript',
    /^(?:-\w*[ceEpr]|--?eval|--print|--run|eval$)/,
  ],
];
export const inlineCode: ReadonlyMap<string, RegExp> = new Map(
  words.flatMap(([programs, word]) => programs.split(' ').map((program) => [program, word] as const)),
);

/** A list with one of these programs allows everything. */
export const interpreters: ReadonlySet<string> = new Set([
  ...inlineCode.keys(),
  ...'env xargs sudo doas awk gawk mawk sed make npx npm pnpm yarn vim less'.split(' '),
]);

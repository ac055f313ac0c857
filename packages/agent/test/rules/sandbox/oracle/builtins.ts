// Builtins of shells that run or expand what quotes kept from the shell's first reading: eval and trap, callbacks,
// subscripts of arrays, and variables that a shell expands when it starts.

/** Words that may stand before a builtin; their options are skipped with them. */
const prefixes = new Set([
  'builtin',
  'command',
  'time',
  '!',
  'noglob',
  'nocorrect',
  'busybox',
  'coproc',
  'exec',
  '-',
]);
const isAssignment = (word: string): boolean => /^\w+(?:\[[^\]]*\])?\+?=/.test(word);

/** Builtins that evaluate the subscript of a name such as `a[i]`, and so a substitution in it. */
const subscripting = new Set([
  ...['declare', 'typeset', 'local', 'export', 'readonly', 'unset', 'read', 'printf', 'test', '[', '[['],
  ...['let', 'wait', 'getopts', 'mapfile', 'readarray'],
]);
const subscript = /\[[^\]]*(?:\$[({[]|`)/;
/** Variables that a shell expands or runs by itself, or as a subscript when it counts with them. */
const expandedAtStart =
  /^(?:(?:ENV|BASH_ENV|R?PS\d|R?PROMPT\d?|MAILPATH)\+?=.*(?:\$[({[\w]|`)|BASH_FUNC_|\w+\+?=.*\[[^\]]*(?:\$[({[]|`))/s;
/** Options of these builtins whose value is run (`C`), or expanded (`W`). */
const callbacks: ReadonlyMap<string, RegExp> = new Map([
  ['mapfile', /^-[A-Za-z]*?C(.*)$/s],
  ['readarray', /^-[A-Za-z]*?C(.*)$/s],
  ['compgen', /^-[A-Za-z]*?[CW](.*)$/s],
  ['complete', /^-[A-Za-z]*?[CW](.*)$/s],
]);

/** The command lines that a builtin gets; null when it would expand something on its own. */
export function linesOfBuiltin(words: readonly string[]): readonly string[] | null {
  if (words.some((word) => expandedAtStart.test(word))) return null;
  const at = builtinIndex(words);
  const name = words[at] ?? '';
  if (subscripting.has(name) && words.some((word) => subscript.test(word))) return null;
  const rest = words.slice(at + 1);
  if (name === 'eval') return [(rest[0] === '--' ? rest.slice(1) : rest).join(' ')];
  // `trap -p` and `trap -l` run nothing, and judging their words as commands refuses nothing that is ordinary.
  // A lone dash, or nothing, takes a trap away.
  if (name === 'trap') return [rest.find((word) => !/^-[-a-z]/.test(word))?.replace(/^-$/, '') ?? ''];
  const callback = callbacks.get(name);
  if (callback === undefined) return [];
  return rest.flatMap((word, i) => {
    const value = callback.exec(word)?.[1];
    return value === undefined ? [] : [value === '' ? (rest[i + 1] ?? '') : value];
  });
}

function builtinIndex(words: readonly string[]): number {
  let prefixed = false;
  for (const [i, word] of words.entries()) {
    if (prefixes.has(word)) prefixed = true;
    else if (!isAssignment(word) && !(prefixed && word.startsWith('-'))) return i;
  }
  return words.length;
}

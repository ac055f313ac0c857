// Words of well-known programs that are text and never a file: patterns, scripts, messages, what is only told. In doubt
// a word is not among them.

interface TextProgram {
  /** Short options that take no value. */
  readonly flags: string;
  /**
   * Short options that take a value which is no file either; with one of them last in a cluster it is the next word.
   */
  readonly valued: string;
  /** Long options that change nothing about which word is the text; `=…` may follow. */
  readonly longs: ReadonlySet<string>;
  /** True if options still count behind the first operand. */
  readonly permutes: boolean;
  /** Options whose value is the text; with one of them no operand is. */
  readonly texts?: ReadonlySet<string>;
  /** Options whose value is a separator, and so a text as well. */
  readonly separators?: ReadonlySet<string>;
}

const longs = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/).map((name) => `--${name}`));

const grep: TextProgram = {
  flags: 'acEFGhHiIlLnoPqrRsTUvwxyzZ0123456789',
  valued: 'ABCm',
  longs: longs(
    `color colour count extended-regexp fixed-strings ignore-case line-number recursive include exclude exclude-dir invert-match
     files-with-matches files-without-match word-regexp line-regexp only-matching no-filename with-filename quiet silent text
     perl-regexp null max-count context after-context before-context`,
  ),
  permutes: true,
  texts: new Set(['-e', '--regexp']),
};
const awk: TextProgram = {
  flags: '',
  valued: 'Fv',
  longs: new Set(),
  permutes: false,
  separators: new Set(['-F']),
};
const programs: ReadonlyMap<string, TextProgram> = new Map<string, TextProgram>([
  ['grep', grep],
  ['egrep', grep],
  ['fgrep', grep],
  [
    'rg',
    {
      flags: 'aciFhHIlLnNopPqsSUuvwxz0',
      valued: 'gtTABCm',
      longs: longs(
        'hidden no-ignore ignore-case smart-case line-number no-heading glob type type-not count fixed-strings json',
      ),
      permutes: true,
      texts: new Set(['-e', '--regexp']),
    },
  ],
  [
    'sed',
    {
      flags: 'nrEsuzi',
      valued: '',
      longs: longs('quiet silent regexp-extended in-place'),
      permutes: true,
      texts: new Set(['-e', '--expression']),
    },
  ],
  ['awk', awk],
  ['gawk', awk],
  ['mawk', awk],
]);
const messages = new Set(['commit', 'tag', 'merge', 'stash', 'notes']);
/** Options of these programs whose value is one character. */
const separators: { readonly [program: string]: string } = { cut: '-d', sort: '-t' };

const none: ReadonlySet<number> = new Set();

/** Indexes of the words that are text, by the name of the program, which is the first word. */
export function textWords(words: readonly string[]): ReadonlySet<number> {
  const name = words[0] ?? '';
  const program = programs.get(name);
  if (program) return firstOperand(words, program);
  // Told, and looked up by nobody.
  if (name === 'echo' || name === 'printf') return new Set([...words.keys()].slice(1));
  // An endpoint of its service.
  if (name === 'gh') return words[1] === 'api' && /^\/\w/.test(words[2] ?? '') ? new Set([2]) : none;
  if (name === 'git') return messages.has(words[1] ?? '') ? gitMessages(words) : none;
  if (name === 'tr') return new Set([...words.keys()].slice(1));
  const separator = Object.hasOwn(separators, name) ? separators[name] : undefined;
  if (separator === undefined) return none;
  const at = words.findIndex((word) => word.startsWith(separator));
  if (at < 0) return none;
  return words[at]?.length === 3
    ? new Set([at])
    : words[at]?.length === 2 && words[at + 1]?.length === 1
      ? new Set([at + 1])
      : none;
}

/** The first operand; none when an option that is not known might make it a file. */
function firstOperand(words: readonly string[], program: TextProgram): ReadonlySet<number> {
  const given = new Set<number>();
  const separators = new Set<number>();
  let text = -1;
  for (let i = 1; i < words.length; i++) {
    const word = words[i] as string;
    const option = word.startsWith('--') ? (word.split('=', 1)[0] ?? '') : word.slice(0, 2);
    const kind = program.texts?.has(option) ? given : program.separators?.has(option) ? separators : null;
    if (kind !== null) {
      kind.add(word.length > option.length ? i : ++i);
      continue;
    }
    if (word === '--') {
      if (text < 0) text = i + 1;
      break;
    }
    if (word.length < 2 || word[0] !== '-') {
      if (text >= 0) continue;
      text = i;
      if (!program.permutes) break;
    } else if (word.startsWith('--')) {
      if (!program.longs.has(word.split('=', 1)[0] ?? '')) return none;
    } else {
      const values = valuesOf(word, program);
      if (values < 0) return none;
      i += values;
    }
  }
  if (given.size === 0 && text >= 0) given.add(text);
  return new Set([...given, ...separators]);
}

/**
 * How many words after a cluster of short options are values of it: 0 or 1; -1 when one of the options is not known.
 */
function valuesOf(cluster: string, { flags, valued }: TextProgram): number {
  for (let i = 1; i < cluster.length; i++) {
    const letter = cluster[i] as string;
    if (valued.includes(letter)) return i === cluster.length - 1 ? 1 : 0;
    if (!flags.includes(letter)) return letter === '.' && cluster[i - 1] === 'i' ? 0 : -1;
  }
  return 0;
}

function gitMessages(words: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (let i = 2; i < words.length; i++) {
    const word = words[i] as string;
    if (word === '--') break;
    if (/^--message=/.test(word)) found.add(i);
    else if (word === '--message' || /^-[aqsvn]*m$/.test(word)) found.add(++i);
  }
  return found;
}

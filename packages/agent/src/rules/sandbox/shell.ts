// Reads a command line that is one simple command: plain words, quotes and wildcards. All other syntax is refused.

/** One word after its quotes are removed. */
export interface ShellWord {
  readonly text: string;
  /** Each live wildcard of a glob as a mark from `wildcards`; null for a word without any. */
  readonly glob: string | null;
}

/** Marks for `*`, `?` and `[` where a shell gives these characters a meaning; private characters of Unicode. */
export const wildcards = { '*': '\ue000', '?': '\ue001', '[': '\ue002' } as const;

export const literalWord = (text: string): ShellWord => ({ text, glob: null });

/** One piece of a line. A redirection duplicates standard output or error, or leads to `/dev/null`. */
const piece = new RegExp(
  [
    '(?<blank>[ \\t]+)',
    '(?<joined>\\\\\\n)',
    '(?<redirection>&>>?[ \\t]*/dev/null(?=[ \\t]*$)|[12]?(?:>&[12]|>>?[ \\t]*/dev/null)(?![^ \\t])|<[ \\t]*/dev/null(?![^ \\t]))',
    "'(?<single>[^']*)'",
    '"(?<double>(?:[^"\\\\$`]|\\\\[^\\n])*)"',
    '\\\\(?<escaped>[^\\n\\r])',
    '(?<wildcard>[*?[])',
    '(?<plain>[^ \\t\\n\\r\'"\\\\$`;&|<>(){}*?[]+)',
  ].join('|'),
  'y',
);
/** Control characters, and the marks of wildcards. */
const unreadable = /[^\P{Cc}\t\n\r]|[\ue000-\ue002]/u;

/** The words of a line; null when the line is anything but one simple command whose words are known as they stand. */
export function readCommand(text: string): readonly ShellWord[] | null {
  let end = text.length;
  while (end > 0 && ' \t\n'.includes(text[end - 1] as string)) end--;
  const line = text.slice(0, end).replace(/^[ \t\n]+/, '');
  if (unreadable.test(line)) return null;
  const words: ShellWord[] = [];
  /** With the marks of wildcards. */
  let word: string | null = null;
  for (let at = 0; at < line.length; at = piece.lastIndex) {
    piece.lastIndex = at;
    const groups = piece.exec(line)?.groups;
    if (!groups) return null;
    const { blank, joined, redirection, single, double, escaped, wildcard, plain } = groups;
    // Digits before a redirection are its descriptor, whatever they belong to.
    if (redirection !== undefined && /\d$/.test(word ?? '')) return null;
    // A comment, and `~` where a shell may take it for a home folder.
    if (word === null && plain?.startsWith('#')) return null;
    if (plain?.includes('~') && /(?:^|[=:])~/.test((word ?? '').slice(-1) + plain)) return null;
    if ((blank ?? redirection) !== undefined) {
      if (word !== null) words.push(wordOf(word));
      word = null;
    } else if (joined === undefined) {
      const literal = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
      word = (word ?? '') + (literal ?? wildcards[wildcard as keyof typeof wildcards]);
    }
  }
  if (word !== null) words.push(wordOf(word));
  return words;
}

function wordOf(marked: string): ShellWord {
  // A `[` that nothing closes is itself.
  const glob = /\ue002..*\]/s.test(marked) ? marked : marked.replaceAll(wildcards['['], '[');
  const text = glob.replace(/[\ue000-\ue002]/g, (mark) => '*?['[mark.charCodeAt(0) - 0xe000] ?? mark);
  return { text, glob: text === glob ? null : glob };
}

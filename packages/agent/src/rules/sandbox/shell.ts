// Reads a command line that is one simple command: plain words, quotes and wildcards. All other syntax is refused.

/** One word after its quotes are removed. */
export interface ShellWord {
  readonly text: string;
  /** A shell replaces the word by the names that it matches. */
  readonly isGlob: boolean;
}

const { raw } = String;
/** Quoted characters, or a line that is continued. */
const quoted = raw`'([^']*)'|"((?:[^"\\$\x60]|\\[^\n])*)"|\\([^\n\r])|\\\n`;
/** Characters that mean themselves, `#` and `~` only where no comment and no home folder may begin. */
const bare = raw`[^ \t\n\r'"\\$\x60;&|<>(){}#~]|(?<=[^ \t\n])#|(?<=[^\s=:'"])~`;
const toNull = raw`[ \t]*/dev/null(?![^ \t\n])`;
/** One piece of a line. A redirection duplicates standard output or error, or leads to `/dev/null`. */
const piece = new RegExp(
  [
    raw`^[ \t\n]+|(?:[ \t]|\\\n)+|[ \t\n]+$`,
    raw`(?<![^ \t\n])(?:[12]?(?:>&[12](?![^ \t\n])|>>?${toNull})|<${toNull}|&>>?${toNull}(?=[ \t\n]*$))`,
    raw`(?<word>(?:${quoted}|${bare})+)`,
  ].join('|'),
  'y',
);
const quotes = new RegExp(quoted, 'g');
/** Control characters, and a line that nothing continues. */
const unreadable = /[^\P{Cc}\t\n\r]|\\\n[ \t\n]*$/u;

/** The words of a line; null when the line is anything but one simple command whose words are known as they stand. */
export function readCommand(line: string): readonly ShellWord[] | null {
  const words: ShellWord[] = [];
  for (let at = 0; at < line.length; at = piece.lastIndex) {
    piece.lastIndex = at;
    const groups = piece.exec(line)?.groups;
    const word = groups?.word === undefined ? undefined : wordOf(groups.word);
    if (!groups || word === null) return null;
    if (word) words.push(word);
  }
  return unreadable.test(line) ? null : words;
}

/** The word that a shell makes of its source; null where a character may be a wildcard or none. */
function wordOf(source: string): ShellWord | null {
  const text = source.replace(quotes, (_, single?: string, double?: string, escaped?: string) => {
    return single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '';
  });
  const [marks, bareMarks] = [text, source.replace(quotes, '')].map((one) => one.replace(/[^*?[]/g, ''));
  // A `[` that nothing closes is itself.
  const isGlob = bareMarks !== '' && /[*?]|^[^[]*\[.+\]/s.test(text);
  return isGlob && marks !== bareMarks ? null : { text, isGlob };
}

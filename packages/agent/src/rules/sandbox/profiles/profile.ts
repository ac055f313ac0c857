// The form of a command profile.

export const wordKinds = [
  'flag',
  'text',
  'number',
  'path',
  'host',
  'word',
  'remote',
  'ref',
  'words',
  'command',
] as const;
/**
 * The content of a word. `text` is not judged. `word`: a path or a URL if it looks like one; `words`: the same for
 * programs without a profile. `remote`: a path, or `host:path`. `ref`: a word, or `host:path` if the host has a dot
 * or an `@`. `command`: the first word of another command.
 */
export type WordKind = (typeof wordKinds)[number];

/** The words of one program, or of one of its subcommands. */
export type CommandProfile = {
  /**
   * Names of options by the kind of their value, with blanks between: `{flag: "-v --verbose", path: "-o"}`. `-#`
   * stands for a dash and digits, `*` for every other option. Absent: a word that begins with a dash is an operand.
   */
  readonly options?: { readonly [kind in WordKind]?: string };
  /** Kinds of operands in order; the last one repeats. Default: no operand is allowed. */
  readonly operands?: readonly WordKind[];
  /** Words behind the first operand are operands. Default false. */
  readonly stops?: boolean;
  /** Options that replace the first operand, such as `-e` of grep. */
  readonly instead?: string;
  /** Short options whose text may follow the letter in the same word. */
  readonly attached?: string;
  /** Values of an option, with blanks between. One that ends with `=` or `.` is a prefix. */
  readonly values?: { readonly [option: string]: string };
  readonly subcommands?: { readonly [name: string]: CommandProfile };
};

/** Profiles by the name of the program. */
export type CommandProfiles = { readonly [program: string]: CommandProfile };

/** The profile of programs that have none. */
export const withoutProfile: CommandProfile = { options: { words: '*' }, operands: ['words'] };

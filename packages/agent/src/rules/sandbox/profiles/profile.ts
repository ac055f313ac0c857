// The form of a command profile, and its short forms in the data of programs.

const any = /^/;

/** The kinds of words, each with the form of its values: a value of another form leaves every sandbox. */
export const forms = {
  flag: any,
  /** Not judged. */
  text: any,
  number: /^[+-]?\d[\d.,+-]*[A-Za-z%]{0,2}$/,
  path: any,
  /** Curl expands braces and ranges itself: in a scheme or a host they spell another one. */
  host: /^(?:(?!.*file:)[^/{[]*\/|[^{[]*$)/is,
  /** A path or a URL if it looks like one. */
  word: any,
  /** A path, or `host:path`. */
  remote: any,
  /** A path, or the archive `host:path`. */
  archive: any,
  /** A word, or `host:path` if the host has a dot or an `@`. */
  ref: any,
  /** A word of a program without a profile: no file behind an `@`, no path behind the letter of an option. */
  words: /^(?!@|.*=@|-[A-Za-z][^=]*\/)/s,
  /** The first word of another command. */
  command: any,
};

/** The content of a word. */
export type WordKind = keyof typeof forms;
export const wordKinds = Object.keys(forms) as WordKind[];

/** The words of one program, or of one of its subcommands. */
export type CommandProfile = {
  /**
   * Names of options by the kind of their value, with blanks between: `{flag: "-v --verbose", path: "-o"}`. `-#`
   * stands for a dash and digits. Absent: a word that begins with a dash is an operand.
   */
  readonly options?: { readonly [kind in WordKind]?: string };
  /** Kinds of operands in order; the last one repeats. Default: no operand is allowed. */
  readonly operands?: readonly WordKind[];
  /** Words behind the first operand are operands. Default false. */
  readonly stops?: boolean;
  /** Options that replace the first operand, such as `-e` of grep. They stand before the operands. */
  readonly instead?: string;
  /** Short options whose text may follow the letter in the same word. */
  readonly attached?: string;
  /** Values of an option, with blanks between. One that ends with `=` or `.` is a prefix. */
  readonly values?: { readonly [option: string]: string };
  readonly subcommands?: { readonly [name: string]: CommandProfile };
};

/** Names in a list with blanks between. */
export const namesIn = (list = ''): readonly string[] => list.split(/\s+/).filter(Boolean);

/** Profiles by the name of the program. */
export type CommandProfiles = { readonly [program: string]: CommandProfile };

/** The profile of programs that have none. */
export const withoutProfile: CommandProfile = { operands: ['words'] };

/** Options of one letter each from a text of these letters, then long ones without their dashes. */
export const flags = (letters: string, longs = ''): string => {
  const longNames = namesIn(longs).map((name) => (name.startsWith('-') ? name : `--${name}`));
  return [...[...letters].map((letter) => `-${letter}`), ...longNames].join(' ');
};

/** A program with flags and operands of one kind. */
export const simple = (
  letters: string,
  longs = '',
  operands: readonly WordKind[] = ['path'],
  options: CommandProfile['options'] = {},
): CommandProfile => ({ options: { ...options, flag: flags(letters, longs) }, operands });

/** One profile under several names. */
export const underNames = (names: string, profile: CommandProfile) =>
  namesIn(names).map((name) => [name, profile] as const);

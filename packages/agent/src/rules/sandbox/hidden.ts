// Commands that a program finds in its words: behind the name of another program, in a variable, in an address. No
// profile permits them.
import {
  carriers,
  curlPattern,
  expanded,
  letters,
  lineOptions,
  plain,
  shells,
  subscript,
  variable,
} from './profiles/commands.ts';
import { inlineCode, nameOf, profiles } from './profiles/index.ts';
import type { CommandProfile } from './profiles/profile.ts';
import type { ReadWord } from './reader.ts';

/**
 * True if a word may hold a command that the profile does not name.
 * @param words the program first, then also those of a command that it runs and that have no role
 */
export function hidesCommand(
  words: readonly string[],
  roles: readonly ReadWord[],
  program: string,
  profile: CommandProfile | undefined,
): boolean {
  const own = words.slice(0, roles.length);
  const behind = (programs: RegExp): readonly string[] => {
    const at = own.findIndex((word, i) => (i > 0 || profile === undefined) && programs.test(nameOf(word)));
    return at < 0 ? [] : own.slice(at + 1);
  };
  const line = lineOptions.get(program);
  // The built-in profile of an interpreter names no option with code.
  const inline = profile === profiles[program] ? undefined : inlineCode.get(program);
  const isCurl = words.some((word) => /(?:^|\/)curl(?:\.exe)?$/i.test(word));
  return (
    // Letters that make tar run the next word: `tar cIf zstd out src`.
    (program.endsWith('tar') && /^[A-Za-z]*[IF]/.test(words[1] ?? '')) ||
    (shells.test(program) && words.some((word) => word.startsWith('+'))) ||
    // The letter of an option with a command may stand anywhere in a word.
    (carriers.test(program) && words.some((word) => /^-[A-Za-z]/.test(word) && !letters.test(word))) ||
    words.some((word, i) => line?.test(word) && !isPlain(words[i + 1] ?? '')) ||
    !behind(carriers).every(isPlain) ||
    behind(shells).some((word) => /^[-+](?=[A-Za-z]).*c/s.test(word)) ||
    own.some((word, i) => i > 0 && inline?.test(word)) ||
    own.some((word) => expanded.test(word) || !isPlain(variable.exec(word)?.[1] ?? '')) ||
    own.some((word, i) => roles[i]?.kind !== 'text' && subscript.test(word)) ||
    (isCurl && own.some((word) => curlPattern.test(word)))
  );
}

/** True if a shell reads a word as the same word, again and again. */
export const isPlain = (word: string): boolean => plain.test(word);

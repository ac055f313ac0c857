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
 * Whether a word may hold a command that the profile does not name.
 * @param words the program first, then also those of a command that it runs and that have no role
 */
export function hidesCommand(
  words: readonly string[],
  roles: readonly ReadWord[],
  program: string,
  profile: CommandProfile | undefined,
): boolean {
  // Letters that make tar run the next word: `tar cIf zstd out src`.
  if (program.endsWith('tar') && /^[A-Za-z]*[IF]/.test(words[1] ?? '')) return true;
  if (shells.test(program) && words.some((word) => word.startsWith('+'))) return true;
  // The letter of an option with a command may stand anywhere in a word.
  if (carriers.test(program) && words.some((word) => /^-[A-Za-z]/.test(word) && !letters.test(word)))
    return true;
  const line = lineOptions.get(program);
  if (words.some((word, i) => line?.test(word) && !plain.test(words[i + 1] ?? ''))) return true;
  let carrier = false;
  let shell = false;
  // The built-in profile of an interpreter names no option with code.
  const inline = profile === profiles[program] ? undefined : inlineCode.get(program);
  const isCurl = words.some((word) => /(?:^|\/)curl(?:\.exe)?$/i.test(word));
  for (const [i, word] of words.slice(0, roles.length).entries()) {
    const name = nameOf(word);
    if (carrier && !plain.test(word)) return true;
    if (shell && /^[-+](?=[A-Za-z]).*c/s.test(word)) return true;
    if (i > 0 && inline?.test(word)) return true;
    if (expanded.test(word) || !plain.test(variable.exec(word)?.[1] ?? '')) return true;
    if (roles[i]?.kind !== 'text' && subscript.test(word)) return true;
    if (isCurl && curlPattern.test(word)) return true;
    if (i > 0 || profile === undefined) {
      carrier ||= carriers.test(name);
      shell ||= shells.test(name);
    }
  }
  return false;
}

/** Whether a shell reads words as the same words, again and again. */
export const arePlain = (words: readonly string[]): boolean => words.every((word) => plain.test(word));

// Options as profiles list them: one-letter options from a text of their letters, then names of long ones.
import { type CommandProfile, namesIn, type WordKind } from './profile.ts';

/** @param longs without their dashes */
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

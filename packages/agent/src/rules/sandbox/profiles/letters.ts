// Options as profiles list them: one-letter options from a text of their letters, then names of long ones.
import type { CommandProfile, WordKind } from './profile.ts';

export const flags = (letters: string, longs = ''): string =>
  [...[...letters].map((letter) => `-${letter}`), ...longs.split(/\s+/).filter(Boolean).map(longName)].join(
    ' ',
  );

/** Long names are listed without their dashes. */
const longName = (name: string): string => (name.startsWith('-') ? name : `--${name}`);

/** A program with flags and operands of one kind. */
export const simple = (
  letters: string,
  longs = '',
  operands: readonly WordKind[] = ['path'],
  options: CommandProfile['options'] = {},
): CommandProfile => ({ options: { ...options, flag: flags(letters, longs) }, operands });

/** One profile under several names. */
export const underNames = (
  names: string,
  profile: CommandProfile,
): readonly (readonly [string, CommandProfile])[] => names.split(' ').map((name) => [name, profile] as const);

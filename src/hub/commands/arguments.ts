// The arguments of a command: one file at most, and options that are there or not.
import { parseArgs } from 'node:util';
import { UsageError } from './output.ts';

export interface Arguments<Name extends string> {
  /** The only word that is no option; null when there is none. */
  readonly file: string | null;
  readonly has: (option: Name | 'help' | 'json') => boolean;
}

/** @throws UsageError for anything else than one word and these options */
export function readArguments<Name extends string>(
  command: string,
  args: readonly string[],
  names: readonly Name[],
): Arguments<Name> {
  const options = Object.fromEntries(
    [...names, 'json', 'help'].map((name) => [
      name,
      { type: 'boolean' as const, ...(name === 'help' ? { short: 'h' } : {}) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length > 1)
      throw new UsageError(`The command takes one file, not ${positionals.length}.`);
    return { file: positionals[0] ?? null, has: (option) => values[option] === true };
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve ${command} --help.`);
  }
}

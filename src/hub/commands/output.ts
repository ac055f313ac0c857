// Output of commands: lines on standard error, results on standard output, and errors as one line.

import { HubError } from '../../shared/error.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { visible } from '../../shared/visible-text.ts';

/** For people: names of files and texts of a hub may contain what a terminal obeys. */
export const say = (text: string): void => {
  process.stderr.write(`${visible(text)}\n`);
};

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** The command line does not fit; the message names what does. */
export class UsageError extends Error {}

/** The words of an error: one line for what was to be expected, the place of the fault for anything else. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof HubError || error instanceof UsageError || 'syscall' in error) return error.message;
  return error.stack ?? error.message;
}

/** 1: refused, 2: wrong usage, 3: the hub is not in the state that was read. */
function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  return error instanceof HubError && error.code === 'changed' ? 3 : 1;
}

/** Runs a command; one that fails prints the words of its error. Returns the exit code, undefined after success. */
export async function runCommand(command: () => Promise<void>): Promise<number | undefined> {
  try {
    await command();
    return undefined;
  } catch (error) {
    say(wordsOf(error));
    return exitCodeOf(error);
  }
}

/** @throws HubError when the data is not in a folder */
export function refuseCluster(isCluster: boolean): void {
  if (!isCluster) return;
  throw new HubError(
    'conflict',
    'MONGODB_URL is set, so the data is in MongoDB and Redis. Back up and restore them with their own tools (docs/cluster.md).',
  );
}

export interface CommandResult {
  /** For programs, printed with `--json`, its names in snake_case. */
  readonly result: object;
  /** For people, a line each. */
  readonly words: readonly string[];
}

/** Prints what a command did, or why it could not, as people or programs want it. */
export async function answer(
  { help, json }: { readonly help: string | null; readonly json: boolean },
  task: () => Promise<CommandResult>,
): Promise<void> {
  if (help !== null) return print(help.trimEnd());
  try {
    const { result, words } = await task();
    print(json ? JSON.stringify(snakeKeys({ ...result })) : visible(words.join('\n')));
  } catch (error) {
    if (!json) throw error;
    const code = error instanceof HubError ? error.code : 'internal';
    print(JSON.stringify({ error: { code, message: wordsOf(error) } }));
    process.exitCode = exitCodeOf(error);
  }
}

// Commands of the program `reeve`, called in the process of the tests and ended as the program ends them.
import { runCommand } from '../../src/hub/commands/output.ts';
import { type CommandRun, runHere } from '../run-here.ts';

export type Command = (args: readonly string[]) => Promise<void>;

/** One call at a time. @param env all of its variables but PATH, as of a hub process */
export const callCommand = (
  command: Command,
  args: readonly string[],
  env: { readonly [name: string]: string },
): Promise<CommandRun> => runHere(() => runCommand(() => command(args)), { env, hasOnlyEnv: true });

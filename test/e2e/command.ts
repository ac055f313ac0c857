// Commands of the program `reeve`, called in the process of the tests and ended as the program ends them.
import { exitCodeOf, say, wordsOf } from '../../src/hub/commands/output.ts';
import { type CommandRun, runHere } from '../run-here.ts';

export type Command = (args: readonly string[]) => Promise<void>;

/** One call at a time. @param env variables beside those of the tests */
export const callCommand = (
  command: Command,
  args: readonly string[],
  env: { readonly [name: string]: string },
): Promise<CommandRun> =>
  runHere(
    async () => {
      try {
        await command(args);
        return undefined;
      } catch (error) {
        say(wordsOf(error));
        return exitCodeOf(error);
      }
    },
    { env },
  );

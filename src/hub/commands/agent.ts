// Commands that work without a hub: handed on to the agent library's program, `reeve-agent`, in this process. Knows
// none of them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Runs `reeve-agent <word> …`, which sets the exit code and prints its own errors. */
export const handOn =
  (word: string) =>
  async (args: readonly string[]): Promise<void> => {
    const manifest = createRequire(import.meta.url).resolve('reeve-agent/package.json');
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      readonly bin: { readonly 'reeve-agent': string };
    };
    const program = join(dirname(manifest), bin['reeve-agent']);
    // Its arguments are those of the process, and so is the program that it starts again beside itself.
    process.argv.splice(1, process.argv.length, program, word, ...args);
    await import(pathToFileURL(program).href);
  };

// The program `reeve-agent` as tests run it: a process of the compiled one, or of its source where that is newer; or
// its function, called in the process of the tests.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled } from '../../../test/compiled.ts';
import { type CommandRun, type RunOptions, runHere } from '../../../test/run-here.ts';

/** Arguments of `node` that run the program, before the program's own. */
export function programArgs(): string[] {
  const file = compiled('packages/agent/src/cli/main.ts');
  if (file) return [fileURLToPath(file)];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return ['--import', loader, join(import.meta.dirname, '../src/cli/main.ts')];
}

type Main = typeof import('../src/cli/main.ts');

/** The program's module runs the program as it is loaded. */
async function load(): Promise<Main> {
  const { argv } = process;
  process.argv = [...argv.slice(0, 2), '--version'];
  try {
    let main: Main | undefined;
    await runHere(async () => {
      main = await import('../src/cli/main.ts');
      return 0;
    });
    if (!main) throw new Error('the program did not load');
    return main;
  } finally {
    process.argv = argv;
  }
}

let mainModule: Promise<Main> | undefined;

/** Calls the program in this process, one call at a time. */
export async function callProgram(args: readonly string[], options: RunOptions = {}): Promise<CommandRun> {
  mainModule ??= load();
  const { run } = await mainModule;
  return runHere(() => run(args), options);
}

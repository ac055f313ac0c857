// The web console in a real browser. The measurement is loaded on demand: it needs the browser of the tests.

import { CannotRun } from '../suite/failure.ts';
import type { Scenario } from '../suite/results.ts';
import type { RunOptions } from './scenario.ts';

type ConsoleModule = { readonly runConsole: (options: RunOptions) => Promise<Scenario> };

// Not in the build, which has no browser: the suite runs from source.
const moduleUrl = new URL('../console/measure.ts', import.meta.url).href;

export async function measureConsole(options: RunOptions): Promise<Scenario> {
  if (!import.meta.url.endsWith('.ts'))
    throw new CannotRun('The console is measured from source: npm run bench.');
  const { runConsole } = (await import(moduleUrl)) as ConsoleModule;
  return runConsole(options);
}

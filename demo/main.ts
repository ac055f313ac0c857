#!/usr/bin/env node
// The demo's process: arguments, signals, exit code. story.ts contains the plot.
import { tell } from './story.ts';
import { Voice } from './voice.ts';

const help = `Reeve in one minute: a hub, six contracts and four agents, on this machine alone.

  npm run demo                  waits for you to decide one call, in the web console it prints a link to
  npm run demo -- --approve     approves it by itself
  npm run demo -- --once        for scripts: asks nobody; exit code 0 when everything went as the contracts say
  npm run -s demo -- --json     one JSON object per line instead of words

It uses loopback and a temporary folder, which is removed at the end. Ctrl-C ends it early.
`;
const options = new Set(['--once', '--approve', '--json', '--help', '-h']);

async function run(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => !options.has(arg));
  if (unknown !== undefined) {
    process.stderr.write(`Unknown argument ${unknown}.\n\n${help}`);
    return 2;
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help);
    return 0;
  }
  const stop = new AbortController();
  let code = 0;
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    process.on(signal, () => {
      code = 128 + number;
      stop.abort(new Error(`ended by ${signal}`));
    });
  }
  const voice = new Voice(args.includes('--json'));
  try {
    const approve = args.includes('--once') || args.includes('--approve');
    const problems = await tell({ voice, approve, signal: stop.signal });
    for (const problem of problems) process.stderr.write(`Not as it should be: ${problem}\n`);
    if (problems.length > 0) return 1;
    voice.tell(
      'done',
      {},
      '\nEverything went as the contracts say. The hub is stopped and its folder removed.',
    );
    return 0;
  } catch (failure) {
    if (code === 0) throw failure;
    voice.tell('stopped', {}, '\nEnded early. The hub is stopped and its folder removed.');
    return code;
  }
}

run(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (failure: unknown) => {
    process.stderr.write(`The demo failed: ${failure instanceof Error ? failure.stack : String(failure)}\n`);
    process.exit(1);
  },
);

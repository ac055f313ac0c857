// Runs all suites, one after another: embedded, browser, cluster and other versions of Node. A suite that fails does
// not stop the next ones, so that one run shows all failures; the exit code is 1 if one failed. In CI, a suite that has
// not ended after 15 minutes is ended and counts as one failure.
import { spawn } from 'node:child_process';

/** Several times what the longest suite takes. */
const limitMs = 15 * 60_000;
const isBounded = Boolean(process.env.CI) && !process.env.NIGHTLY;

const suites = [
  ['scripts/test-suite.mjs'],
  ['scripts/test-suite.mjs', '--config', 'vitest.browser.config.ts'],
  ['scripts/test-cluster-and-nodes.mjs'],
];

/** Resolves with whether the suite passed. */
function run(args) {
  // A group of its own can be ended with all that it started. Ctrl-C ends the group of a terminal alone.
  const child = spawn(process.execPath, args, { stdio: 'inherit', detached: isBounded });
  const end = () => {
    process.stdout.write(`${args.join(' ')} did not end within ${limitMs / 60_000} minutes.\n`);
    process.stdout.write('Suite: 0 passed, 1 failed\n');
    process.kill(-child.pid, 'SIGKILL');
  };
  const timer = isBounded ? setTimeout(end, limitMs) : undefined;
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

for (const suite of suites) {
  if (!(await run(suite))) process.exitCode = 1;
}

// Runs all suites, one after another: embedded, browser, cluster and other versions of Node. A suite that fails does
// not stop the next ones, so that one run shows all failures; the exit code is 1 if one failed. In CI, a suite that has
// not ended after 12 minutes is ended and counts as one failure. A signal ends the suite with all that it started.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** Twice what the longest suite takes. */
const limitMs = 12 * 60_000;
const isBounded = Boolean(process.env.CI) && !process.env.NIGHTLY;

const suites = [
  ['scripts/test-suite.mjs'],
  ['scripts/test-suite.mjs', '--config', 'vitest.browser.config.ts'],
  ['scripts/test-cluster-and-nodes.mjs'],
];

let current = null;

/** Ends the suite of the moment: in CI its whole group, elsewhere the process, whose terminal signals the others. */
function end(signal) {
  if (!current?.pid) return;
  try {
    process.kill(isBounded ? -current.pid : current.pid, signal);
  } catch {
    // It has just ended.
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    end(isBounded ? 'SIGKILL' : signal);
    process.exit(128 + constants.signals[signal]);
  });
}

/** Resolves with whether the suite passed. */
function run(args) {
  // A group of its own can be ended with all that it started.
  const child = spawn(process.execPath, args, { stdio: 'inherit', detached: isBounded });
  current = child;
  const stop = () => {
    process.stdout.write(`${args.join(' ')} did not end within ${limitMs / 60_000} minutes.\n`);
    process.stdout.write('Suite: 0 passed, 1 failed\n');
    end('SIGKILL');
  };
  const timer = isBounded ? setTimeout(stop, limitMs) : undefined;
  return new Promise((resolve) => {
    const settle = (passed) => {
      clearTimeout(timer);
      resolve(passed);
    };
    child.once('error', () => settle(false));
    child.once('close', (code) => settle(code === 0));
  });
}

for (const suite of suites) {
  if (!(await run(suite))) process.exitCode = 1;
}

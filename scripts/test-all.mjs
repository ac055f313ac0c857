// Builds, then runs suites one after another: node test-all.mjs [SUITE…]; without names all of them. A suite that fails
// does not stop the next ones, so that one run shows all failures; the exit code is 1 if one failed. In CI, a suite
// that has not ended after 12 minutes is ended and counts as one failure. A signal ends the suite with all that it
// started.
import { spawn } from 'node:child_process';
import { endAll, endWithSignal } from './end-with-signal.mjs';

/** Twice what the longest suite takes. */
const limitMs = 12 * 60_000;
const isBounded = Boolean(process.env.CI) && !process.env.NIGHTLY;

const suites = [
  {
    name: 'embedded',
    about: 'the hub in one process with its own store, the agent library, conventions and documents',
    args: ['scripts/test-suite.mjs'],
  },
  {
    name: 'browser',
    about: 'the web console in Chromium',
    args: ['scripts/test-suite.mjs', '--config', 'vitest.browser.config.ts'],
  },
  {
    name: 'cluster',
    about: 'Redis, MongoDB, hubs of several nodes, and the other versions of Node',
    args: ['scripts/test-cluster-and-nodes.mjs'],
  },
];

const names = suites.map(({ name }) => name).join(', ');
const suiteNames = process.argv.slice(2);
// For .ci/run.
if (suiteNames.includes('--names')) {
  process.stdout.write(`${names}\n`);
  process.exit(0);
}
if (suiteNames.includes('--help')) {
  process.stdout.write('Usage: npm test -- [SUITE…]; without names, all suites.\n');
  for (const { name, about } of suites) process.stdout.write(`  ${name.padEnd(9)} ${about}\n`);
  process.exit(0);
}
const invalidNames = suiteNames.filter((name) => !suites.some((suite) => suite.name === name));
if (invalidNames.length > 0) {
  process.stderr.write(`There is no suite ${invalidNames.join(', ')}. Suites: ${names}\n`);
  process.exit(2);
}

/** The process of the moment. */
const children = new Set();
endWithSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], children);

/** Resolves with whether the program passed. */
function run(program, args) {
  const child = spawn(program, args, { stdio: 'inherit' });
  children.add(child);
  const stop = () => {
    process.stdout.write(`${args.join(' ')} did not end within ${limitMs / 60_000} minutes.\n`);
    process.stdout.write('Suite: 0 passed, 1 failed\n');
    // It ends all that it started; later what is left dies.
    child.kill('SIGTERM');
    setTimeout(() => endAll('SIGKILL', children), 10_000).unref();
  };
  const timer = isBounded ? setTimeout(stop, limitMs) : undefined;
  return new Promise((resolve) => {
    const settle = (passed) => {
      clearTimeout(timer);
      children.delete(child);
      resolve(passed);
    };
    child.once('error', () => settle(false));
    child.once('close', (code) => settle(code === 0));
  });
}

if (!(await run('npm', ['run', '-s', 'build']))) process.exit(1);
for (const { name, args } of suites) {
  if (suiteNames.length > 0 && !suiteNames.includes(name)) continue;
  if (!(await run(process.execPath, args))) process.exitCode = 1;
}

// Everything at full counts, one step after another: node test-nightly.mjs [--seed S] [--only NAME,…] [--list]. A step
// that fails does not stop the next ones. The last lines name each step with its seconds and result; exit code 1 if one
// failed. Takes hours on two cores. A seed that finds a failure becomes a test that runs with each commit.
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    // Another search each night, and one text that repeats it.
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});
const { seed } = values;
const numberOfSeed = [...seed].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2_147_483_647, 7);

const node = (...args) => [process.execPath, ...args];
const typescript = (...args) => node('--import', 'tsx', ...args);

/** The order is that of the benefit: what fails first is known first. */
const steps = [
  {
    name: 'tests',
    about: 'npm test, with random searches at full count, and SEED and SANDBOX_SEED from the seed',
    command: ['npm', 'test'],
    env: { NIGHTLY: '1', SEED: seed, SANDBOX_RUNS: '20000', SANDBOX_SEED: String(numberOfSeed) },
  },
  {
    name: 'nodes',
    about: 'the whole agent library and the edge on each version of Node',
    command: node('scripts/test-nodes.mjs', '--all'),
    env: { NIGHTLY: '1' },
  },
  {
    name: 'fuzz-agent',
    about: '400,000 random calls through guard, MCP proxy and hook each',
    command: typescript('test/fuzz/run.ts', '--agent', '--steps', '400000', '--seed', seed),
  },
  {
    name: 'fuzz-hub',
    about: 'an hour of random requests against a hub process',
    command: typescript('test/fuzz/run.ts', '--seconds', '3600', '--seed', seed),
  },
  {
    name: 'chaos',
    about:
      'every promise of docs/reliability.md in its long form, under two seeds; a seed takes seven minutes',
    command: typescript('test/cluster/chaos/run.ts', '--seeds', chaosSeeds()),
  },
  {
    name: 'chaos-embedded',
    about: 'one embedded hub, killed again and again, under five seeds',
    command: typescript('test/cluster/chaos/run.ts', '--embedded', '--seeds', '5'),
  },
];

/** Two of the seeds 1 to 1,000, other ones each night. */
function chaosSeeds() {
  const first = 1 + (numberOfSeed % 999);
  return `${first}-${first + 1}`;
}

function run({ command: [program, ...args], env = {} }) {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

const chosen = values.only?.split(',');
const unknown = chosen?.filter((name) => !steps.some((step) => step.name === name)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(
    `There is no step ${unknown.join(', ')}. Steps: ${steps.map(({ name }) => name).join(', ')}\n`,
  );
  process.exit(2);
}
const selected = steps.filter(({ name }) => chosen?.includes(name) ?? true);
if (values.list) {
  for (const { name, about } of selected) process.stdout.write(`${name.padEnd(15)} ${about}\n`);
  process.exit(0);
}

const results = [];
for (const step of selected) {
  process.stdout.write(`\n== ${step.name}, seed ${seed}: ${step.about}\n`);
  const began = Date.now();
  const isPassed = await run(step);
  results.push(
    `${step.name.padEnd(15)} ${Math.round((Date.now() - began) / 1_000)} s  ${isPassed ? 'passed' : 'FAILED'}`,
  );
  if (!isPassed) process.exitCode = 1;
}
process.stdout.write(`\nNightly, seed ${seed}:\n${results.join('\n')}\n`);

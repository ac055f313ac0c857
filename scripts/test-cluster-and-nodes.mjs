// Runs the suites of the cluster's adapters and, beside them, the tests on the other versions of Node; then the fleets,
// and alone, at the end, the promises while nodes die, which are times. The output from the tests on other versions is
// printed at their end, in one piece. They also go on beside the second run of a suite's failed files.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { endWithSignal } from './end-with-signal.mjs';

/** So that the adapters' suites, some of which bound times, go first. */
const politely = 15;

const children = new Set();
endWithSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], children);

function run(args, stdio) {
  const child = spawn(process.execPath, args, { stdio });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}
const ended = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code === 0)));
const cluster = (...projects) => {
  const config = ['--config', 'vitest.cluster.config.ts', ...projects.flatMap((name) => ['--project', name])];
  return ended(run(['scripts/test-suite.mjs', ...config], 'inherit'));
};

const nodes = run(['scripts/test-nodes.mjs'], ['ignore', 'pipe', 'pipe']);
setPriority(nodes.pid, politely);
const printed = [];
for (const stream of [nodes.stdout, nodes.stderr]) stream.on('data', (chunk) => printed.push(chunk));

const passed = await Promise.all([cluster('adapters'), ended(nodes)]);
process.stdout.write(Buffer.concat(printed));
passed.push(await cluster('nodes', 'chaos'));
process.exitCode = passed.every(Boolean) ? 0 : 1;

// Runs the suites of the cluster's adapters, then the fleets, whose promises are times and which mostly wait. Beside
// both, the tests on the other versions of Node take the processor time that is left. Their output is printed at the
// end, in one piece. They also go on beside the second run of a suite's failed files.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { endWithSignal } from './end-with-signal.mjs';

/** So that the adapters' suites and the fleets, which bound times, go first. */
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
const cluster = (project) => {
  const config = ['--config', 'vitest.cluster.config.ts', '--project', project];
  return ended(run(['scripts/test-suite.mjs', ...config], 'inherit'));
};

const nodes = run(['scripts/test-nodes.mjs'], ['ignore', 'pipe', 'pipe']);
setPriority(nodes.pid, politely);
const printed = [];
for (const stream of [nodes.stdout, nodes.stderr]) stream.on('data', (chunk) => printed.push(chunk));

const nodesPassed = ended(nodes);
const passed = [await cluster('adapters'), await cluster('nodes'), await nodesPassed];
process.stdout.write(Buffer.concat(printed));
process.exitCode = passed.every(Boolean) ? 0 : 1;

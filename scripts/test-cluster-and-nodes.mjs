// Runs the cluster's suites and, beside them, those on the other versions of Node: the first wait for leases, deadlines
// and services for much of their time. What the second print comes at their end, in one piece.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

/** So that a node of a fleet, whose promises are times, is not kept from the processor. */
const politely = 15;

const run = (args, stdio) => spawn(process.execPath, args, { stdio });
const ended = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code === 0)));

const nodes = run(['scripts/test-nodes.mjs'], ['ignore', 'pipe', 'pipe']);
setPriority(nodes.pid, politely);
const printed = [];
for (const stream of [nodes.stdout, nodes.stderr]) stream.on('data', (chunk) => printed.push(chunk));
const cluster = run(
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.cluster.config.ts'],
  'inherit',
);

const passed = await Promise.all([ended(cluster), ended(nodes)]);
process.stdout.write(Buffer.concat(printed));
process.exitCode = passed.every(Boolean) ? 0 : 1;

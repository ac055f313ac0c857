// Runs the suite of the web console and, beside it, those on the other versions of Node: the first waits for a browser
// half of the time, and alone they take a quarter longer. What the second print comes at their end, in one piece.
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

/** So that a test in the browser that waits for something is not kept from it. */
const politely = 5;

const run = (args, stdio) => spawn(process.execPath, args, { stdio });
const ended = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code === 0)));

const nodes = run(['scripts/test-nodes.mjs'], ['ignore', 'pipe', 'pipe']);
setPriority(nodes.pid, politely);
const printed = [];
for (const stream of [nodes.stdout, nodes.stderr]) stream.on('data', (chunk) => printed.push(chunk));
const browser = run(
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.browser.config.ts'],
  'inherit',
);

const passed = await Promise.all([ended(browser), ended(nodes)]);
process.stdout.write(Buffer.concat(printed));
process.exitCode = passed.every(Boolean) ? 0 : 1;

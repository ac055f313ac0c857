// Runs npm scripts at the same time and prints the output of each at its end, in one piece:
// node side-by-side.mjs SCRIPT…. The exit code is 1 if one of them failed; the others run to their end.
import { spawn } from 'node:child_process';
import { endWithSignal } from './end-with-signal.mjs';

const children = new Set();
// Ctrl-C reaches all processes of a terminal.
endWithSignal(['SIGTERM', 'SIGHUP'], children);

/** Resolves with whether the script passed. */
function run(script) {
  const child = spawn('npm', ['run', '-s', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => {
      children.delete(child);
      process.stdout.write(Buffer.concat(printed));
      if (code !== 0) process.stdout.write(`${script} failed.\n`);
      resolve(code === 0);
    });
  });
}

const passed = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = passed.every(Boolean) ? 0 : 1;

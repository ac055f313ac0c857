// Runs a suite of vitest and ends with the line "Suite: N passed, N failed": node test-suite.mjs [options of vitest].
// In CI, at most three files that failed beside other files run a second time, one after another, and the second result
// counts: a shared machine can stand still for seconds. Their names are printed. Nightly runs have no second time.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithSignal } from './end-with-signal.mjs';

/** More failures are no accident of the machine. */
const maxAgain = 3;
const vitest = 'node_modules/vitest/vitest.mjs';
const folder = mkdtempSync(join(tmpdir(), 'reeve-suite-'));

/** The run of the moment. */
const children = new Set();
// Ctrl-C reaches all processes of a terminal.
endWithSignal(['SIGTERM', 'SIGHUP'], children, () => rmSync(folder, { recursive: true, force: true }));

/**
 * Resolves with the results of each file; null if the run ended without any. `errors` belong to no test, such as the
 * crash of a worker; a file that it had not ended is named among the failures.
 */
function run(args) {
  const target = join(folder, 'results.json');
  rmSync(target, { force: true });
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    stdio: 'inherit',
    env: { ...process.env, RESULTS_FILE: target },
  });
  children.add(child);
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => {
      children.delete(child);
      try {
        const { files, errors } = JSON.parse(readFileSync(target, 'utf8'));
        const failed = files.filter((file) => file.failed > 0);
        resolve({
          files,
          errors,
          failed,
          isBroken: errors.length > 0 || (code !== 0 && failed.length === 0),
        });
      } catch {
        resolve(null);
      }
    });
  });
}

/** Options without the names of files. */
const optionsOf = (args) =>
  args.filter((word, i) => word.startsWith('-') || (args[i - 1] ?? '').startsWith('--'));

/** Prints failures in the last lines, however far above their whole text is. */
function tell(title, { files, errors }) {
  const lines = [...files.flatMap(({ failures }) => failures), ...errors];
  if (lines.length > 0) process.stdout.write(`\n${title}\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

/** The run that counts, and the first one if a second one counts. */
async function runSuite(args) {
  const first = await run(args);
  if (first === null || first.isBroken || first.failed.length === 0) return { result: first };
  const isAgain = process.env.CI && !process.env.NIGHTLY && first.failed.length <= maxAgain;
  if (!isAgain) return { result: first };
  const names = first.failed.map(({ path }) => path);
  process.stdout.write(`\nFailed beside other files, and run again one after another: ${names.join(', ')}\n`);
  const second = await run([...optionsOf(args), ...names, '--no-file-parallelism']);
  if (second === null || second.files.length < names.length) return { result: first };
  const passedBefore = first.files.filter(({ failed }) => failed === 0);
  return { first, result: { ...second, files: [...passedBefore, ...second.files] } };
}

const { first, result } = await runSuite(process.argv.slice(2));
rmSync(folder, { recursive: true, force: true });
if (first) tell('Failed beside other files (the second result counts):', first);
if (result) tell('Failed:', result);
else process.stdout.write('\nThe run ended without results.\n');
const sum = (key) => result?.files.reduce((total, file) => total + file[key], 0) ?? 0;
// What belongs to no test, such as the crash of a worker, is a failure beside those of tests.
const isBroken = result === null || result.isBroken;
const hasNone = !isBroken && sum('passed') + sum('failed') === 0;
if (hasNone) process.stdout.write('\nNo test ran.\n');
const failed = sum('failed') + (isBroken || hasNone ? 1 : 0);
process.stdout.write(`Suite: ${sum('passed')} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;

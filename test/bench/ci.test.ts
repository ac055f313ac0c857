// The scripts of .ci, with a stand-in for npm: which outputs and exit codes of the suite fail them, and which repeat;
// the names of suites that they take.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { root } from '../../bench/suite/root.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/**
 * Runs a script of .ci in a folder of its own.
 * @param npm body of the stand-in, which has the arguments of npm
 * @param args arguments of the script
 */
function runScript(name: string, npm: string, args: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-ci-test-'));
  folders.push(folder);
  for (const place of ['.ci', 'bin', 'dist/src', 'scripts'])
    mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, 'dist/src/main.js'), '');
  // The names of the suites are in the last two.
  for (const file of [`.ci/${name}`, 'scripts/test-all.mjs', 'scripts/end-with-signal.mjs'])
    copyFileSync(join(root, file), join(folder, file));
  const calls = join(folder, 'calls');
  const body = `#!/usr/bin/env bash\necho "$*" >> '${calls}'\ncalls=$(grep -cFx -- "$*" '${calls}')\n${npm}\n`;
  writeFileSync(join(folder, 'bin/npm'), body, { mode: 0o755 });
  writeFileSync(calls, '');
  const { status, stdout, stderr } = spawnSync('bash', [join('.ci', name), ...args], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
    encoding: 'utf8',
  });
  return { status, stdout, stderr, calls: readFileSync(calls, 'utf8').split('\n').slice(0, -1) };
}

const slowDownFigures = {
  'extra-statement': 'counts.statements',
  'extra-commit': 'counts.commits',
  'encode-per-client': 'counts.deploy_encodings',
  'busy-loop': 'counts.ingest_time',
  'leak-per-stream': 'counts.stream_heap',
};

/** `bench counts --slow NAME` prints the figure of NAME as missed and ends with 1, but for `unnoticed`. */
const countsThatNotice = (unnoticed: string): string =>
  [
    'case "$*" in',
    ...Object.entries(slowDownFigures).map(([name, id]) => {
      const [verdict, code] = name === unnoticed ? ['met', 0] : ['MISSED', 1];
      return `*"counts --slow ${name}") echo '  ${id}: 9 per 1,000 events; target ≤ 5: ${verdict}'; exit ${code} ;;`;
    }),
    'esac',
  ].join('\n');

describe('.ci/nightly', () => {
  it('passes when the counts notice each slow-down, although each notice ends with 1', () => {
    const { status, stdout, calls } = runScript('nightly', countsThatNotice(''));
    for (const name of Object.keys(slowDownFigures)) expect(stdout).toContain(`The guard notices ${name}.`);
    expect(status).toBe(0);
    expect(calls).toHaveLength(6);
  });

  it('fails, and names the slow-down, when the counts do not notice it', () => {
    const { status, stdout } = runScript('nightly', countsThatNotice('busy-loop'));
    expect(stdout).toContain('The guard does not notice busy-loop in counts.ingest_time.');
    expect(stdout).toContain('The guard notices extra-commit.');
    expect(status).toBe(1);
  });
});

describe('.ci/nightly-bench', () => {
  const words = (call: string | undefined): readonly string[] => call?.split(' -- ')[1]?.split(' ') ?? [];

  it('predicts from two sizes, with rounds as long as docs/scale.md asks for, and checks all of their files', () => {
    const { status, calls } = runScript('nightly-bench', '');
    expect(status).toBe(0);
    const predictions = calls.filter(
      (call) => call.includes('--agents 1250') || call.includes('--agents 5000'),
    );
    const files = predictions.map((call) => /--json (\S+)/.exec(call)?.[1] ?? '');
    expect(predictions.map((call) => call.replace(/ --quiet.*/, ''))).toEqual(
      ['1250', '5000'].flatMap((streams) => [
        `run -s bench -- idle --seconds 60 --agents ${streams}`,
        `run -s bench -- storm fanout owner --agents ${streams}`,
        `run -s bench -- cluster --seconds 30 --agents ${streams}`,
      ]),
    );
    expect(words(calls.at(-1))).toEqual(['scale', '--agents', '45000', '--check', 'nightly.json', ...files]);
    expect(new Set(files).size).toBe(6);
  });

  it('has its own arguments after those of each run, and fails when a run for a prediction could not run', () => {
    const npm = 'case "$*" in *"owner --agents 5000"*) exit 2 ;; *"idle --seconds 60"*) exit 1 ;; esac';
    const { status, calls } = runScript('nightly-bench', npm, ['--rounds', '1', '--seconds', '1']);
    expect(status).toBe(2);
    const runs = calls.filter((call) => !/ (?:rivals|scale) /.test(call));
    expect(runs.every((call) => call.endsWith(' --rounds 1 --seconds 1'))).toBe(true);
    expect(runs).toHaveLength(9);
  });
});

/** The tests pass; each run of the counts ends with the next code, and a missed figure with 1. */
const testsAndCounts = (...codes: readonly number[]): string =>
  [
    'case "$*" in',
    'test | test\\ --*) echo "Suite: 3 passed, 0 failed" ;;',
    `*counts) code=$(cut -d' ' -f"$calls" <<< '${codes.join(' ')}')`,
    '  if [ "$code" -eq 1 ]; then echo "  counts.commits: 9; target ≤ 5: MISSED"; fi',
    '  exit "$code" ;;',
    'esac',
  ].join('\n');

describe('.ci/run', () => {
  it.each([
    ['ends well with counts within their bands', [0], 0, '3 passed, 0 failed'],
    ['fails for a figure beyond its band, without a second run', [1, 0], 1, '3 passed, 1 failed'],
    ['fails for counts that could not run, without a second run', [2, 0], 2, '3 passed, 1 failed'],
    ['repeats a run without a verdict', [3, 0], 0, '3 passed, 0 failed'],
    ['fails for a figure beyond its band in the second run', [3, 1], 1, '3 passed, 1 failed'],
    ['lets the counts decide after two runs without a verdict', [3, 3], 0, '3 passed, 0 failed'],
  ] as const)('%s', (_, codes, status, summary) => {
    const run = runScript('run', testsAndCounts(...codes));
    expect({ status: run.status, summary: run.stdout.trim().split('\n').at(-1) }).toEqual({
      status,
      summary,
    });
    expect(run.calls.filter((call) => call.endsWith('counts'))).toHaveLength(codes[0] === 3 ? 2 : 1);
  });

  it('says in the log that the counts decide, and how many seconds each step took', () => {
    const { stdout } = runScript('run', testsAndCounts(3, 3));
    expect(stdout).toContain('The counts of the same run are within their bands, and decide.');
    expect(stdout).toMatch(/^Seconds: install \d+ s, tests \d+ s, counts \d+ s, counts \d+ s$/m);
  });

  const install = 'ci --no-fund --no-audit';
  const counts = 'run -s bench -- counts';

  it.each([
    [[], [install, 'test', counts], '3 passed, 0 failed'],
    [['browser', 'cluster'], [install, 'test -- browser cluster'], '3 passed, 0 failed'],
    [['embedded', 'counts'], [install, 'test -- embedded', counts], '3 passed, 0 failed'],
    [['counts'], [install, 'run -s build', counts], '0 passed, 0 failed'],
  ] as const)('runs for the names %j their suites alone', (names, calls, summary) => {
    const run = runScript('run', testsAndCounts(0), names);
    expect(run).toMatchObject({ status: 0, calls });
    expect(run.stdout.trim().split('\n').at(-1)).toBe(summary);
  });

  it('counts figures within their bands as passed', () => {
    const figures = `case "$*" in *counts) echo '  counts.commits: 3; target ≤ 5: met' ;; esac`;
    expect(runScript('run', figures, ['counts']).stdout).toMatch(/\n1 passed, 0 failed\n$/);
  });

  it('refuses an unknown name in one line, before it installs anything', () => {
    const { status, stderr, calls } = runScript('run', '', ['embedded', 'browsers']);
    expect({ status, stderr, calls }).toEqual({
      status: 2,
      stderr: 'There is no suite browsers. Suites: embedded, browser, cluster, counts\n',
      calls: [],
    });
  });
});

describe('npm test', () => {
  const testAll = (...args: readonly string[]) => {
    const run = spawnSync(process.execPath, ['scripts/test-all.mjs', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    return { status: run.status, stdout: run.stdout, stderr: run.stderr };
  };

  it('refuses an unknown name in one line, before it builds anything', () => {
    expect(testAll('browsers')).toEqual({
      status: 2,
      stdout: '',
      stderr: 'There is no suite browsers. Suites: embedded, browser, cluster\n',
    });
  });

  it('explains each suite of .ci/run in a line', () => {
    const { status, stdout } = testAll('--help');
    expect(status).toBe(0);
    expect([...stdout.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name)).toEqual([
      'embedded',
      'browser',
      'cluster',
    ]);
  });
});

// Wrong use of the suite is refused in one line before anything is measured, above all load on others' hubs.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { figureOf } from '../../bench/suite/figures.ts';
import { parseResults, type Results } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { checkUsage } from '../../bench/suite/usage-check.ts';
import { benchProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-usage-test-'));
const credentials = { REEVE_BENCH_KEYS: 'key' };
beforeAll(() => void Object.assign(process.env, credentials));
afterAll(() => {
  for (const name of Object.keys(credentials)) delete process.env[name];
  rmSync(folder, { recursive: true, force: true });
});

function runBench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...benchProgram, ...args], {
    cwd: root,
    env: { ...process.env, ...credentials },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const theirs = ['--url', 'https://hub.example.com'];
const local = ['--url', 'http://127.0.0.1:1'];

describe('the use of the suite', () => {
  it.each([
    [['ingest', ...theirs], 'Repeat the command with --yes-load hub.example.com'],
    [['--nightly', 'ingest', ...theirs], 'Repeat the command with --yes-load hub.example.com'],
    [['--guard', ...theirs], '--url goes with scenarios and --clean.'],
    [['counts', ...local], '--url goes with scenarios and --clean.'],
    [['scale', ...local], '--url goes with scenarios and --clean.'],
    [['compare', 'a', 'b', ...local], '--url goes with scenarios and --clean.'],
    [['ingest', '--hub', '.', ...local], '--hub and --url choose two hubs'],
    [['ingest', '--slow', 'busy-loop', ...local], '--slow and --profile need a hub that the suite starts'],
    [['ingest', 'fanout', ...local], 'fanout does not measure a hub of others: it deploys to production.'],
    [['--nightly', 'storm', ...local], 'storm does not measure a hub of others: each round needs a new hub.'],
    [['library', '--slow', 'busy-loop'], 'library starts no hub: leave --slow and --profile out.'],
    [['owner', '--profile'], 'owner starts no hub: leave --slow and --profile out.'],
    [['ingest', '--yes-load', 'a'], '--yes-load goes with --url.'],
    [['--clean', 'bench-00000000'], '--clean goes with --url.'],
    [['ingest', '--clean', 'bench-00000000', ...local], '--clean takes no scenario: ingest.'],
    [['ingest', '--write-bands'], '--write-bands goes with counts.'],
    [['compare', 'a', 'b', '--json', 'c'], '--json goes with scenarios, counts, --guard and scale.'],
    [['scale', 'a', '--json', 'c'], 'scale with files measures nothing: leave --json and --html out.'],
    [['--nightly', '--full'], '--nightly has sizes of its own: leave --full out.'],
    [['ingest', '--base', 'main'], '--base goes with --guard.'],
    [['ingest', '--check', 'a'], '--check goes with scale.'],
    [['--guard', 'ingest'], '--guard takes no command: ingest.'],
    [['--guard', '--false-alarms', '50', '--slow', 'busy-loop'], 'leave --base and --slow out'],
  ])('is refused for %j', (args, message) => {
    expect(() => checkUsage(parseArguments(args))).toThrow(message);
  });

  it.each([
    [['ingest', '--url', 'https://hub.example.com', '--yes-load', 'hub.example.com']],
    [['--nightly', 'ingest', ...local]],
    [['--clean', 'bench-00000000', ...local]],
    [[...local]],
    [['report', 'a', '--html', 'b']],
    [['scale', '--json', 'a']],
    [['cluster', '--slow', 'busy-loop', '--profile']],
    [['--guard', '--slow', 'busy-loop', '--base', 'main', '--json', 'a']],
    [['counts', '--write-bands']],
  ])('is right for %j', (args) => {
    expect(() => checkUsage(parseArguments(args))).not.toThrow();
  });

  it('ends the program with 2 and one line before any load', () => {
    expect(runBench('--nightly', 'ingest', ...theirs)).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'The suite sends full load to hub.example.com. Repeat the command with --yes-load hub.example.com if you ' +
        'may do that.\n',
    });
    const absent = join(folder, 'absent/report.html');
    const { status, stderr } = runBench('report', 'bench/reference/idle.json', '--html', absent);
    expect({ status, lines: stderr.trim().split('\n').length }).toEqual({ status: 2, lines: 1 });
    expect(stderr).toContain(`${absent} cannot be written: `);
  });
});

describe('bench compare', () => {
  // Four starts of the program take a second.
  it('ends with 0, 1 or 3 as the figures are the same, worse or unclear', () => {
    const write = (name: string, rounds: readonly number[]): string => {
      const results: Results = {
        schema: 'reeve-bench/1',
        started_at: '2026-01-01T00:00:00Z',
        seconds: 1,
        command: ['bench'],
        seed: 1,
        commit: { sha: null, dirty: null },
        versions: {},
        machine: {
          cpus: 2,
          cpu_model: 'a',
          memory_bytes: 1,
          kernel: '6',
          clock: null,
          fd_limit: null,
          busy_before: null,
        },
        scenarios: [
          {
            name: 'a',
            parameters: {},
            skipped: null,
            limited_by: 'hub',
            load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
            figures: [figureOf({ id: 'a.lost', what: 'lost', unit: 'frames', better: 'lower', rounds })],
            rivals: [],
          },
        ],
      };
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify(results));
      expect(parseResults(JSON.stringify(results)).scenarios).toHaveLength(1);
      return file;
    };
    const none = write('none.json', [0, 0, 0, 0, 0]);
    const some = write('some.json', [500, 500, 500, 500, 500]);
    const few = write('few.json', [0, 0, 0]);
    const codes = [
      [none, none],
      [none, some],
      [none, few],
      [none, join(folder, 'absent.json')],
    ].map((files) => runBench('compare', ...files).status);
    expect(codes).toEqual([0, 1, 3, 2]);
  });
});

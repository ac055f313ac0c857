// Wrong use of the suite is refused in one line before anything is measured, above all load on others' hubs.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scenarios } from '../../bench/scenarios/index.ts';
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
    [['--guard', ...theirs], '--url does not go with --guard. Its options: --rounds, --seed, --hub, '],
    [['counts', ...local], '--url does not go with counts. Its options: --rounds, --seed, --hub, '],
    [['scale', ...local], '--url does not go with scale. Its options: --rounds, --seed, --hub, '],
    [['compare', 'a', 'b', ...local], '--url does not go with compare. Its options: --seed.'],
    [['ingest', '--hub', '.', ...local], '--hub and --url choose two hubs'],
    [['ingest', '--slow', 'busy-loop', ...local], '--slow and --profile need a hub that the suite starts'],
    [['ingest', 'fanout', ...local], 'fanout does not measure a hub of others: it deploys to production.'],
    [['--nightly', 'storm', ...local], 'storm does not measure a hub of others: each round needs a new hub.'],
    [['library', '--slow', 'busy-loop'], 'library starts no hub: leave --slow and --profile out.'],
    [['owner', '--profile'], 'owner starts no hub: leave --slow and --profile out.'],
    [['ingest', '--yes-load', 'a'], '--yes-load goes with --url.'],
    [['--clean', 'bench-00000000'], '--clean goes with --url.'],
    [['ingest', '--clean', 'bench-00000000', ...local], '--clean takes no scenario: ingest.'],
    [['ingest', '--write-bands'], '--write-bands does not go with scenarios. Its options: --rounds, '],
    [['compare', 'a', 'b', '--json', 'c'], '--json does not go with compare. Its options: --seed.'],
    [['compare', 'a', 'b', '--rivals', 'nchan'], '--rivals does not go with compare. Its options: --seed.'],
    [['compare', 'a', 'b', '--hub', '.'], '--hub does not go with compare. Its options: --seed.'],
    [['docs', 'a', '--rounds', '3'], '--rounds does not go with docs. It has no options.'],
    [['report', 'a', '--quiet', '9'], '--quiet does not go with report. Its options: --html.'],
    [['counts', '--loaders', '2'], '--loaders does not go with counts. Its options: --rounds, '],
    [['--guard', '--seconds', '2'], '--seconds does not go with --guard. Its options: --rounds, '],
    [['scale', '--ids', 'ordered'], '--ids does not go with scale. Its options: --rounds, '],
    [
      ['scale', 'a', '--seconds', '60'],
      '--seconds does not go with scale with files. Its options: --agents, --check.',
    ],
    [['ingest', '--rivals', 'nchan'], '--rivals does not go with ingest. Its options: --rounds, '],
    [['storm', '--rivals', 'nchan'], '--rivals does not go with storm. Its options: --rounds, '],
    [['idle', 'storm', '--ids', 'random'], '--ids does not go with idle storm. Its options: --rounds, '],
    [['evaluate', '--loaders', '2'], '--loaders does not go with evaluate. Its options: --rounds, '],
    [['evaluate', '--rivals', 'opa,nchan'], 'nchan is no rival of evaluate. It goes with fanout and idle.'],
    [['--nightly', 'query', '--rivals', 'nchan'], '--rivals does not go with query. Its options: '],
    [
      ['scale', 'a', '--json', 'c'],
      '--json does not go with scale with files. Its options: --agents, --check.',
    ],
    [['--nightly', '--full'], '--nightly has sizes of its own: leave --full out.'],
    [['ingest', '--base', 'main'], '--base does not go with scenarios. Its options: '],
    [['ingest', '--check', 'a'], '--check does not go with scenarios. Its options: '],
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
    [['ingest', 'fanout', '--rivals', 'nchan', '--ids', 'ordered', '--loaders', '2', '--quiet', '3']],
    [['evaluate', 'idle', '--rivals', 'opa,nchan']],
    [['--nightly', '--rivals', 'epoll,opa']],
    [['--nightly', 'fanout', '--rivals', 'epoll,opa', '--frame', '1k', '--rows', '9']],
    [['--rivals', 'nchan', '--ids', 'ordered']],
    [['compare', 'a', 'b', '--seed', '3']],
    [['scale', 'a', '--agents', '9', '--check', 'b']],
  ])('is right for %j', (args) => {
    expect(() => checkUsage(parseArguments(args))).not.toThrow();
  });

  it('has the right program of each scenario for the options that few scenarios take', () => {
    const scenarioNames = Object.keys(scenarios);
    const takers = (...option: readonly string[]): readonly string[] =>
      scenarioNames.filter((name) => {
        try {
          checkUsage(parseArguments([name, ...option]));
          return true;
        } catch {
          return false;
        }
      });
    expect(takers('--rivals', 'nchan')).toEqual(['fanout', 'idle']);
    expect(takers('--rivals', 'opa')).toEqual(['evaluate']);
    expect(takers('--ids', 'ordered')).toEqual(['ingest']);
    expect(takers('--loaders', '2')).toEqual(['ingest']);
    expect(takers('--rows', '2')).toEqual(scenarioNames);
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

// The benchmark suite as a program: its command line, exit codes, results file and verdicts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fleetFigures } from '../../bench/scenarios/cluster-fleet.ts';
import { idleFigures } from '../../bench/scenarios/idle.ts';
import { stormFigures } from '../../bench/scenarios/storm.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { exitCodeOf, figureOf, type Measured } from '../../bench/suite/figures.ts';
import { addedByEach } from '../../bench/suite/machine.ts';
import { parseResults, resultsSchemaText, type Scenario } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { measureScenarios, runsOf } from '../../bench/suite/scenario-runs.ts';
import { itAtNight } from '../runs.ts';
import { benchProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runBench(...args: string[]) {
  const child = spawn(process.execPath, [...benchProgram, ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] += chunk.toString();
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

const rate: Measured = {
  id: 'ingest.rate',
  what: 'durable events',
  unit: 'events/s',
  better: 'higher',
  rounds: [30_000, 33_000, 36_000],
  bound: { what: 'a bare loop', rounds: [10_000, 11_000, 12_000] },
  target: { at_least: 3, of: 'ratio' },
};

describe('the command line of the suite', () => {
  it.each([
    [['--round', '3'], 'There is no option --round. Did you mean --rounds?'],
    [['--rounds=0'], '--rounds takes a whole number from 1 to 1000, not 0.'],
    [['--rows', 'many'], '--rows takes a whole number from 0 to 100000000, not many.'],
    [['--frame', '9000k'], '--frame takes a whole number from 1024 to '],
    [['--ids', 'orderd'], 'There is no order of ids orderd. Did you mean ordered?'],
    [['--json'], '--json takes a value: --json FILE.'],
    [['--list=3'], '--list takes no value.'],
  ])('refuses %j in one line', (args, message) => {
    expect(() => parseArguments(args)).toThrow(message);
  });

  it('reads options in any order, the last of a name', () => {
    const args = parseArguments(['--rounds', '3', 'ingest', '--seed=7', '--rounds', '5']);
    expect(args).toMatchObject({ words: ['ingest'], rounds: 5, seed: 7, rows: 100_000, json: null });
  });

  it('has shorter defaults for a run of every scenario', () => {
    const [every, one, full] = [[], ['ingest'], ['--full']].map((words) => parseArguments(words));
    expect([every?.rounds, one?.rounds]).toEqual([3, 3]);
    expect(every?.seconds).toBeLessThan(one?.seconds ?? 0);
    expect(full?.rows).toBe(1_000_000);
    expect(parseArguments(['--rows', '5']).rows).toBe(5);
  });

  it('ends with code 2 and the near name for an unknown scenario', async () => {
    expect(await runBench('ingst')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'There is no scenario or command ingst. Did you mean ingest?\n',
    });
  });

  itAtNight(
    'ends with code 2 and one line for an unknown rival, and for a folder without a build',
    async () => {
      expect(await runBench('rivals', 'install', 'ncahn')).toEqual({
        code: 2,
        stdout: '',
        stderr: 'There is no rival ncahn. Did you mean nchan?\n',
      });
      const absent = await runBench('ingest', 'fanout', '--hub', folder);
      expect(absent).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`Run npm run build in ${folder}.`),
      });
      expect(absent.stderr.trim().split('\n')).toHaveLength(1);
    },
  );
});

describe('several scenarios', () => {
  const options = parseArguments(['--rounds', '1', '--seconds', '1', '--url', 'http://127.0.0.1:1']);
  const context = { args: options, hub: root };

  it('go on after one that cannot run, which stays in the results with the reason', async () => {
    const kept: (readonly Scenario[])[] = [];
    const onScenario = (results: readonly Scenario[]): void => void kept.push([...results]);
    // Without credentials `ingest` cannot measure the hub; `idle` never measures a hub of others.
    const { scenarios, code } = await measureScenarios(runsOf(['ingest', 'idle']), {
      ...context,
      onScenario,
    });
    expect(code).toBe(2);
    expect(scenarios.map(({ name, skipped }) => [name, skipped])).toEqual([
      ['ingest', expect.stringContaining('it could not run: A hub by --url needs credentials.')],
      ['idle', expect.stringContaining('it does not measure a hub of others')],
    ]);
    expect(kept.map((results) => results.length)).toEqual([1, 2]);
  });

  it('end with the error of the only one', async () => {
    await expect(measureScenarios(runsOf(['ingest']), context)).rejects.toThrow('needs credentials');
  });
});

describe('a figure', () => {
  it('has the median, the spread, and the ratio to its bound', () => {
    expect(figureOf(rate)).toMatchObject({ median: 33_000, ratio: 3, verdict: 'met' });
    expect(figureOf({ ...rate, target: { at_least: 3.1, of: 'ratio' } }).verdict).toBe('missed');
    expect(figureOf({ ...rate, target: { at_most: 40_000, of: 'value' } }).verdict).toBe('met');
  });

  it('has no verdict from fewer than three rounds, nor when something else was the limit', () => {
    expect(figureOf({ ...rate, rounds: [36_000, 33_000] }).verdict).toBe('no_verdict');
    expect(figureOf({ ...rate, isDisturbed: true }).verdict).toBe('no_verdict');
  });

  it('misses a target of 0 by one round, and other targets by the median', () => {
    const lost: Measured = {
      id: 'cluster.lost',
      what: 'frames',
      unit: 'frames',
      better: 'lower',
      rounds: [0, 0, 7],
      target: { at_most: 0, of: 'value' },
    };
    expect(figureOf(lost)).toMatchObject({ median: 0, verdict: 'missed' });
    expect(figureOf({ ...lost, rounds: [0, 0, 0] }).verdict).toBe('met');
    expect(figureOf({ ...lost, target: { at_most: 1, of: 'value' } }).verdict).toBe('met');
    expect(figureOf({ ...lost, isJudgedByWorst: true, target: { at_most: 6, of: 'value' } }).verdict).toBe(
      'missed',
    );
  });

  it('of a cluster has a verdict about refused openings, those of known agents too', () => {
    const costs = {
      rssBytes: 1,
      idleTime: 1,
      streamTime: 1,
      openingTimes: [1, 1],
      databaseWrites: null,
    };
    const verdictOf = (...refusals: readonly number[]) =>
      fleetFigures({ ...costs, refusals }, 3).find(({ id }) => id === 'cluster.refused')?.verdict;
    expect([verdictOf(0, 0, 0, 0, 0, 0, 0), verdictOf(0, 0, 0, 0, 0, 0, 3)]).toEqual(['met', 'missed']);
  });

  it('is null, never 0, where a round could not be measured', () => {
    const figure = figureOf({ ...rate, rounds: [30_000, null, 36_000] });
    expect(figure).toMatchObject({ rounds: [], median: null, ratio: null, verdict: 'no_verdict' });
  });

  it('has no bound where a round of the bound could not be measured, never a bound of 0', () => {
    const target = { at_most: 2, of: 'ratio' } as const;
    const measured: Measured = { ...rate, bound: { what: 'a bare loop', rounds: [1, null, 1] }, target };
    const figure = figureOf(measured);
    expect(figure).toMatchObject({ bound: null, ratio: null, verdict: 'no_verdict' });
    const unmeasured = { rssBytes: null, kernelBytes: null, time: null };
    const idle = { rssBytes: 2000, kernelBytes: 8000, time: 3 };
    const rounds = Array.from({ length: 3 }, () => ({ hub: idle, bare: unmeasured }));
    expect(idleFigures(rounds, false).map(({ bound, median }) => [bound, median])).toEqual([
      [null, 2000],
      [null, 8000],
      [null, 3],
    ]);
    const storm = { elapsedMs: 1, backMs: 1, refused: 0, time: 1, rssBytes: 1 };
    const storms = rounds.map(() => ({ hub: storm, bare: { ...storm, time: null } }));
    const time = stormFigures(storms, 1, false).find(({ id }) => id === 'storm.processor_time');
    expect(time?.bound).toBeNull();
  });

  it('is not measured, and not met, where memory decreased', () => {
    expect([addedByEach(3000, 3), addedByEach(0, 3), addedByEach(-1, 3), addedByEach(null, 3)]).toEqual([
      1000,
      0,
      null,
      null,
    ]);
    const cost = { rssBytes: addedByEach(-4096, 2), kernelBytes: null, time: 3 };
    const rounds = Array.from({ length: 3 }, () => ({ hub: cost, bare: cost }));
    const [memory] = idleFigures(rounds, false);
    expect(memory).toMatchObject({ median: null, verdict: 'no_verdict' });
  });

  it('decides the exit code: a missed target before a missing verdict', () => {
    const [met, missed] = [figureOf(rate), figureOf({ ...rate, target: { at_least: 4, of: 'ratio' } })];
    const open = figureOf({ ...rate, isDisturbed: true });
    expect([exitCodeOf([met]), exitCodeOf([open, missed]), exitCodeOf([met, open])]).toEqual([0, 1, 3]);
  });
});

describe('a results file', () => {
  it('has its schema in bench/results.schema.json (bench/suite/write-schema.ts writes it)', () => {
    expect(readFileSync(join(root, 'bench/results.schema.json'), 'utf8')).toBe(resultsSchemaText());
  });

  it('is refused with a reason for another schema', () => {
    expect(() => parseResults('{')).toThrow('The file is not JSON.');
    expect(() => parseResults('{"schema":"reeve-bench/2"}')).toThrow('reeve-bench/2, not reeve-bench/1');
    expect(() => parseResults('{"schema":"reeve-bench/1"}')).toThrow('breaks its schema at started_at');
  });

  it('is written by a run, with the figures that the run prints', async () => {
    const file = join(folder, 'owner.json');
    // The quickest scenario: it starts no hub.
    const args = ['owner', '--agents', '100', '--rounds', '3', '--hub', root, '--json', file];
    const { code, stdout } = await runBench(...args);
    expect([0, 1]).toContain(code);
    const { command, seconds, scenarios } = parseResults(readFileSync(file, 'utf8'));
    expect(command).toEqual(['bench', ...args]);
    expect(seconds).toBeGreaterThan(0);
    const [owner] = scenarios;
    expect(owner?.figures.map(({ id, rounds }) => [id, rounds.length])).toEqual([
      ['owner.memory', 3],
      ['owner.processor_time', 3],
      ['owner.missed', 3],
    ]);
    for (const { id } of owner?.figures ?? []) expect(stdout).toContain(`  ${id}: `);
    const hasMissed = owner?.figures.some(({ verdict }) => verdict === 'missed');
    expect(code).toBe(hasMissed ? 1 : 0);
  }, 60_000);

  itAtNight(
    'is written by a run of ingest, which measures a hub and leaves nothing behind',
    async () => {
      const file = join(folder, 'ingest.json');
      const args = ['--rounds', '1', '--seconds', '1', '--rows', '100', '--hub', root, '--json', file];
      const { code, stdout, stderr } = await runBench('ingest', ...args);
      expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('round 1 of 1') });
      expect(stdout).toContain('ingest.rate: ');
      const { scenarios, versions } = parseResults(readFileSync(file, 'utf8'));
      expect(versions).toMatchObject({ node: process.versions.node });
      const [scenario] = scenarios;
      const measured = scenario?.figures.map(({ id, median }) => [id, median !== null && median > 0]);
      expect(Object.fromEntries(measured ?? [])).toMatchObject({
        'ingest.rate': true,
        'ingest.processor_time': true,
        'ingest.answer_p99': true,
      });
      const latency = scenario?.figures.find(({ id }) => id === 'ingest.answer_p99');
      expect(latency?.histogram?.count).toBeGreaterThan(0);
      expect(readdirSync(folder).filter((name) => name.startsWith('reeve-bench-'))).toEqual([]);
    },
    90_000,
  );
});

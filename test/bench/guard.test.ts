// The guard: bands, and the slow-downs that it must notice. The counts come from hubs of this build.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bands, bandsOf, readBands } from '../../bench/guard/bands.ts';
import { describeGains, figuresOfRuns } from '../../bench/guard/counts.ts';
import { countBuild, type GuardRun, guardFigures, shortSizes } from '../../bench/guard/measure.ts';
import { exitCodeOf } from '../../bench/suite/figures.ts';
import { checkSlowDowns, makeTenants, openHub, slowDowns } from '../../bench/suite/hub.ts';
import { root } from '../../bench/suite/root.ts';
import { isNightly } from '../runs.ts';

const bands: Bands = {
  'counts.statements': {
    value: 400,
    band: 0.05,
    reason: 'Counts repeat.',
    noise: 0.01,
    runs: 20,
    measured_on: '2026-01-01',
  },
  'counts.ingest_time': {
    value: 20,
    band: 0.25,
    reason: 'Processor time moves.',
    noise: 0.1,
    runs: 20,
    measured_on: '2026-01-01',
  },
};

const runsOf = (statements: number, time: number, otherCores = 0): GuardRun[] =>
  Array.from({ length: 3 }, () => ({
    values: { 'counts.statements': statements, 'counts.ingest_time': time },
    otherCores,
  }));

const verdictsOf = (runs: readonly GuardRun[]) =>
  Object.fromEntries(
    figuresOfRuns(runs, bands)
      .filter(({ verdict }) => verdict !== 'no_target')
      .map(({ id, verdict }) => [id, verdict]),
  );

describe('a band', () => {
  it('fails a figure above it, and names the figure', () => {
    expect(verdictsOf(runsOf(419, 24))).toEqual({ 'counts.statements': 'met', 'counts.ingest_time': 'met' });
    expect(verdictsOf(runsOf(421, 24))).toMatchObject({ 'counts.statements': 'missed' });
    expect(exitCodeOf(figuresOfRuns(runsOf(419, 26), bands))).toBe(1);
  });

  it('leaves times without a verdict beside other work, while counts decide', () => {
    expect(verdictsOf(runsOf(421, 99, 0.5))).toEqual({
      'counts.statements': 'missed',
      'counts.ingest_time': 'no_verdict',
    });
    expect(exitCodeOf(figuresOfRuns(runsOf(400, 99, 0.5), bands))).toBe(3);
  });

  it('names a gain that should be recorded', () => {
    const figures = figuresOfRuns(runsOf(300, 20), bands);
    expect(describeGains(figures, bands)).toEqual([
      'counts.statements is 300, below its band of 400. Record the gain: npm run bench -- counts --write-bands',
    ]);
  });

  it('keeps its width and its reason when its value is measured anew', () => {
    const values = [190, 200, 210].map((value) => ({ 'counts.statements': value }));
    const { 'counts.statements': band } = bandsOf(values, bands, '2026-02-01');
    expect(band).toEqual({
      ...bands['counts.statements'],
      value: 200,
      noise: 0.1,
      runs: 3,
      measured_on: '2026-02-01',
    });
  });

  it('stands in bench/bands.json for each figure', () => {
    expect(Object.keys(readBands()).sort()).toEqual(guardFigures.map(({ id }) => id).sort());
  });
});

describe('the guard', () => {
  const slowCases: readonly (readonly [slow: string, ids: string[]])[] = [
    ['extra-statement', ['counts.statements']],
    ['encode-per-client', ['counts.deploy_encodings']],
  ];
  it.each(slowCases)(
    'notices %s and names its figure',
    async (slow, ids) => {
      const measured = await countBuild({ folder: root, slow: [slow], seed: 1, sizes: shortSizes }, 3);
      const missed = figuresOfRuns(measured, readBands()).filter(({ verdict }) => verdict === 'missed');
      expect(missed.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    },
    120_000,
  );

  it('refuses a slow-down that there is not, with the near name', () => {
    const fault = 'There is no slow-down extra-statment. Did you mean extra-statement?';
    expect(() => checkSlowDowns(['extra-statement', 'extra-statment'])).toThrow(fault);
  });

  it('fails a scenario whose hub never reached the slow-down', async () => {
    const choice = { hub: root, url: null, profile: false, report: () => undefined };
    const idle = await openHub({ ...choice, slow: ['encode-per-client'] });
    await expect(idle.stop()).rejects.toThrow('The run never reached encode-per-client.');
    expect(() => process.kill(idle.pid, 0)).toThrow('ESRCH');
    const busy = await openHub({ ...choice, slow: ['extra-statement'] }, { preloads: ['loop'] });
    await makeTenants(busy, 1);
    await busy.stop();
    // The cases above count this slow-down in each commit.
    if (!isNightly) return;
    const counted = await openHub({ ...choice, slow: ['extra-statement'] }, { preloads: ['count'] });
    await makeTenants(counted, 1);
    await counted.stop();
  }, 60_000);

  it('fails loudly when what it wraps is absent', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-guard-test-'));
    try {
      mkdirSync(join(folder, 'node_modules/libsql'), { recursive: true });
      writeFileSync(join(folder, 'node_modules/libsql/index.js'), 'module.exports = class Database {};');
      const { status, stderr } = spawnSync(
        process.execPath,
        ['--import', join(root, 'bench/slow/count.mjs'), '-e', '0'],
        { env: { REEVE_BENCH_HUB: join(folder, 'main.js') }, encoding: 'utf8' },
      );
      expect(status).toBe(1);
      expect(stderr).toContain('libsql Database.prepare is no function: nothing can be wrapped.');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has a page that names every slow-down', () => {
    const page = readFileSync(`${root}docs/bench.md`, 'utf8');
    expect(slowDowns().filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

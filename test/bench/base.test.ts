// The guard beside an earlier commit: which commit, its build, and the words for both sides.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  compareInRounds,
  compareSides,
  exitCodeOfGuard,
  guardScenario,
  type Sides,
} from '../../bench/guard/against-base.ts';
import { ensureBaseBuild, isSameProgram, resolveBase } from '../../bench/guard/base-build.ts';
import {
  type AlarmRun,
  alarmScenario,
  earlierRuns,
  exitCodeOfAlarms,
  formatAlarms,
  type GuardPart,
  measureAlarms,
  type PartResult,
} from '../../bench/guard/false-alarms.ts';
import type { GuardRun } from '../../bench/guard/measure.ts';
import { compareResults, compareScenarios, exitCodeOfComparisons } from '../../bench/suite/compare.ts';
import { parseResults } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { seededRandom } from '../../bench/suite/statistics.ts';
import { itAtNight } from '../runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-guard-base-'));
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

/** A checkout of three commits with a package beside its own reeve-agent. */
beforeAll(() => {
  git('init', '-q', '-b', 'main');
  const scripts = { 'build:quick': `node -e "fs.writeFileSync('built', '')"` };
  write('package.json', JSON.stringify({ name: 'a', scripts }));
  write('package-lock.json', '{"lockfileVersion":3}');
  write('packages/agent/package.json', '{"name":"reeve-agent","main":"main.js"}');
  write('packages/agent/main.js', 'module.exports = 1;');
  write('.gitignore', 'node_modules\n.cache\n');
  for (const text of ['1', '2', '3']) {
    write('packages/agent/main.js', `module.exports = ${text};`);
    git('add', '-A');
    git('commit', '-qm', text);
  }
  write('node_modules/other/package.json', '{"name":"other","main":"main.js"}');
  write('node_modules/other/main.js', `module.exports = 'other';`);
  write('node_modules/reeve-agent/package.json', '{"name":"reeve-agent"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runOf = (statements: number, time: number): GuardRun => ({
  values: { 'counts.statements': statements, 'counts.ingest_time': time },
  otherCores: 1,
});

describe('the base of the guard', () => {
  it('is the parent on main, and the merge base with main on a branch', () => {
    const [newest, parent] = [git('rev-parse', 'HEAD'), git('rev-parse', 'HEAD^')];
    expect(resolveBase(null, folder)).toBe(parent);
    git('switch', '-qc', 'topic');
    git('commit', '-q', '--allow-empty', '-m', 'topic');
    expect(resolveBase(null, folder)).toBe(newest);
    expect(resolveBase('HEAD', folder)).toBe(git('rev-parse', 'HEAD'));
    expect(() => resolveBase('absent', folder)).toThrow('There is no commit absent in this clone.');
    git('switch', '-q', 'main');
  });

  it('measures the same as a commit that differs in pages, tests and recorded results alone', () => {
    git('switch', '-qc', 'pages');
    const [before, parent] = [git('rev-parse', 'HEAD'), git('rev-parse', 'HEAD^')];
    for (const name of ['docs/a.md', 'README.md', 'test/a.test.ts', 'bench/reference/a.json'])
      write(name, '');
    git('add', '-A');
    git('commit', '-qm', 'pages');
    const after = git('rev-parse', 'HEAD');
    expect(isSameProgram(before, after, folder)).toBe(true);
    expect(isSameProgram(parent, after, folder)).toBe(false);
    expect(isSameProgram('a'.repeat(40), after, folder)).toBe(false);
    git('switch', '-q', 'main');
  });

  it('is built in .cache/bench with its own reeve-agent and the packages of this checkout', () => {
    const sha = git('rev-parse', 'HEAD^');
    const built = ensureBaseBuild(sha, folder);
    expect(existsSync(join(built, 'built'))).toBe(true);
    const load = createRequire(join(built, 'main.js'));
    expect([load('reeve-agent'), load('other')]).toEqual([2, 'other']);
    expect(realpathSync(load.resolve('reeve-agent'))).toContain(join(realpathSync(built), 'packages/agent'));
    rmSync(join(built, 'built'));
    // A build that is there is used again.
    expect([ensureBaseBuild(sha, folder), existsSync(join(built, 'built'))]).toEqual([built, false]);
  });

  it('removes drafts of an hour ago that a killed build of any commit has left', () => {
    const drafts = ['old.draft', 'old.tar', 'new.draft', 'old'].map((name) =>
      join(folder, '.cache/bench', name),
    );
    for (const draft of drafts) mkdirSync(draft, { recursive: true });
    const anHourAgo = Date.now() / 1000 - 3700;
    for (const draft of drafts) if (!draft.endsWith('new.draft')) utimesSync(draft, anHourAgo, anHourAgo);
    ensureBaseBuild(git('rev-parse', 'HEAD^^'), folder);
    expect(drafts.map((draft) => existsSync(draft))).toEqual([false, false, true, true]);
    for (const draft of drafts) rmSync(draft, { recursive: true, force: true });
  });

  it('leaves no folder and no archive when its build fails', () => {
    git('switch', '-qc', 'broken');
    write('package.json', JSON.stringify({ name: 'a', scripts: { 'build:quick': 'exit 1' } }));
    git('commit', '-qam', 'broken');
    const sha = git('rev-parse', 'HEAD');
    git('switch', '-q', 'main');
    expect(() => ensureBaseBuild(sha, folder)).toThrow('npm run -s build:quick failed in');
    expect(readdirSync(join(folder, '.cache/bench')).filter((name) => name.includes(sha))).toEqual([]);
  });

  it('takes turns with the tree: which side begins changes with each round', async () => {
    const order: string[] = [];
    await compareInRounds({
      rounds: 7,
      seed: 1,
      measure: async (side, n) => {
        order.push(`${side} ${n}`);
        return runOf(1, 1);
      },
    });
    expect(order.slice(0, 6)).toEqual(['base 0', 'tree 0', 'tree 1', 'base 1', 'base 2', 'tree 2']);
    expect(order).toHaveLength(14);
  });

  it('measures the load of a figure without a verdict in further rounds until it has one, five at most', async () => {
    const roundsOf = async (timeOf: (side: keyof Sides, n: number) => number) => {
      const further: string[] = [];
      const { comparisons } = await compareInRounds({
        rounds: 7,
        seed: 1,
        measure: async (side, n, loads) => {
          if (loads) further.push(`${side} ${n} ${loads.join()}`);
          const { values } = runOf(400, timeOf(side, n));
          return {
            values: loads ? { 'counts.ingest_time': values['counts.ingest_time'] ?? 0 } : values,
            otherCores: 0,
          };
        },
      });
      return { further, words: comparisons.filter(({ change }) => change !== null).map(({ word }) => word) };
    };
    const noisy = (n: number): number => (n < 5 ? 20 : 23);
    const clear = await roundsOf((side, n) => (side === 'base' || n > 6 ? 20 : noisy(n)));
    expect(clear.further.slice(0, 4)).toEqual([
      'tree 7 events',
      'base 7 events',
      'base 8 events',
      'tree 8 events',
    ]);
    expect(clear.further.length).toBeLessThan(10);
    expect(clear.words).toEqual(['same', 'same']);
    const noVerdict = await roundsOf((side, n) => (side === 'base' ? 20 : 20 + 3 * (n % 2)));
    expect(noVerdict.further).toHaveLength(10);
    expect(noVerdict.words).toEqual(['same', 'unclear']);
    const worse = await roundsOf((side) => (side === 'base' ? 20 : 30));
    expect(worse).toEqual({ further: [], words: ['same', 'worse'] });
  });

  it('fails for a figure that is clearly worse, and names it', () => {
    const base = Array.from({ length: 7 }, (_, n) => runOf(400 + n, 20 + n));
    const tree = Array.from({ length: 7 }, (_, n) => runOf(480 + n, 20 + n));
    const comparisons = compareSides({ base, tree }, 1);
    expect(comparisons.filter(({ word }) => word === 'worse').map(({ id }) => id)).toEqual([
      'counts.statements',
    ]);
    expect([exitCodeOfGuard(comparisons), exitCodeOfComparisons(comparisons)]).toEqual([1, 1]);
  });

  it('leaves both sides in the results file: commit and rounds of the base, word and interval of each figure', () => {
    const base = Array.from({ length: 7 }, (_, n) => ({
      values: { ...runOf(400 + n, 20).values },
      otherCores: 0,
    }));
    const tree = Array.from({ length: 7 }, (_, n) => runOf(480 + n, 20));
    const sides = {
      base: base.map(({ values }) => ({ values: { ...values, 'counts.commits': 0 }, otherCores: 0 })),
      tree: tree.map(({ values }) => ({ values: { ...values, 'counts.commits': 3 }, otherCores: 0 })),
    };
    const sha = 'a'.repeat(40);
    const scenario = guardScenario(sides, compareSides(sides, 1), { sha, slow: ['extra-commit'] });
    const file = parseResults(JSON.stringify({ ...read('484a7b0d'), scenarios: [scenario] }));
    expect(file.scenarios[0]?.parameters).toEqual({ base: sha, slow: 'extra-commit' });
    const figures = new Map(file.scenarios[0]?.figures.map((figure) => [figure.id, figure]));
    expect(figures.get('counts.statements')).toMatchObject({
      rounds: tree.map(({ values }) => values['counts.statements']),
      bound: { what: 'the base, aaaaaaaa', rounds: base.map(({ values }) => values['counts.statements']) },
      comparison: { word: 'worse', reason: null, change: { median: expect.closeTo(80 / 403) } },
    });
    const { low = 0, high = 0 } = figures.get('counts.statements')?.comparison?.change ?? {};
    expect([low, high].every((share) => Math.abs((share ?? 0) - 0.2) < 0.02)).toBe(true);
    expect(figures.get('counts.ingest_time')?.comparison).toMatchObject({
      word: 'same',
      change: { median: 0 },
    });
    // From 0 to more.
    expect(figures.get('counts.commits')?.comparison).toEqual({
      word: 'worse',
      reason: null,
      change: { median: null, low: null, high: null },
    });
    expect(figures.get('counts.stream_rss')?.comparison).toMatchObject({ word: 'unclear', change: null });
    // A later file with another base compares all the same.
    const other = guardScenario(sides, compareSides(sides, 1), { sha: 'b'.repeat(40), slow: [] });
    const both = compareScenarios([scenario], [other], { isSameMachine: true, seed: 1 });
    expect(both.find(({ id }) => id === 'counts.statements')?.word).toBe('same');
  });

  it('needs no clearer verdict about a figure that may be better and is not worse', () => {
    const sideOf = (times: readonly number[]): GuardRun[] => times.map((time) => runOf(400, time));
    const [low, high] = [sideOf([17, 18, 18, 18, 21, 21, 21]), sideOf([20, 20, 20, 20, 20, 20, 20])];
    const codesOf = (base: readonly GuardRun[], tree: readonly GuardRun[]) => {
      const comparisons = compareSides({ base, tree }, 1);
      const time = comparisons.find(({ id }) => id === 'counts.ingest_time');
      const others = comparisons.filter(({ change }) => change !== null);
      return [time?.word, exitCodeOfGuard(others), exitCodeOfComparisons(others)];
    };
    expect(codesOf(high, low)).toEqual(['unclear', 0, 3]);
    expect(codesOf(low, high)).toEqual(['unclear', 3, 3]);
    // Without enough rounds, nothing is known.
    expect(codesOf(high.slice(0, 4), low.slice(0, 4))).toEqual(['unclear', 3, 3]);
  });

  itAtNight('fails in at most 1 of 50 runs of equal trees with noise of 15 %', () => {
    const random = seededRandom(17);
    const noisy = (value: number): number =>
      value * (1 + 0.15 * Array.from({ length: 12 }, random).reduce((sum, part) => sum + part, -6));
    const side = (): GuardRun[] => Array.from({ length: 7 }, () => runOf(noisy(400), noisy(20)));
    const codes = Array.from({ length: 100 }, (_, n) =>
      exitCodeOfGuard(compareSides({ base: side(), tree: side() }, n)),
    );
    expect(codes.filter((code) => code === 1).length).toBeLessThanOrEqual(2);
  });
});

/** The recorded file of a commit. */
const read = (commit: string) =>
  parseResults(readFileSync(join(root, `bench/reference/ingest-${commit}.json`), 'utf8'));

describe('the count of false alarms', () => {
  /** A part that answers its calls in turn. */
  const partOf = (results: readonly PartResult[]): GuardPart => {
    const left = [...results];
    return {
      name: 'a',
      measure: async () => left.shift() ?? { code: 0, worse: [] },
    };
  };

  it('measures as CI does: the second run decides after a first one without a verdict', async () => {
    const worse = ['counts.commits'];
    const alarm = { code: 1, worse } as const;
    const unclear = { code: 3, worse: [] } as const;
    const fine = { code: 0, worse: [] } as const;
    const alarmsOfPart = async (results: readonly PartResult[]) =>
      (await measureAlarms([partOf(results)], 0)).worse;
    expect(await alarmsOfPart([alarm, fine])).toEqual(worse);
    expect(await alarmsOfPart([unclear, alarm])).toEqual(worse);
    expect(await alarmsOfPart([unclear, unclear])).toEqual([]);
  });

  it('allows one alarm in 50 runs, and gives no verdict from fewer', () => {
    const runs = (count: number, alarms: number): AlarmRun[] =>
      Array.from({ length: count }, (_, n) => ({ worse: n < alarms ? ['counts.commits'] : [] }));
    expect(exitCodeOfAlarms(runs(50, 1))).toBe(0);
    expect(exitCodeOfAlarms(runs(50, 2))).toBe(1);
    expect(exitCodeOfAlarms(runs(49, 0))).toBe(3);
    expect(formatAlarms(runs(50, 2))).toContain('False alarms: 2 in 50 runs');
    expect(formatAlarms(runs(50, 2))).toContain('counts.commits: 2');
    expect(alarmScenario(runs(50, 2)).figures[0]?.rounds).toHaveLength(50);
  });

  it('goes on from the runs of a file of the same commit, and refuses another file', () => {
    const runs: AlarmRun[] = [
      { worse: [] },
      { worse: ['counts.commits', 'counts.stream_rss'] },
      { worse: [] },
    ];
    const file = read('484a7b0d');
    const sha = 'a'.repeat(40);
    const resultsOf = (dirty: boolean) => ({
      ...file,
      commit: { sha, dirty },
      scenarios: [alarmScenario(runs)],
    });
    expect(earlierRuns(parseResults(JSON.stringify(resultsOf(false))), sha)).toEqual(runs);
    expect(() => earlierRuns(resultsOf(false), 'b'.repeat(40))).toThrow(
      'of commit aaaaaaaa, whose hub or suite is not that of bbbbbbbb',
    );
    expect(() => earlierRuns(resultsOf(true), sha)).toThrow('aaaaaaaa, with changes');
    expect(() => earlierRuns(file, sha)).toThrow('holds no false alarms');
  });
});

describe('the recorded files of two commits', () => {
  it('differ in processor time per event, which doubled on a machine that was busy all the time', () => {
    const [before, after] = [read('484a7b0d'), read('3b0d5245')];
    expect(Math.min(before.machine.busy_before ?? 0, after.machine.busy_before ?? 0)).toBeGreaterThan(1.9);
    const comparisons = compareResults(before, after);
    const worse = comparisons.filter(({ word }) => word === 'worse');
    expect(worse.map(({ id }) => id)).toEqual(['ingest.processor_time']);
    expect(worse[0]?.change?.low).toBeGreaterThan(1);
    expect(exitCodeOfComparisons(comparisons)).toBe(1);
    expect(exitCodeOfComparisons(compareResults(before, before))).not.toBe(1);
  });
});

// Comparing results files: what a change is called, and how rarely noise is called worse.
import { describe, expect, it } from 'vitest';
import { compareResults, exitCodeOfComparisons, formatComparison } from '../../bench/suite/compare.ts';
import { figureOf, type Measured } from '../../bench/suite/figures.ts';
import { type Results, resultsSchema, type Scenario } from '../../bench/suite/results.ts';
import { seededRandom } from '../../bench/suite/statistics.ts';
import { rowsOfRun, runsOf } from '../runs.ts';

const base: Measured = { id: 'a.time', what: 'time', unit: 'µs', better: 'lower', rounds: [] };

/** A file with one more scenario, or with another form of its only one. */
const withScenarios = (results: Results, ...scenarios: Partial<Scenario>[]): Results => {
  const [form] = results.scenarios;
  if (!form) throw new Error('unreachable');
  return { ...results, scenarios: scenarios.map((scenario) => ({ ...form, ...scenario })) };
};

function resultsOf(figure: Partial<Measured>, cpuModel = 'one', rows = 0): Results {
  return resultsSchema.parse({
    schema: 'reeve-bench/1',
    started_at: '2026-01-01T00:00:00.000Z',
    seconds: 1,
    command: ['bench'],
    seed: 1,
    commit: { sha: null, dirty: null },
    versions: {},
    machine: {
      cpus: 2,
      cpu_model: cpuModel,
      memory_bytes: 1,
      kernel: '6',
      clock: null,
      fd_limit: null,
      busy_before: null,
    },
    scenarios: [
      {
        name: 'a',
        parameters: { rows },
        skipped: null,
        limited_by: 'hub',
        load: { hub_cores: 1, client_cores: 1, other_cores: 0, hub_rss_bytes: 1 },
        figures: [figureOf({ ...base, ...figure })],
        rivals: [],
      },
    ],
  });
}

/** Rounds around a value, of normal noise (Irwin and Hall). */
function noisyRounds(random: () => number, value: number, noise: number, count = 5): number[] {
  const normal = (): number => Array.from({ length: 12 }, random).reduce((sum, part) => sum + part, -6);
  return Array.from({ length: count }, () => value * Math.max(0.1, 1 + noise * normal()));
}

const wordOf = (before: Results, after: Results): string | undefined =>
  compareResults(before, after)[0]?.word;

describe('a comparison', () => {
  it.each([
    ['lower', 1.3, 'worse'],
    ['lower', 0.7, 'better'],
    ['higher', 0.7, 'worse'],
    ['higher', 1.3, 'better'],
    ['lower', 1.02, 'same'],
    ['higher', 0.98, 'same'],
  ] as const)('of a figure where %s is better calls a factor of %d %s', (better, factor, word) => {
    const rounds = noisyRounds(seededRandom(3), 100, 0.01);
    const after = rounds.map((value) => value * factor);
    expect(wordOf(resultsOf({ better, rounds }), resultsOf({ better, rounds: after }))).toBe(word);
  });

  it('is unclear with fewer than five rounds a side', () => {
    const [before, after] = [
      [1, 1, 1, 1, 1],
      [9, 9, 9, 9],
    ];
    const [comparison] = compareResults(resultsOf({ rounds: before }), resultsOf({ rounds: after }));
    expect(comparison).toMatchObject({ word: 'unclear', reason: 'fewer than 5 rounds a side' });
  });

  it.each([
    ['same', [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], '0 → 0 µs: +0.0 % [+0.0 %, +0.0 %]'],
    ['worse', [0, 0, 0, 0, 0], [500, 480, 510, 500, 500], '0 → 500 µs: +∞ % [+∞ %, +∞ %]'],
    ['better', [500, 480, 510, 500, 500], [0, 0, 0, 0, 0], '500 → 0 µs: -100.0 % [-100.0 %, -100.0 %]'],
    ['unclear', [0, 0, 0, 0, 0], [0, 0, 1, 2, 500], 'the interval reaches over the margin'],
    // One round without growth among seven.
    ['same', [0, 100, 101, 99, 100, 100, 100], [100, 101, 99, 100, 0, 100, 100], '100 → 100 µs'],
    ['worse', [0, 100, 101, 99, 100, 100, 100], [200, 201, 199, 200, 0, 200, 200], '100 → 200 µs'],
  ] as const)('calls %s the change of a figure from %j to %j', (word, before, after, text) => {
    const [comparison] = compareResults(resultsOf({ rounds: before }), resultsOf({ rounds: after }));
    if (!comparison) throw new Error('unreachable');
    expect(comparison.word).toBe(word);
    expect(formatComparison(comparison)).toContain(text);
  });

  it('of a rate that fell to 0 is worse, and of one that rose from 0 is better', () => {
    const [none, some] = [
      [0, 0, 0, 0, 0],
      [9, 9, 9, 9, 9],
    ].map((rounds) => resultsOf({ better: 'higher', rounds }));
    if (!none || !some) throw new Error('unreachable');
    expect([wordOf(some, none), wordOf(none, some)]).toEqual(['worse', 'better']);
  });

  it('of two machines compares ratios to the bound alone', () => {
    const rounds = [10, 10, 10, 10, 10];
    const slow = rounds.map((value) => value * 3);
    const bound = (values: readonly number[]) => ({ what: 'a bare loop', rounds: values });
    const before = resultsOf({ rounds, bound: bound(rounds) });
    expect(wordOf(before, resultsOf({ rounds: slow, bound: bound(slow) }, 'two'))).toBe('same');
    expect(wordOf(before, resultsOf({ rounds: slow, bound: bound(rounds) }, 'two'))).toBe('worse');
    expect(wordOf(resultsOf({ rounds }), resultsOf({ rounds: slow }, 'two'))).toBe('unclear');
  });

  it('names what one file alone has, and has no verdict on it', () => {
    const rounds = [1, 1, 1, 1, 1];
    const both = resultsOf({ rounds });
    const other = { name: 'b', figures: [figureOf({ ...base, id: 'b.time', rounds })] };
    const skipped = { name: 'b', figures: [], skipped: 'it could not run: no disk' };
    const lines = (before: Results, after: Results): string[] => {
      const comparisons = compareResults(before, after);
      expect(exitCodeOfComparisons(comparisons)).toBe(comparisons.length > 1 ? 3 : 0);
      return comparisons.slice(1).map(formatComparison);
    };
    const whole = withScenarios(both, {}, other);
    expect(lines(whole, withScenarios(both, {}, skipped))).toEqual([
      'unclear b (skipped in the second file: it could not run: no disk)\n',
    ]);
    expect(lines(withScenarios(both, {}, skipped), whole)).toEqual([
      'unclear b (skipped in the first file: it could not run: no disk)\n',
    ]);
    expect(lines(whole, both)).toEqual(['unclear b (not in the second file)\n']);
    expect(lines(both, withScenarios(both, {}, skipped))).toEqual([]);
    const more = withScenarios(both, { figures: [...(both.scenarios[0]?.figures ?? []), ...other.figures] });
    expect(lines(more, both)).toEqual(['unclear b.time: 1 → not measured µs (not in the second file)\n']);
    // A later version has further figures.
    expect(lines(both, more)).toEqual([]);
  });

  it.each([
    ['ms', 'answers', 'unclear'],
    ['events/s', 'durable events', 'unclear'],
    ['s', 'processor time of a replay', 'worse'],
    ['µs/s', 'processor time of a stream', 'worse'],
    ['µs', 'processor time of an event', 'worse'],
    ['bytes', 'memory of a stream', 'worse'],
  ] as const)('of %s (%s) beside other work is %s, if it is three times as much', (unit, what, word) => {
    const figure = { unit, what, target: { at_most: 1000, of: 'value' } } as const;
    const [before, after] = [
      resultsOf({ ...figure, rounds: [1, 1, 1, 1, 1] }),
      resultsOf({ ...figure, rounds: [3, 3, 3, 3, 3], isDisturbed: true }),
    ];
    expect([wordOf(before, after), wordOf(after, before)]).toEqual([
      word,
      word === 'unclear' ? word : 'better',
    ]);
    const loud = (limited_by: 'client' | 'others') =>
      withScenarios(resultsOf({ unit, what, rounds: [3, 3, 3, 3, 3] }), { limited_by });
    const quiet = resultsOf({ unit, what, rounds: [1, 1, 1, 1, 1] });
    expect([wordOf(quiet, loud('others')), wordOf(quiet, loud('client'))]).toEqual([word, word]);
    // The target's verdict shows that another figure was disturbed.
    const met = withScenarios(resultsOf({ ...figure, rounds: [3, 3, 3, 3, 3] }), { limited_by: 'client' });
    expect(wordOf(before, met)).toBe('worse');
  });

  it('is the same for the same seed', () => {
    const random = seededRandom(5);
    const [before, after] = [0, 1].map(() => resultsOf({ rounds: noisyRounds(random, 100, 0.1) }));
    if (!before || !after) throw new Error('unreachable');
    expect(compareResults(before, after, 9)).toEqual(compareResults(before, after, 9));
  });

  it('is refused for other parameters, and without a figure in common', () => {
    const rounds = [1];
    expect(() => compareResults(resultsOf({ rounds }), resultsOf({ rounds }, 'one', 5))).toThrow(
      'a ran with different rows (0 and 5).',
    );
    expect(() => compareResults(resultsOf({ rounds }), resultsOf({ rounds, id: 'b' }))).toThrow(
      'no figure in common',
    );
  });

  it.each(rowsOfRun([0.02, 0.05, 0.1, 0.15], 2))(
    'of equal builds with noise of %d is worse in at most 1 %% of trials',
    (noise) => {
      const random = seededRandom(11);
      const trials = runsOf(400, 100);
      let worse = 0;
      for (let n = 0; n < trials; n++) {
        const [before, after] = [0, 1].map(() => resultsOf({ rounds: noisyRounds(random, 100, noise) }));
        if (before && after && wordOf(before, after) === 'worse') worse++;
      }
      expect(worse / trials).toBeLessThanOrEqual(0.01);
    },
  );

  it('of equal builds around 0, whose decreases count as 0, is worse in at most 1 % of trials', () => {
    const random = seededRandom(19);
    const trials = runsOf(400, 100);
    const rounds = (): number[] =>
      noisyRounds(random, 1, 0.05, 5).map((value) => Math.max(0, Math.round((value - 1) * 100)));
    let worse = 0;
    for (let n = 0; n < trials; n++) {
      if (wordOf(resultsOf({ rounds: rounds() }), resultsOf({ rounds: rounds() })) === 'worse') worse++;
    }
    expect(worse / trials).toBeLessThanOrEqual(0.01);
  });

  it('finds a doubled cost in noise of 10 %', () => {
    const random = seededRandom(13);
    for (let n = 0; n < 20; n++) {
      const before = resultsOf({ rounds: noisyRounds(random, 40, 0.1) });
      expect(wordOf(before, resultsOf({ rounds: noisyRounds(random, 80, 0.1) }))).toBe('worse');
    }
  });
});

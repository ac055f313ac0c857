// Comparing results files: what a change is called, and how rarely noise is called worse.
import { describe, expect, it } from 'vitest';
import { compareResults } from '../../bench/suite/compare.ts';
import { figureOf, type Measured } from '../../bench/suite/figures.ts';
import { type Results, resultsSchema } from '../../bench/suite/results.ts';
import { seededRandom } from '../../bench/suite/statistics.ts';
import { runsOf } from '../runs.ts';

const base: Measured = { id: 'a.time', what: 'time', unit: 'µs', better: 'lower', rounds: [] };

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

  it('of two machines compares ratios to the bound alone', () => {
    const rounds = [10, 10, 10, 10, 10];
    const slow = rounds.map((value) => value * 3);
    const bound = (values: readonly number[]) => ({ what: 'a bare loop', rounds: values });
    const before = resultsOf({ rounds, bound: bound(rounds) });
    expect(wordOf(before, resultsOf({ rounds: slow, bound: bound(slow) }, 'two'))).toBe('same');
    expect(wordOf(before, resultsOf({ rounds: slow, bound: bound(rounds) }, 'two'))).toBe('worse');
    expect(wordOf(resultsOf({ rounds }), resultsOf({ rounds: slow }, 'two'))).toBe('unclear');
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

  it.each([0.02, 0.05, 0.1, 0.15])(
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

  it('finds a doubled cost in noise of 10 %', () => {
    const random = seededRandom(13);
    for (let n = 0; n < 20; n++) {
      const before = resultsOf({ rounds: noisyRounds(random, 40, 0.1) });
      expect(wordOf(before, resultsOf({ rounds: noisyRounds(random, 80, 0.1) }))).toBe('worse');
    }
  });
});

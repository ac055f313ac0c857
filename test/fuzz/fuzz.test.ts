// Some hundred steps of the fuzz program with one seed break no rule. They are counted, not timed, so that a busy
// machine plays them too. Longer runs: npm run fuzz -- --help.
import { expect, it } from 'vitest';
import { isNightly, runsOf } from '../runs.ts';
import { described } from './findings.ts';
import { fuzz } from './fuzz.ts';
import { operations } from './requests.ts';

/** Steps of each of the 14 players. */
const steps = runsOf(3000, 40);
/** Connections that are left open have 90 s to end. Milliseconds. */
const timeLimit = 600_000;

it(
  'random valid and broken requests from three tenants break no rule, and each operation answers',
  async () => {
    const report = await fuzz({
      seed: '1',
      seconds: 60,
      steps,
      rate: 40,
      stallMs: 250,
      file: null,
      profiled: false,
      only: null,
      told: () => {},
    });
    expect(report.found.map(described)).toEqual([]);
    expect(report.steps).toBe(14 * steps);
    expect(report.unanswered).toEqual([]);
    // Those that need another service, or a record that seldom exists, succeed in longer runs.
    expect(report.unreached.length, report.unreached.join(', ')).toBeLessThan(
      operations.length * (isNightly ? 0.2 : 0.55),
    );
  },
  timeLimit,
);

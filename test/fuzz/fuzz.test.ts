// A minute of the fuzz program with one seed: nothing of what it looks for is there. Longer runs: npm run fuzz --
// --help.
import { expect, it } from 'vitest';
import { described } from './findings.ts';
import { fuzz } from './fuzz.ts';
import { operations } from './requests.ts';

/** The minute, the start, and what connections that are left open are given to end. Milliseconds. */
const timeLimit = 240_000;

it(
  'a minute of random valid and broken requests from three tenants breaks no rule, and reaches most operations',
  async () => {
    const report = await fuzz({
      seed: '1',
      seconds: 60,
      rate: 40,
      stallMs: 250,
      file: null,
      profiled: false,
      only: null,
      told: () => {},
    });
    expect(report.found.map(described)).toEqual([]);
    expect(report.steps).toBeGreaterThan(1000);
    // What needs another service, or something that seldom exists, is reached in longer runs.
    expect(report.unreached.length, report.unreached.join(', ')).toBeLessThan(operations.length / 5);
  },
  timeLimit,
);

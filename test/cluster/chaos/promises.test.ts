// The short form: each promise once, on one fleet of three nodes that every promise leaves whole. SEED chooses another
// schedule.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isNightly } from '../../runs.ts';
import { type Report, told } from './figures.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { suites } from './promises/index.ts';
import { attempt } from './trial.ts';

const seed = process.env.SEED ?? '1';
const reports: Report[] = [];
let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet();
}, 120_000);
afterAll(() => fleet?.close(), 60_000);

/** Per commit, test/cluster/rolling.test.ts restarts all nodes under load. */
const perCommit = suites.filter(({ promise }) => isNightly || promise !== 6);

it.each(perCommit)(
  `promise $promise: $title (SEED=${seed})`,
  async (suite) => {
    const report = await attempt(suite, fleet, seed, 'short');
    reports.push(report);
    process.stderr.write(`${told(report)}\n`);
    expect(report.violations).toEqual([]);
  },
  180_000,
);

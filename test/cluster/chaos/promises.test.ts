// The short form: each promise once, on one fleet of three nodes that every promise leaves whole. SEED chooses another
// schedule.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isNightly } from '../../runs.ts';
import { describeReport } from './figures.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { suites } from './promises/index.ts';
import { attempt } from './trial.ts';

const seed = process.env.SEED ?? '1';
let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet();
}, 120_000);
afterAll(() => fleet?.close(), 60_000);

/**
 * Promises with tests of their own per commit, which name their parts one by one: kills of Redis and the store in
 * hub-outage, redis-outage and mongo-outage, decisions at once in limits and mongo-nodes, a node that is paused, a key
 * that is revoked and shards that are lost in hub, and the restart of all nodes under load in rolling.
 */
const testedPerCommit = new Set([2, 4, 5, 6, 9, 10]);
const perCommit = suites.filter(({ promise }) => isNightly || !testedPerCommit.has(promise));

it.each(perCommit)(
  `promise $promise: $title (SEED=${seed})`,
  async (suite) => {
    const report = await attempt(suite, fleet, seed, 'short');
    process.stderr.write(`${describeReport(report)}\n`);
    expect(report.violations).toEqual([]);
  },
  180_000,
);

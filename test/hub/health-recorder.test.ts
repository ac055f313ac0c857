// A node's health over 24 hours: points of five minutes with the worst of their figures.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HealthRecorder, type HealthRecorderSources } from '../../src/hub/metrics/health-recorder.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import type { NodeMetrics } from '../../src/shared/ports/node-health.ts';
import type { Storage } from '../../src/shared/storage.ts';
import { ManualClock, settled } from '../clock.ts';

const minute = 60_000;
const interval = 5 * minute;
const day = 24 * 60 * minute;
/** A multiple of the interval, and the start two minutes later. */
const first = 1_700_000_100_000;

let clock: ManualClock;
let commits: ReturnType<typeof createMeters>['eventCommits'];
let lag: NodeMetrics['eventLoop'];
let disk: Pick<Storage, 'freeBytes' | 'totalBytes'>;
let storeReads: number;
let recorder: HealthRecorder;

function record(over: Partial<HealthRecorderSources> = {}): HealthRecorder {
  recorder = new HealthRecorder({
    clock,
    node: 'n1',
    delay: { now: () => lag },
    commits,
    storage: () => ({ state: 'ok', ...disk, reserveBytes: 10 }),
    storeBytes: async () => {
      storeReads += 1;
      return storeReads * 1_000;
    },
    memoryBytes: async () => 64,
    ...over,
  });
  return recorder;
}

const lagOf = (p99Ms: number, maxMs = p99Ms): NodeMetrics['eventLoop'] => ({ meanMs: 0, p99Ms, maxMs });
const pass = (ms: number): Promise<void> => clock.advanceAsync(ms, minute);
const points = async () => (await recorder.series()).points;

beforeEach(() => {
  clock = new ManualClock(first + 2 * minute);
  commits = createMeters().eventCommits;
  lag = lagOf(1);
  disk = { freeBytes: 700, totalBytes: 900 };
  storeReads = 0;
});
afterEach(() => recorder.stop());

it('has the point in progress from the start', async () => {
  record();
  await settled();
  expect(await recorder.series()).toEqual({
    node: 'n1',
    startedAt: first + 2 * minute,
    intervalMs: interval,
    points: [
      {
        at: first,
        loopLagMs: 1,
        loopLagMaxMs: 1,
        commitMs: null,
        storeBytes: 1_000,
        diskFreeBytes: 700,
        diskTotalBytes: 900,
        memoryBytes: 64,
      },
    ],
  });
});

it('begins a point at each multiple of five minutes, and reads the size of the store once for each', async () => {
  record();
  await settled();
  await pass(3 * minute - 1);
  expect((await points()).map(({ at }) => at)).toEqual([first]);
  await pass(1);
  expect((await points()).map(({ at }) => at)).toEqual([first, first + interval]);
  await pass(2 * interval);
  expect((await points()).map(({ at, storeBytes }) => [(at - first) / interval, storeBytes])).toEqual([
    [0, 1_000],
    [1, 2_000],
    [2, 3_000],
    [3, 4_000],
  ]);
});

it('keeps the worst figure of an interval', async () => {
  record();
  await pass(3 * minute);
  lag = lagOf(80, 200);
  disk = { freeBytes: 500, totalBytes: 900 };
  await pass(minute);
  lag = lagOf(2, 3);
  disk = { freeBytes: 800, totalBytes: 900 };
  await pass(interval);
  expect(await points()).toMatchObject([
    { loopLagMs: 1, loopLagMaxMs: 1, diskFreeBytes: 700 },
    { loopLagMs: 80, loopLagMaxMs: 200, diskFreeBytes: 500 },
    { loopLagMs: 2, loopLagMaxMs: 3, diskFreeBytes: 800 },
  ]);
});

it('counts the commits of each interval alone', async () => {
  commits.add(9_000);
  record();
  for (let n = 0; n < 200; n += 1) commits.add(3);
  commits.add(80);
  expect(await points()).toMatchObject([{ commitMs: 5 }]);
  await pass(3 * minute);
  for (let n = 0; n < 9; n += 1) commits.add(90);
  await pass(interval);
  commits.add(60_000);
  // After the last bound, the last bound.
  expect((await points()).map(({ commitMs }) => commitMs)).toEqual([5, 100, 10_000]);
  await pass(interval);
  expect((await points()).at(-1)).toMatchObject({ commitMs: null });
});

it('keeps 288 points, the newest ones', async () => {
  record();
  await pass(day + interval);
  const all = await points();
  expect(all).toHaveLength(288);
  expect(all.at(-1)?.at).toBe(first + day + interval);
  expect(all[0]?.at).toBe(first + 2 * interval);
  expect(new Set(all.map(({ at }) => at)).size).toBe(288);
});

it('leaves a gap where the process slept, and no point twice where the clock was set back', async () => {
  record();
  clock.skip(2 * interval);
  await pass(minute);
  expect((await points()).map(({ at }) => (at - first) / interval)).toEqual([0, 2]);
  clock.setBy(-interval);
  await pass(minute);
  expect((await points()).map(({ at }) => (at - first) / interval)).toEqual([0, 1]);
});

it('has null for each figure that fails or is unknown, and records the others', async () => {
  const fail = (): never => {
    throw new Error('away');
  };
  record({ storeBytes: async () => fail(), memoryBytes: fail });
  disk = { freeBytes: null, totalBytes: null };
  await pass(interval);
  expect((await points()).at(-1)).toEqual({
    at: first + interval,
    loopLagMs: 1,
    loopLagMaxMs: 1,
    commitMs: null,
    storeBytes: null,
    diskFreeBytes: null,
    diskTotalBytes: null,
    memoryBytes: null,
  });
  recorder.stop();
  record({ delay: { now: fail }, storage: fail });
  await pass(interval);
  expect((await points()).at(-1)).toMatchObject({ loopLagMs: null, diskFreeBytes: null, memoryBytes: 64 });
});

it('waits two seconds for a figure at most', async () => {
  record({ storeBytes: () => new Promise(() => {}), memoryBytes: () => new Promise(() => {}) });
  await pass(interval);
  const reading = points();
  await pass(2_000);
  expect((await reading).at(-1)).toMatchObject({ loopLagMs: 1, storeBytes: null, memoryBytes: null });
});

it('records nothing once it is stopped', async () => {
  const before = clock.pending;
  record({ storeBytes: async () => null, memoryBytes: async () => null });
  recorder.stop();
  await pass(minute);
  expect(clock.pending).toBe(before);
});

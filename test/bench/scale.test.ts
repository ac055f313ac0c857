// Predictions for more agents than a run held: from the costs of results files, and silent where a cost is absent.
import { describe, expect, it } from 'vitest';
import { figureOf } from '../../bench/suite/figures.ts';
import type { Results, Scenario } from '../../bench/suite/results.ts';
import {
  checkPredictions,
  costsOf,
  exitCodeOfChecks,
  formatChecks,
  formatDisturbances,
  formatPredictions,
  predictScale,
} from '../../bench/suite/scale.ts';

const scenarioOf = (name: string, id: string, value: number, agents: number): Scenario => ({
  name,
  parameters: { agents, frame_bytes: 32_000 },
  skipped: null,
  limited_by: 'none',
  load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
  figures: [figureOf({ id, what: 'cost', unit: 'µs', better: 'lower', rounds: [value] })],
  rivals: [],
});

const fileOf = (...scenarios: Scenario[]): Results => ({
  schema: 'reeve-bench/1',
  started_at: '2026-01-01T00:00:00.000Z',
  seconds: 1,
  command: ['bench'],
  seed: 1,
  commit: { sha: null, dirty: null },
  versions: {},
  machine: {
    cpus: 2,
    cpu_model: 'one',
    memory_bytes: 1,
    kernel: '6',
    clock: null,
    fd_limit: null,
    busy_before: null,
  },
  scenarios,
});

describe('a prediction', () => {
  const file = fileOf(
    scenarioOf('idle', 'idle.rss', 2048, 2000),
    scenarioOf('storm', 'storm.processor_time', 140, 2000),
    scenarioOf('fanout', 'fanout.sse_last', 50, 5000),
    scenarioOf('owner', 'owner.processor_time', 30, 5000),
  );
  const predictedValue = (what: string): number | null | undefined =>
    predictScale(1_000_000, costsOf([file])).find((prediction) => prediction.what.includes(what))?.value;

  it('names the runs with costs in which the client or other work was the limit', () => {
    const beside = fileOf(
      { ...scenarioOf('idle', 'idle.rss', 2048, 2000), limited_by: 'others' },
      { ...scenarioOf('storm', 'storm.processor_time', 140, 2000), limited_by: 'client' },
      { ...scenarioOf('mixed', 'mixed.refused', 1, 2000), limited_by: 'others' },
    );
    expect(formatDisturbances([file])).toBe('');
    expect(formatDisturbances([file, beside])).toBe(
      'Costs of disturbed runs\n  idle: other work was the limit of the run\n' +
        '  storm: the client was the limit of the run\n',
    );
  });

  it('multiplies the cost of a stream', () => {
    expect(predictedValue('resident memory')).toBeCloseTo(2048e6 / 2 ** 30, 6);
    expect(predictedValue('to open all streams')).toBe(140);
    expect(predictedValue('a deployment')).toBe(10);
    expect(predictedValue('over 10 Gbit/s')).toBeCloseTo(25.6, 6);
    expect(predictedValue('last_seen_at')).toBeCloseTo(33_333.3, 1);
    expect(predictedValue('hub processes')).toBe(67);
    expect(predictedValue('that owner')).toBe(30);
    expect(predictedValue('bytes that Redis')).toBeCloseTo(67 * 0.032, 6);
  });

  it('takes the last file that has the cost', () => {
    const newer = fileOf(scenarioOf('storm', 'storm.processor_time', 100, 3000));
    expect(costsOf([file, newer])).toMatchObject({
      openingTime: { value: 100, streams: 3000 },
      memory: { value: 2048, streams: 2000 },
    });
  });

  it('says what it rests on, and nothing of a cost that no file has', () => {
    const text = formatPredictions(1_000_000, predictScale(1_000_000, costsOf([file])));
    expect(text).toContain('resident memory of all streams: 1.91 GiB, predicted from 2000 streams');
    expect(text).toContain('processor time of idle streams: no results for it');
  });
});

describe('the check of a prediction', () => {
  const costs = costsOf([
    fileOf(
      scenarioOf('idle', 'idle.rss', 2000, 5000),
      scenarioOf('fanout', 'fanout.sse_last', 50, 5000),
      scenarioOf('storm', 'storm.processor_time', 140, 5000),
    ),
  ]);

  it('compares costs of a stream as they are, and a deployment by the number of streams', () => {
    const measured = fileOf(
      scenarioOf('idle', 'idle.rss', 2200, 15_000),
      scenarioOf('fanout', 'fanout.sse_last', 180, 15_000),
      // Not more streams than the prediction: no check.
      scenarioOf('storm', 'storm.processor_time', 500, 5000),
    );
    const checks = checkPredictions(costs, costsOf([measured]));
    expect(checks).toMatchObject([
      { what: 'resident memory of all streams', streams: [5000, 15_000], isWithin: true },
      { what: 'a deployment in one process', isWithin: false },
    ]);
    expect(checks.map(({ ratio }) => ratio)).toEqual([expect.closeTo(1.1, 6), expect.closeTo(1.2, 6)]);
    expect(formatChecks(checks)).toContain(
      '1.1, measured with 15000 streams ÷ predicted from 5000, within 15 %',
    );
    expect(formatChecks(checks)).toContain('NOT within 15 %');
    expect(exitCodeOfChecks(checks)).toBe(1);
    expect(exitCodeOfChecks(checks.slice(0, 1))).toBe(0);
  });

  it('compares a cluster with a smaller cluster, and a deployment only with one of the same bytes', () => {
    const clusterOf = (agents: number, value: number, frame_bytes = 32_000): Results => {
      const scenario = scenarioOf('cluster', 'cluster.deploy_last', value, agents);
      return fileOf({ ...scenario, parameters: { agents, frame_bytes } });
    };
    const small = costsOf([clusterOf(5000, 50)]);
    const checks = checkPredictions(small, costsOf([clusterOf(45_000, 460)]));
    expect(checks).toMatchObject([
      { what: 'a deployment in a cluster', streams: [5000, 45_000], isWithin: true },
    ]);
    expect(checkPredictions(small, costsOf([clusterOf(45_000, 460, 4096)]))).toEqual([]);
    const predictions = predictScale(45_000, small);
    expect(predictions.find(({ what }) => what.includes('a deployment in a cluster'))?.value).toBeCloseTo(
      0.45,
      6,
    );
    expect(predictScale(45_000, costs).some(({ what }) => what.includes('cluster'))).toBe(false);
  });

  it('has no verdict without more streams', () => {
    const checks = checkPredictions(costs, costs);
    expect(exitCodeOfChecks(checks)).toBe(3);
    expect(formatChecks(checks)).toContain('No figure');
  });
});

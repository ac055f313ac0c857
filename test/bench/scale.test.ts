// Predictions for more agents than a run held: from the costs of results files, with a fixed part where runs of two
// sizes show one, and silent where a cost is absent.
import { describe, expect, it } from 'vitest';
import { figureOf } from '../../bench/suite/figures.ts';
import type { Results, Scenario } from '../../bench/suite/results.ts';
import {
  checkPredictions,
  exitCodeOfChecks,
  formatChecks,
  formatPredictions,
  measuredSizes,
  predictScale,
} from '../../bench/suite/scale.ts';
import { costOfStreams, costsOf, formatDisturbances } from '../../bench/suite/stream-costs.ts';

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

  it('takes the last file of a size, and of equal frames', () => {
    const newer = fileOf(scenarioOf('storm', 'storm.processor_time', 100, 2000));
    expect(costsOf([file, newer])).toMatchObject({
      openingTime: { fixed: 0, perStream: 100, sizes: [2000] },
      memory: { fixed: 0, perStream: 2048, sizes: [2000] },
    });
    const others = scenarioOf('fanout', 'fanout.sse_last', 10, 1000);
    const small = fileOf({ ...others, parameters: { agents: 1000, frame_bytes: 1024 } });
    expect(costsOf([small, file]).deployLast).toMatchObject({ perStream: 0.01, sizes: [5000] });
  });

  /** A hub that needs 10 MB for itself and 2,000 bytes for each stream; for a deployment, 20 ms and 4 µs. */
  const runOf = (streams: number): Results =>
    fileOf(
      scenarioOf('idle', 'idle.rss', 2000 + 10_000_000 / streams, streams),
      scenarioOf('fanout', 'fanout.sse_last', 20 + 0.004 * streams, streams),
    );

  it('tells the part of a stream from what the hub needs for itself', () => {
    const costs = costsOf([runOf(5000), runOf(1250)]);
    expect(costs.memory).toEqual({
      fixed: expect.closeTo(10_000_000, 3),
      perStream: expect.closeTo(2000, 6),
      sizes: [1250, 5000],
      frameBytes: 32_000,
      nodes: null,
    });
    const predictions = predictScale(1_000_000, costs);
    const predicted = (what: string) => predictions.find((one) => one.what === what)?.value;
    // 67 processes.
    expect(predicted('resident memory of all streams')).toBeCloseTo((67 * 10e6 + 2000e6) / 2 ** 30, 6);
    expect(predicted('a deployment in one process after the other')).toBeCloseTo((67 * 20 + 4000) / 1000, 6);
    expect(formatPredictions(1_000_000, predictions)).toContain('predicted from 1250 and 5000 streams');
    // One size alone would predict too much.
    const { checks } = checkPredictions(costs, costsOf([runOf(19_400)]));
    expect(checks.map(({ ratio }) => ratio)).toEqual([expect.closeTo(1, 6), expect.closeTo(1, 6)]);
    const [memory] = checkPredictions(costsOf([runOf(5000)]), costsOf([runOf(19_400)])).checks;
    expect(memory?.ratio).toBeCloseTo(2515.5 / 4000, 3);
    expect(memory?.isWithin).toBe(false);
  });

  it('counts the largest run alone where noise would make a part negative', () => {
    const of = (...rounds: readonly (readonly [streams: number, bytes: number])[]) =>
      costsOf(rounds.map(([streams, bytes]) => fileOf(scenarioOf('idle', 'idle.rss', bytes, streams))))
        .memory;
    for (const cost of [of([1000, 2000], [4000, 3000]), of([1000, 20_000], [4000, 3000])]) {
      expect(cost).toMatchObject({ fixed: 0, perStream: 3000, sizes: [1000, 4000] });
      expect(cost && costOfStreams(cost, 8000)).toBe(24_000_000);
    }
  });

  it('measures two sizes, and one where there are too few agents', () => {
    expect(measuredSizes(1_000_000)).toEqual([1250, 5000]);
    expect(measuredSizes(100)).toEqual([25, 100]);
    expect(measuredSizes(1)).toEqual([1]);
  });

  it('takes what Redis sends and the database writes from a run of a cluster', () => {
    const { figures: writes, ...cluster } = scenarioOf('cluster', 'cluster.database_writes', 0.05, 3000);
    const { figures: bytes } = scenarioOf('cluster', 'cluster.redis_bytes', 120_000, 3000);
    const parameters = { agents: 3000, frame_bytes: 32_000, nodes: 3 };
    const withCluster = costsOf([file, fileOf({ ...cluster, parameters, figures: [...writes, ...bytes] })]);
    const text = formatPredictions(1_000_000, predictScale(1_000_000, withCluster));
    expect(text).toContain('writes of last_seen_at in the database: 50000 1/s, predicted from 3000 streams');
    // 40,000 bytes for each of 67 processes.
    expect(text).toContain('bytes that Redis sends for a deployment: 2.68 MB, predicted from 3000 streams');
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
    const outcome = checkPredictions(costs, costsOf([measured]));
    const { checks, missing } = outcome;
    expect(checks).toMatchObject([
      { what: 'resident memory of all streams', sizes: [5000], streams: 15_000, isWithin: true },
      { what: 'a deployment in one process', isWithin: false },
    ]);
    expect(checks.map(({ ratio }) => ratio)).toEqual([expect.closeTo(1.1, 6), expect.closeTo(1.2, 6)]);
    const text = formatChecks(outcome);
    expect(text).toContain('1.1, measured with 15000 streams ÷ predicted from 5000, within 15 %');
    expect(text).toContain('NOT within 15 %');
    expect(text).toContain(
      'to open all streams: not compared, the check has 5000 streams, which is not more than 5000',
    );
    expect(exitCodeOfChecks(outcome)).toBe(1);
    const [memory] = checks;
    if (!memory) throw new Error('unreachable');
    // A measured cost without a comparison leaves the check without a verdict.
    expect(exitCodeOfChecks({ checks: [memory], missing })).toBe(3);
    expect(exitCodeOfChecks({ checks: [memory], missing: [] })).toBe(0);
  });

  it('names each cost that one side alone has, and has no verdict if it is the larger run', () => {
    const memory = (streams: number): Scenario => scenarioOf('idle', 'idle.rss', 2000, streams);
    const time = (streams: number): Scenario => scenarioOf('idle', 'idle.processor_time', 3, streams);
    const checkOf = (small: readonly Scenario[], large: readonly Scenario[]) => {
      const outcome = checkPredictions(costsOf([fileOf(...small)]), costsOf([fileOf(...large)]));
      const [, ...lines] = formatChecks(outcome).split('\n');
      return {
        code: exitCodeOfChecks(outcome),
        missing: lines.filter((line) => line.includes('not compared')),
      };
    };
    expect(checkOf([memory(5000)], [memory(15_000), time(15_000)])).toEqual({
      code: 3,
      missing: ['  processor time of idle streams: not compared, no file of the prediction has it'],
    });
    expect(checkOf([memory(5000), time(5000)], [memory(15_000)])).toEqual({
      code: 0,
      missing: [
        '  processor time of idle streams: not compared, the run that checks the prediction does not have it',
      ],
    });
    expect(checkOf([memory(5000)], [memory(15_000)])).toEqual({ code: 0, missing: [] });
  });

  it('compares a cluster with a smaller cluster, and a deployment only with one of the same bytes', () => {
    const clusterOf = (agents: number, value: number, frame_bytes = 32_000): Results => {
      const scenario = scenarioOf('cluster', 'cluster.deploy_last', value, agents);
      return fileOf({ ...scenario, parameters: { agents, frame_bytes } });
    };
    const small = costsOf([clusterOf(5000, 50)]);
    const { checks } = checkPredictions(small, costsOf([clusterOf(45_000, 460)]));
    expect(checks).toMatchObject([
      { what: 'a deployment in a cluster', sizes: [5000], streams: 45_000, isWithin: true },
    ]);
    expect(checkPredictions(small, costsOf([clusterOf(45_000, 460, 4096)]))).toEqual({
      checks: [],
      missing: [
        {
          what: 'a deployment in a cluster',
          reason: 'frames differ: 32000 bytes in the prediction, 4096 bytes in the check',
          isMeasured: true,
        },
      ],
    });
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
    expect(formatChecks(checks)).toContain('No cost of the check could be compared.');
  });
});

// Predictions for more agents than a run held: from the costs of results files, and silent where a cost is absent.
import { describe, expect, it } from 'vitest';
import { figureOf } from '../../bench/suite/figures.ts';
import type { Results, Scenario } from '../../bench/suite/results.ts';
import { costsOf, formatPredictions, predictScale } from '../../bench/suite/scale.ts';

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
  );
  const predictedValue = (what: string): number | null | undefined =>
    predictScale(1_000_000, costsOf([file])).find((prediction) => prediction.what.includes(what))?.value;

  it('multiplies the cost of a stream', () => {
    expect(predictedValue('resident memory')).toBeCloseTo(2048e6 / 2 ** 30, 6);
    expect(predictedValue('to open all streams')).toBe(140);
    expect(predictedValue('a deployment')).toBe(10);
    expect(predictedValue('over 10 Gbit/s')).toBeCloseTo(25.6, 6);
    expect(predictedValue('last_seen_at')).toBeCloseTo(33_333.3, 1);
    expect(predictedValue('hub processes')).toBe(67);
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

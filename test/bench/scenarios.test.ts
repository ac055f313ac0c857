// Scenarios besides those of streams: a short run of each that needs no further server, and the verdict when the loader
// was the limit.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { describe, expect, it } from 'vitest';
import { batchSize } from '../../bench/batch.ts';
import { clusterFigures } from '../../bench/scenarios/cluster.ts';
import { type Growth, growthFigures, growthOf, withoutEdges } from '../../bench/scenarios/growth.ts';
import { scenarios } from '../../bench/scenarios/index.ts';
import { findDisturbances, ingestFigures, limitOf } from '../../bench/scenarios/ingest.ts';
import { nightlyRuns } from '../../bench/scenarios/nightly.ts';
import { latencyFigure, openScenario, secondsOfTail } from '../../bench/scenarios/open-rounds.ts';
import { consoleReads } from '../../bench/scenarios/query-console.ts';
import { type RunOptions, skippedScenario } from '../../bench/scenarios/scenario.ts';
import { shortRuns } from '../../bench/scenarios/short.ts';
import { stormFigures } from '../../bench/scenarios/storm.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { exitCodeOf, figureOf, leastRounds } from '../../bench/suite/figures.ts';
import { newHistogram } from '../../bench/suite/histogram.ts';
import { Loader } from '../../bench/suite/loader.ts';
import { root } from '../../bench/suite/root.ts';
import { runsOf, settingsOf, withoutShortTargets } from '../../bench/suite/scenario-runs.ts';
import { itAtNight } from '../runs.ts';

const options: RunOptions = {
  ...parseArguments(['--rounds', '1', '--rows', '100', '--agents', '20']),
  seconds: 0.2,
  hub: root,
  report: () => undefined,
};

/** By scenario: figures that it must have. */
const expected = [
  [
    'query',
    [
      ...['query.newest_p99', 'query.rare_p99', 'query.coverage_p50', 'query.runs_p50'],
      ...consoleReads.map(({ name }) => `query.${name}_p95` as const),
    ],
  ],
  ['hosted', ['hosted.ingest_rate', 'hosted.ingest_time', 'hosted.bundle_memory']],
  [
    'evaluate',
    ['evaluate.library_time', 'evaluate.playground_p99', 'evaluate.new_text_p99', 'evaluate.replay_time'],
  ],
  // On a busy machine, retention ends before the round, and there is no rate beside it.
  ['retention', ['retention.slice_p99']],
  ['deliveries', ['deliveries.one_p99', 'deliveries.beside_silent_p99']],
  ['scrape', ['scrape.slowest', 'scrape.loop_held', 'scrape.series']],
  ['traces', ['traces.off_time', 'traces.on_time', 'traces.spans']],
  ['mixed', ['mixed.answer_p99', 'mixed.decision_p99', 'mixed.deploy_last', 'mixed.log_growth']],
  ['library', ['library.guard', 'library.gate', 'library.mcp', 'library.mcp_added']],
  [
    'mcp',
    [
      'mcp.legacy_legacy_added',
      'mcp.legacy_modern_added',
      'mcp.modern_legacy_added',
      'mcp.modern_modern_added',
      'mcp.modern_plain',
      'mcp.decision_p99',
      'mcp.accept_p99',
      'mcp.handles_memory',
    ],
  ],
] as const;

describe('a scenario', () => {
  itAtNight.each(expected)(
    '%s measures its figures',
    async (name, ids) => {
      // Growth needs samples between the edges of a round.
      const seconds = name === 'mixed' ? 2 : options.seconds;
      const scenario = await scenarios[name]?.run({ ...options, seconds });
      const medians = new Map(scenario?.figures.map(({ id, median }) => [id, median]));
      for (const id of ids) expect([id, (medians.get(id) ?? -1) >= 0]).toEqual([id, true]);
      expect([scenario?.name, scenario?.figures.some(({ bound }) => bound !== null)]).toEqual([name, true]);
    },
    300_000,
  );

  it('has a program for each long run of --nightly', () => {
    expect(nightlyRuns.map(({ scenario }) => scenario).filter((name) => !scenarios[name])).toEqual([]);
    expect(nightlyRuns.every(({ settings }) => (settings.rounds ?? 0) >= leastRounds)).toBe(true);
  });

  it('has a long run of each read and decision that must hold with 1,000,000 events', () => {
    const settings = new Map(nightlyRuns.map((run) => [run.scenario, run.settings]));
    expect(settings.get('query')?.rows).toBe(1_000_000);
    expect(settings.get('approval')?.rounds).toBeGreaterThanOrEqual(leastRounds);
  });

  it('has no more rows in a move than the stand-in for MongoDB copies in a minute, unless an option names them', () => {
    const rowsOf = (...args: string[]) =>
      settingsOf(runsOf(['move'])[0] ?? { scenario: '' }, parseArguments(args)).rows;
    expect([rowsOf('move'), rowsOf('--full'), rowsOf('move', '--rows', '9000')]).toEqual([3000, 3000, 9000]);
  });

  it('has no target in a short run with too few rounds for a verdict, so that the run can end with 0', () => {
    const [short, whole] = [[1], [1, 1, 1]].map((rounds) =>
      figureOf({
        id: 'console.home',
        what: 'Home',
        unit: 'ms',
        better: 'lower',
        rounds,
        target: { at_most: 2, of: 'value' },
      }),
    );
    if (!short || !whole) throw new Error('unreachable');
    const scenario = { ...skippedScenario('console', ''), figures: [short, whole] };
    const { figures } = withoutShortTargets(scenario, { needsVerdicts: false });
    expect(figures.map(({ verdict }) => verdict)).toEqual(['no_target', 'met']);
    expect(exitCodeOf(figures)).toBe(0);
    const run = shortRuns.find(({ scenario }) => scenario === 'console');
    expect(run).toMatchObject({ settings: { rounds: 1 }, needsVerdicts: false });
    const tooShort = shortRuns.filter(({ settings }) => (settings.rounds ?? leastRounds) < leastRounds);
    expect(tooShort.map((run) => run.scenario)).toEqual(['console']);
  });

  /** Three rounds of so many calls, each of 4 ms. */
  const callRounds = (calls: number) => {
    const histogram = newHistogram();
    for (let n = 0; n < calls; n++) histogram.recordValue(4000);
    const latencies = encodeIntoCompressedBase64(histogram);
    const usage = { elapsedMs: 1000, diskWaitMs: 0, hubMs: 0, clientMs: 0, busiestClientMs: 0, otherMs: 0 };
    const sample = {
      ...{ elapsedMs: 1000, latencies, lagMs: 1 },
      usage: { ...usage, writtenBytes: null, hubRssBytes: null },
    };
    return Array.from({ length: 3 }, () => ({ hub: { answer: sample }, bound: {} }));
  };

  it('has no verdict about a percentile of too few calls, and says so', () => {
    const figureWith = (calls: number, percentile: number) =>
      latencyFigure(callRounds(calls), {
        id: `a.answer_p${percentile}`,
        what: 'answers',
        sample: 'answer',
        percentile,
        target: { at_most: 20, of: 'value' },
      });
    const verdictOf = (calls: number, percentile: number) => figureWith(calls, percentile).verdict;
    expect([verdictOf(100, 99), verdictOf(99, 99)]).toEqual(['met', 'no_verdict']);
    expect([verdictOf(20, 95), verdictOf(19, 95), verdictOf(2, 50)]).toEqual(['met', 'no_verdict', 'met']);
    const few = figureWith(50, 99);
    expect(few.what).toBe('answers, p99 from the due times (50 calls a round, too few for a verdict: 100)');
    const scenario = openScenario(options, callRounds(50), { name: 'a', parameters: {}, figures: [few] });
    // The client was punctual.
    expect(scenario.limited_by).toBe('none');
    const [verdict, shortVerdict] = [false, true].map(
      (isShort) => withoutShortTargets(scenario, { isShort }).figures[0]?.verdict,
    );
    expect([verdict, shortVerdict]).toEqual(['no_verdict', 'no_target']);
    expect(shortRuns.every(({ isShort }) => isShort)).toBe(true);
  });

  it('has no verdict about deployments in a cluster beside other work of their own time', () => {
    const verdictBeside = (otherMs: number) => {
      const usage = { elapsedMs: 1000, diskWaitMs: 0, hubMs: 0, clientMs: 0, busiestClientMs: 0, otherMs };
      const deployment = {
        ...{ entries: 7, redisBytes: 1, lastMs: 3, lost: 0, bareLastMs: 2 },
        usage: { ...usage, writtenBytes: null, hubRssBytes: null },
      };
      const quietRounds = callRounds(100).map(({ hub, bound }) => ({
        hub: { decision: hub.answer },
        bound: { ...bound, decision: hub.answer },
      }));
      const figures = clusterFigures(quietRounds, [deployment, deployment, deployment], 9);
      return figures.filter(({ verdict }) => verdict === 'no_verdict').map(({ id }) => id);
    };
    expect([verdictBeside(90), verdictBeside(110)]).toEqual([[], ['cluster.deploy_last']]);
  });

  it('has rounds as long as a 99th percentile needs, unless they only try the scenario', () => {
    const times = [1, 5, 10, 60].map((seconds) => secondsOfTail(10, seconds));
    expect(times).toEqual([1, 10, 10, 60]);
    expect([secondsOfTail(5, 5), secondsOfTail(8, 5), secondsOfTail(20, 5)]).toEqual([20, 12.5, 5]);
  });

  it('misses its targets when memory, descriptors or the log grow over long rounds', () => {
    const levels = { start: { memory: 300, descriptors: 90 }, end: { memory: 300, descriptors: 90 } };
    const leaking = {
      memory: 20,
      descriptors: 20,
      log: 11,
      memorySlope: 110,
      descriptorSlope: 70,
      ...levels,
    };
    const still = { memory: 1, descriptors: -1, log: 1, memorySlope: -5, descriptorSlope: 0, ...levels };
    const verdictsOf = (growth: Growth, isLong: boolean) =>
      Object.fromEntries(
        growthFigures([growth, growth, growth], isLong).map(({ id, verdict }) => [id, verdict]),
      );
    const ids = ['mixed.memory_slope', 'mixed.descriptor_slope', 'mixed.log_growth'];
    for (const id of ids) {
      expect([verdictsOf(leaking, true)[id], verdictsOf(still, true)[id]]).toEqual(['missed', 'met']);
      expect(verdictsOf(leaking, false)[id]).toBe('no_target');
    }
  });

  /** Three rounds of ten minutes. @param valuesOf of a sample, after so many minutes */
  const growthVerdicts = (
    valuesOf: (minute: number) => {
      readonly mib?: number;
      readonly descriptors?: number;
      readonly log?: number;
    },
  ) => {
    const rounds = [0, 10, 20].map((first) =>
      growthOf(
        Array.from({ length: 49 }, (_, n) => {
          const minute = first + 1 + n / 6;
          const { mib = 0, descriptors = 0, log = 0 } = valuesOf(minute);
          // A collection each minute, and sixty connections of a moment at the end of a round.
          const garbage = 30 * (minute % 1);
          return {
            atMs: minute * 60_000,
            memory: (400 + mib + garbage) * 2 ** 20,
            descriptors: 5200 + descriptors + (n === 48 ? 60 : 0),
            log: log * 1024,
          };
        }),
      ),
    );
    const missed = growthFigures(rounds, true).filter(({ verdict }) => verdict === 'missed');
    return missed.map(({ id }) => id.slice('mixed.'.length));
  };

  it('passes with caches that fill, garbage, and connections of a moment', () => {
    expect(growthVerdicts(() => ({}))).toEqual([]);
    expect(growthVerdicts((minute) => ({ mib: 80 * (1 - Math.exp(-minute / 5)) }))).toEqual([]);
  });

  it('misses a steady leak, a leak in one third, and a step that stays, wherever it is', () => {
    expect(growthVerdicts((minute) => ({ mib: (50 * minute) / 30 }))).toEqual(['memory_slope']);
    const oneThird = (minute: number): number => 200 * Math.max(0, Math.min(1, (minute - 10) / 10));
    expect(growthVerdicts((minute) => ({ mib: oneThird(minute) }))).toEqual(['memory_since_start']);
    // Between the second and the last third, and within the first one.
    for (const at of [20, 5]) {
      const step = (minute: number) => (minute > at ? 100 : 0);
      expect(growthVerdicts((minute) => ({ descriptors: step(minute) }))).toEqual([
        'descriptors_since_start',
      ]);
      expect(growthVerdicts((minute) => ({ mib: 2 * step(minute) }))).toEqual(['memory_since_start']);
    }
    const burst = (minute: number) => (minute > 25 ? 200 : 0);
    expect(growthVerdicts((minute) => ({ log: burst(minute) }))).toEqual(['log_growth']);
  });

  it('measures growth without the connections that clients open and close at the edges of a round', () => {
    const mib = 2 ** 20;
    const samples = Array.from({ length: 61 }, (_, n) => ({
      atMs: 5000 + n * 10_000,
      memory: (500 + n) * mib,
      descriptors: n < 3 || n > 57 ? 100 : 250,
      log: n * 1024,
    }));
    const growth = growthOf(withoutEdges(samples, 5000, 600));
    expect(growth).toMatchObject({ memory: 48, descriptors: 0, descriptorSlope: 0 });
    expect([growth.memorySlope, growth.log]).toEqual([expect.closeTo(360), expect.closeTo(6)]);
    expect(growthOf(samples).descriptorSlope).not.toBe(0);
    expect(growthOf([])).toMatchObject({ memory: null, descriptors: null, descriptorSlope: null });
  });

  it.each([
    ['hub', { busiestClientMs: 840, otherMs: 90 }, 10],
    ['client', { busiestClientMs: 860, otherMs: 90 }, 10],
    ['client', { busiestClientMs: 100, otherMs: 90 }, 21],
    ['others', { busiestClientMs: 860, otherMs: 110 }, 10],
  ] as const)(
    'of ingest is limited by %s with %j of a second, and a delay of %d ms',
    (limit, times, lagMs) => {
      const usage = {
        elapsedMs: 1000,
        diskWaitMs: 0,
        hubMs: 0,
        clientMs: 0,
        writtenBytes: 0,
        hubRssBytes: 0,
      };
      const phase = { events: 1, elapsedMs: 1000, latencies: '', lagMs, usage: { ...usage, ...times } };
      const bounds = { insert: 1, append: 1, parse: 1 };
      const round = { loop: { hub: 0, idle: 0 }, closed: phase, open: phase, bounds };
      expect(limitOf(findDisturbances([round, round, round]))).toBe(limit);
    },
  );

  it('has no verdict about written bytes, refusals and garbage beside other work', () => {
    const openings = { elapsedMs: 1, backMs: 1, refused: 1, time: 1, rssBytes: 1 };
    const storms = Array.from({ length: 3 }, () => ({ hub: openings, bare: openings }));
    const usage = { elapsedMs: 1000, diskWaitMs: 0, hubMs: 1, clientMs: 0, hubRssBytes: 0 };
    const latencies = encodeIntoCompressedBase64(newHistogram());
    const ingestOf = (otherMs: number) => {
      const times = { busiestClientMs: 100, otherMs, writtenBytes: 1 };
      const phase = { events: 1, elapsedMs: 1000, latencies, lagMs: 1, usage: { ...usage, ...times } };
      const bounds = { insert: 1, append: 1, parse: 1 };
      const rounds = Array.from({ length: 3 }, () => ({
        loop: { hub: 0, idle: 0 },
        closed: phase,
        open: phase,
        bounds,
      }));
      return ingestFigures(rounds, findDisturbances(rounds));
    };
    const verdictsBeside = (otherMs: number) =>
      Object.fromEntries(
        [...ingestOf(otherMs), ...stormFigures(storms, 1, otherMs > 100)].map(({ id, verdict }) => [
          id,
          verdict,
        ]),
      );
    const quiet = { 'ingest.written_bytes': 'met', 'storm.refused': 'missed', 'storm.rss': 'met' };
    expect(verdictsBeside(90)).toMatchObject(quiet);
    const none = Object.fromEntries(Object.keys(quiet).map((id) => [id, 'no_verdict']));
    expect(verdictsBeside(110)).toMatchObject(none);
  });

  it('has no verdict when the delay of the loader is more than half of the target', () => {
    const histogram = newHistogram();
    for (let n = 0; n < 100; n++) histogram.recordValue(4000);
    const usage = { elapsedMs: 1000, diskWaitMs: 0, hubMs: 0, clientMs: 0, busiestClientMs: 0, otherMs: 0 };
    const sampleOf = (lagMs: number) => ({
      elapsedMs: 1000,
      latencies: encodeIntoCompressedBase64(histogram),
      lagMs,
      usage: { ...usage, writtenBytes: null, hubRssBytes: null },
    });
    const outcomeOf = (lagMs: number, at_most: number) => {
      const rounds = Array.from({ length: 3 }, () => ({ hub: { answer: sampleOf(lagMs) }, bound: {} }));
      const target = { at_most, of: 'value' } as const;
      const figure = latencyFigure(rounds, { id: 'a.answer_p99', what: 'answers', sample: 'answer', target });
      const { limited_by } = openScenario(options, rounds, { name: 'a', parameters: {}, figures: [figure] });
      return [figure.verdict, limited_by];
    };
    expect(outcomeOf(2, 5)).toEqual(['met', 'none']);
    expect(outcomeOf(3, 5)).toEqual(['no_verdict', 'client']);
    expect(outcomeOf(3, 3)).toEqual(['no_verdict', 'client']);
    expect(outcomeOf(19, 100)).toEqual(['met', 'none']);
    expect(outcomeOf(21, 100)).toEqual(['no_verdict', 'client']);
  });

  it('has no verdict when the loader cannot send as much as is due', async () => {
    const server = http.createServer((request, response) => {
      request.resume().once('end', () => response.end(JSON.stringify({ accepted: batchSize })));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const loader = new Loader();
    try {
      // About 400 MB a second, which one process cannot send.
      const result = await loader.load({
        type: 'open',
        origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        keys: ['key'],
        seed: 1,
        batchesPerSecond: 10_000,
        seconds: 0.05,
      });
      const usage = { elapsedMs: 1000, diskWaitMs: 0, hubMs: 0, clientMs: 0, busiestClientMs: 0, otherMs: 0 };
      const sample = { ...result, usage: { ...usage, writtenBytes: null, hubRssBytes: null } };
      const rounds = Array.from({ length: 3 }, () => ({ hub: { answer: sample }, bound: {} }));
      const target = { at_most: 600_000, of: 'value' } as const;
      const figure = latencyFigure(rounds, { id: 'a.answer_p99', what: 'answers', sample: 'answer', target });
      expect(figure.verdict).toBe('no_verdict');
      const scenario = openScenario(options, rounds, { name: 'a', parameters: {}, figures: [figure] });
      expect(scenario.limited_by).toBe('client');
      const punctual = { ...sample, lagMs: 1 };
      const quiet = rounds.map(() => ({ hub: { answer: punctual }, bound: {} }));
      expect(latencyFigure(quiet, { id: 'a.b', what: 'answers', sample: 'answer', target }).verdict).toBe(
        'met',
      );
    } finally {
      loader.stop();
      server.closeAllConnections();
      server.close();
    }
  });
});

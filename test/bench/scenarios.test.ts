// Scenarios besides those of streams: a short run of each that needs no further server, and the verdict when the loader
// was the limit.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { batchSize } from '../../bench/batch.ts';
import { scenarios } from '../../bench/scenarios/index.ts';
import { nightlyRuns } from '../../bench/scenarios/nightly.ts';
import { latencyFigure, openScenario } from '../../bench/scenarios/open-rounds.ts';
import type { RunOptions } from '../../bench/scenarios/scenario.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { leastRounds } from '../../bench/suite/figures.ts';
import { Loader } from '../../bench/suite/loader.ts';
import { root } from '../../bench/suite/root.ts';
import { isNightly } from '../runs.ts';

const options: RunOptions = {
  ...parseArguments(['--rounds', '1', '--rows', '100', '--agents', '20']),
  seconds: 0.2,
  hub: root,
  report: () => undefined,
};

/** By scenario: figures that it must have. */
const expected = [
  ['query', ['query.newest_p99', 'query.rare_p99', 'query.coverage_p50', 'query.runs_p50']],
  ['hosted', ['hosted.ingest_rate', 'hosted.ingest_time', 'hosted.bundle_memory']],
  [
    'evaluate',
    ['evaluate.library_time', 'evaluate.playground_p99', 'evaluate.new_text_p99', 'evaluate.replay_time'],
  ],
  ['retention', ['retention.ingest_rate', 'retention.slice_p99']],
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
/** The one that does everything at once; the others run at night. */
const perCommit = expected.filter(([name]) => isNightly || name === 'mixed');

describe('a scenario', () => {
  it.each(perCommit)(
    '%s measures its figures',
    async (name, ids) => {
      const scenario = await scenarios[name]?.run(options);
      const medians = new Map(scenario?.figures.map(({ id, median }) => [id, median]));
      for (const id of ids) expect([id, (medians.get(id) ?? -1) >= 0]).toEqual([id, true]);
      expect([scenario?.name, scenario?.figures.some(({ bound }) => bound !== null)]).toEqual([name, true]);
    },
    120_000,
  );

  it('has a program for each long run of --nightly', () => {
    expect(nightlyRuns.map(({ scenario }) => scenario).filter((name) => !scenarios[name])).toEqual([]);
    expect(nightlyRuns.every(({ settings }) => (settings.rounds ?? 0) >= leastRounds)).toBe(true);
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

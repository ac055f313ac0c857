// Rivals: absent ones have a reason, lost frames are named, and results say where the hub is behind.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { rivalsOf, streamRivalsOf } from '../../bench/rivals/index.ts';
import { runRivals } from '../../bench/rivals/install.ts';
import { opaRules } from '../../bench/rivals/opa.ts';
import { fillTemplate, findProgram } from '../../bench/rivals/process.ts';
import type { StreamRival } from '../../bench/rivals/rival.ts';
import { contractCount } from '../../bench/scenarios/engine.ts';
import { RivalFanout } from '../../bench/scenarios/rival-streams.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { figureOf } from '../../bench/suite/figures.ts';
import { formatScenario } from '../../bench/suite/print.ts';
import { reportOf } from '../../bench/suite/report.ts';
import type { Results, RivalResult, Scenario } from '../../bench/suite/results.ts';

const frameBytes = 2048;
const lastForm = { id: 'fanout.sse_last', what: 'last delivery', unit: 'ms', better: 'lower' } as const;

/** A server of event streams that leaves out the first `skipped` streams of each frame. */
function rivalThatSkips(skipped: number): StreamRival {
  return {
    name: 'skipper',
    kind: 'streams',
    about: 'a test server',
    files: [],
    source: { kind: 'path', page: '' },
    locate: () => ({ program: '', version: '1.0' }),
    async start() {
      const streams: http.ServerResponse[] = [];
      const server = http.createServer((_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': open\n\n');
        streams.push(response);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return {
        pids: () => [process.pid],
        port: (server.address() as AddressInfo).port,
        request: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
        marker: ': open',
        async publish(bytes) {
          for (const stream of streams.slice(skipped)) stream.write(`data: ${'x'.repeat(bytes)}\n\n`);
        },
        async stop() {
          server.closeAllConnections();
          server.close();
        },
      };
    },
  };
}

async function measure(rival: StreamRival, lossMs: number): Promise<RivalResult[]> {
  const fanout = await RivalFanout.open([rival], { agents: 5, frameBytes, framesOfRound: 1, lossMs });
  try {
    await fanout.measureRound(true);
    await fanout.measureRound(false);
    return fanout.results(lastForm);
  } finally {
    await fanout.stop();
  }
}

const scenarioOf = (rivals: RivalResult[]): Scenario => ({
  name: 'fanout',
  parameters: {},
  skipped: null,
  limited_by: 'none',
  load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
  figures: [figureOf({ ...lastForm, rounds: [30, 30, 30] })],
  rivals,
});

const rivalAt = (milliseconds: number): RivalResult => ({
  name: 'nchan',
  version: '1.3.6',
  figures: [figureOf({ ...lastForm, rounds: [milliseconds, milliseconds, milliseconds] })],
});

const resultsOf = (scenario: Scenario): Results => ({
  schema: 'reeve-bench/1',
  started_at: '2026-01-01T00:00:00Z',
  seconds: 1,
  command: ['bench'],
  seed: 1,
  commit: { sha: null, dirty: null },
  versions: {},
  machine: {
    cpus: 2,
    cpu_model: 'a',
    memory_bytes: 1,
    kernel: '6',
    clock: null,
    fd_limit: null,
    busy_before: null,
  },
  scenarios: [scenario],
});

describe('a rival', () => {
  it('has its time and no lost frame when every stream gets the frames', async () => {
    const [result] = await measure(rivalThatSkips(0), 60_000);
    expect(result).toMatchObject({ name: 'skipper', version: '1.0' });
    const medians = result && 'figures' in result ? result.figures.map(({ median }) => median) : [];
    expect(medians).toEqual([expect.any(Number), 0]);
  });

  it.skipIf(findProgram('cc') === null)('in C is built, and loses no frame', async () => {
    runRivals(['install', 'epoll'], () => undefined);
    const [epoll] = streamRivalsOf(['epoll']);
    if (!epoll) throw new Error('unreachable');
    const [result] = await measure(epoll, 60_000);
    const medians = result && 'figures' in result ? result.figures.map(({ median }) => median) : [];
    expect(medians).toEqual([expect.any(Number), 0]);
  });

  it('has no time, and its loss is named, when streams miss a frame', async () => {
    const rivals = await measure(rivalThatSkips(2), 500);
    const [result] = rivals;
    expect(result && 'figures' in result && result.figures).toMatchObject([
      { id: 'fanout.sse_last', rounds: [], median: null },
      { id: 'fanout.lost_frames', rounds: [2] },
    ]);
    const text = formatScenario(scenarioOf(rivals));
    expect(text).toContain('skipper 1.0: lost 2 frames, so its time does not count');
  });

  it('is absent with the reason, when it is not installed or does not start', async () => {
    const rival = rivalThatSkips(0);
    const absent = await measure({ ...rival, locate: () => ({ absent: 'skipper is not on PATH' }) }, 1000);
    expect(absent).toEqual([{ name: 'skipper', absent: 'skipper is not on PATH' }]);
    const start = () => Promise.reject(new Error('no port'));
    const broken = await measure({ ...rival, start }, 1000);
    expect(broken).toEqual([{ name: 'skipper', absent: 'it failed: no port' }]);
    expect(formatScenario(scenarioOf(absent))).toContain('skipper: absent, skipper is not on PATH');
  });
});

describe('results beside rivals', () => {
  it('name each figure in which a rival is ahead, and no other', () => {
    const lead = 'nchan 1.3.6 is ahead in fanout.sse_last: 20 ms, Reeve 30 ms (1.5 ×)';
    expect(formatScenario(scenarioOf([rivalAt(20)]))).toContain(lead);
    expect(formatScenario(scenarioOf([rivalAt(40)]))).not.toContain('is ahead');
  });

  it('have the rivals in the first table of the report, and their configuration', () => {
    const html = reportOf([{ name: 'a.json', results: resultsOf(scenarioOf([rivalAt(20)])) }]);
    const [first = ''] = /<table>.*?<\/table>/.exec(html) ?? [];
    expect(first).toContain('<td>behind (1.5 ×)</td>');
    expect(html).toContain('nchan_subscriber eventsource;');
    const without = reportOf([{ name: 'a.json', results: resultsOf(scenarioOf([])) }]);
    expect(without).not.toContain('Beside rivals');
  });
});

describe('the configuration of a rival', () => {
  it.each(['centrifugo.yaml', 'mercure.caddyfile', 'nchan.conf', 'pushpin.conf'])(
    '%s has no name in braces after it is filled, also with blanks around the name',
    (file) => {
      const names = ['port', 'publish_port', 'folder', 'modules', 'programs', 'library', 'key'];
      const text = fillTemplate(file, Object.fromEntries(names.map((name, n) => [name, 4321 + n])));
      expect(text).toMatch(/\b4321\b/);
      expect(text.match(/\{[ \t]*\w+[ \t]*\}/g)).toBeNull();
    },
  );

  it('gives Centrifugo its port as a number', () => {
    expect(fillTemplate('centrifugo.yaml', { port: 4321 })).toMatch(/^ {2}port: 4321$/m);
  });
});

describe('the choice of rivals', () => {
  it('takes several names and refuses an unknown one with the near name', () => {
    const { rivals } = parseArguments(['fanout', '--rivals', 'nchan,opa', '--rivals=pushpin']);
    expect(rivalsOf(rivals).map(({ name }) => name)).toEqual(['nchan', 'opa', 'pushpin']);
    expect(() => rivalsOf(['ncahn'])).toThrow('There is no rival ncahn. Did you mean nchan?');
  });

  it('installs nothing under an unknown name, and prints the command for packages', () => {
    const lines: string[] = [];
    const print = (line: string): void => void lines.push(line);
    expect(() => runRivals(['install', 'nchan', 'centrifug'], print)).toThrow('Did you mean centrifuge?');
    expect(() => runRivals(['instal', 'nchan'], print)).toThrow(
      'There is no command rivals instal. Did you mean install?',
    );
    expect(lines).toEqual([]);
    runRivals(['install', 'nchan'], print);
    expect(lines).toEqual([expect.stringContaining('nginx libnginx-mod-nchan')]);
  });

  it('gives OPA as many contracts as the hub', () => {
    const ids = new Set([...opaRules().matchAll(/deny contains "(c\d+)"/g)].map(([, id]) => id));
    expect(ids.size).toBe(contractCount);
    expect(opaRules()).not.toContain('{id}');
  });
});

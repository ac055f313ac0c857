// Fan-out: one bundle to N agents through the whole hub (deployment, store, signature, actors, streams), beside a bare
// corked uWebSockets.js broadcast in the same run.
import type { HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { loadUws } from '../adapters/uws/load.ts';
import { median } from './numbers.ts';
import { readOptions } from './options.ts';
import { StreamClient } from './stream-client.ts';
import { startHub } from './stream-hub.ts';

/** The last delivery may take this many times as long as the bare broadcast's. */
const goal = 1.5;
const framesPerRepeat = 5;

const { clients, bytes, repeats, json } = readOptions({
  program: 'fanout',
  options: {
    clients: { about: 'agents that hold a stream each', default: 10_000 },
    bytes: { about: 'of the frame', default: 32_768 },
    repeats: { about: 'repeats', default: 3, atLeast: 3 },
  },
  note: 'Ends with code 1 when the goal is missed.',
});

interface Contender {
  readonly port: number;
  readonly request: (agent: string) => string;
  /** Makes the frame ready; resolves with what sends it. */
  prepare(): Promise<() => unknown>;
  /** Connections it would send to. */
  count(): number;
  close(): Promise<void>;
}

/** The bound: an array of responses, one prepared buffer, one cork and one write each. */
async function startBare(): Promise<Contender> {
  const uws = await loadUws();
  const app = uws.App();
  const open = new Set<HttpResponse>();
  let to: HttpResponse | null = null;
  const frame = Buffer.from(`id: 1700000000000-1\nevent: contract_update\ndata: ${'x'.repeat(bytes)}\n\n`);
  const write = (): void => void to?.write(frame);
  app.get('/*', (res) => {
    res.onAborted(() => void open.delete(res));
    res.onWritable(() => {
      let ok = true;
      res.cork(() => {
        ok = res.write(':\n\n');
      });
      return ok;
    });
    res.writeHeader('Content-Type', 'text/event-stream').write(': connected\nretry: 1000\n\n');
    open.add(res);
  });
  const listening = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen('127.0.0.1', 0, resolve);
  });
  if (!listening) throw new Error('no port for the bare broadcast');
  return {
    port: uws.us_socket_local_port(listening),
    request: () => 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    prepare: async () => () => {
      for (const res of open) {
        to = res;
        res.cork(write);
      }
      to = null;
    },
    count: () => open.size,
    close: async () => void app.close(),
  };
}

async function startReal(): Promise<Contender> {
  const hub = await startHub();
  return {
    port: hub.port,
    request: hub.request,
    prepare: () => hub.prepare(bytes),
    count: hub.streams,
    close: hub.close,
  };
}

/**
 * Median time from asking for the deployment (the hub) or from writing (the bound) to the last delivery, milliseconds,
 * over some frames on fresh connections.
 */
async function measure(contender: Contender, client: StreamClient): Promise<number> {
  await client.connect(contender.port, clients, contender.request);
  const times: number[] = [];
  for (let i = 0; i <= framesPerRepeat; i++) {
    if (contender.count() !== clients) throw new Error(`${contender.count()} of ${clients} streams are open`);
    const send = await contender.prepare();
    const { last } = await client.expect(bytes);
    const started = process.hrtime.bigint();
    const sent = send();
    const ms = Number((await last) - started) / 1e6;
    await sent;
    // The first frame warms up.
    if (i > 0) times.push(ms);
  }
  await client.disconnect();
  while (contender.count() > 0) await new Promise((resolve) => setImmediate(resolve));
  return median(times);
}

const client = new StreamClient();
const real = await startReal();
const bare = await startBare();
const rounds: { hub: number; bare: number }[] = [];
for (let i = 0; i < repeats; i++) {
  const [first, second] = i % 2 === 0 ? [real, bare] : [bare, real];
  const one = await measure(first, client);
  const two = await measure(second, client);
  rounds.push(i % 2 === 0 ? { hub: one, bare: two } : { hub: two, bare: one });
}
client.stop();
await real.close();
await bare.close();

const ratio = median(rounds.map(({ hub, bare }) => hub / bare));
const result = {
  benchmark: 'fanout',
  clients,
  bytes,
  repeats: rounds,
  hub_ms: median(rounds.map(({ hub }) => hub)),
  bare_ms: median(rounds.map(({ bare }) => bare)),
  ratio,
  goal,
  met: ratio <= goal,
};
if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  process.stdout.write(
    `fan-out of ${bytes} bytes to ${clients} streams, deploy call → last delivery, medians\n`,
  );
  for (const { hub, bare } of rounds)
    process.stdout.write(`  hub ${hub.toFixed(1)} ms, bare ${bare.toFixed(1)} ms\n`);
  process.stdout.write(
    `  hub ÷ bare corked broadcast: ${ratio.toFixed(2)} (goal ≤ ${goal}) ${result.met ? 'met' : 'MISSED'}\n`,
  );
}
process.exitCode = result.met ? 0 : 1;

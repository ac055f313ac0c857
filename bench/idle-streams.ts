// Memory of idle agent streams: what each authenticated SSE stream adds to the server's resident memory.
// Usage: npm run build && node dist/bench/idle-streams.js [--clients 10000] [--repeats 3] [--json]
// (Run compiled: tsx names every closure at run time, which alone adds 0.8 KB to a stream.)
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../adapters/node/clock.ts';
import { StreamClient } from './stream-client.ts';
import { startHub } from './stream-hub.ts';

/** Bytes of resident memory per stream. */
const goal = 3 * 1024;

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '10000' },
    repeats: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const clients = Number(values.clients);
const repeats = Math.max(1, Number(values.repeats));

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Resident memory once garbage is gone. */
async function settledRss(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    gc();
    await new Promise<void>((resolve) => {
      systemClock.after(100, resolve);
    });
  }
  return process.memoryUsage().rss;
}

/** Grows the young generation to its full size: the collector's reserve belongs to the process, not to its streams. */
function growYoungGeneration(): void {
  for (let i = 0; i < 300; i++) {
    const kept = Array.from({ length: 20_000 }, (_, n) => ({ n, list: [n] }));
    if (kept.at(-1)?.n !== 19_999) throw new Error('not allocated');
  }
}

const hub = await startHub();
const perStream: number[] = [];
const warm = new StreamClient();
// Compiles everything and grows what grows once, so that only streams are counted.
await warm.connect(hub.port, Math.min(1000, clients), hub.request);
await hub.deploy(1024);
await warm.disconnect();
warm.stop();
growYoungGeneration();

const client = new StreamClient();
const idle = await settledRss();
let heap = process.memoryUsage().heapUsed;
const heapPerStream: number[] = [];
for (let i = 0; i < repeats; i++) {
  if (i > 0) {
    await client.disconnect();
    while (hub.streams() > 0) await new Promise((resolve) => setImmediate(resolve));
    await settledRss();
    heap = process.memoryUsage().heapUsed;
  }
  await client.connect(hub.port, clients, hub.request);
  if (hub.streams() !== clients) throw new Error(`${hub.streams()} of ${clients} streams are open`);
  // Always against the first idle figure: memory that a closed stream does not give back counts against us.
  perStream.push(((await settledRss()) - idle) / clients);
  heapPerStream.push((process.memoryUsage().heapUsed - heap) / clients);
}
await client.disconnect();
client.stop();
await hub.close();

const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
const bytes = Math.round(median(perStream));
const result = {
  benchmark: 'idle-streams',
  clients,
  bytes_per_stream: bytes,
  repeats: perStream.map(Math.round),
  heap_bytes_per_stream: Math.round(median(heapPerStream)),
  goal,
  met: bytes <= goal,
};
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  process.stdout.write(`${clients} idle authenticated agent streams\n`);
  process.stdout.write(
    `  resident memory per stream: ${bytes} bytes [${result.repeats.join(', ')}], of it JavaScript heap ${result.heap_bytes_per_stream}\n`,
  );
  process.stdout.write(`  goal ≤ ${goal} bytes: ${result.met ? 'met' : 'MISSED'}\n`);
}
process.exitCode = result.met ? 0 : 1;

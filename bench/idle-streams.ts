// Memory of idle agent streams: what each authenticated SSE stream adds to the resident memory of the whole hub. Two
// figures: all that was added ÷ all streams (the figure that the goal is about, because nothing the streams cause is
// left out of it), and what the second half of the streams added (the slope: what one more stream costs once the
// process has grown its reserves). (Run compiled: tsx names every closure at run time, which alone adds 0.8 KB to a
// stream.)
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../adapters/node/clock.ts';
import { agentName, makeBatch } from './batch.ts';
import { median } from './numbers.ts';
import { readOptions } from './options.ts';
import { StreamClient } from './stream-client.ts';
import { startHub } from './stream-hub.ts';

/** Bytes of resident memory per stream. */
const goal = 3 * 1024;
const warmBatches = 1000;

const { clients, repeats, json } = readOptions({
  program: 'idle-streams',
  options: {
    clients: { about: 'streams that are opened', default: 10_000 },
    repeats: { about: 'repeats', default: 3 },
  },
  note: 'Ends with code 1 when the goal is missed.',
});

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

/** Gives the store's threads, which have a collector each, the same: what agents do besides holding a stream. */
async function ingest(): Promise<void> {
  for (let i = 0; i < warmBatches; i++) {
    const response = await fetch(`${hub.url}/api/v1/events`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${hub.key}`,
        'X-Service-Agent-Id': agentName(i),
      },
      body: JSON.stringify({ events: makeBatch(agentName(i), Date.now()) }),
    });
    if (!response.ok) throw new Error(`events: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }
}

const hub = await startHub();
const warm = new StreamClient();
// Compiles everything and grows what grows once, so that only streams are counted.
await warm.connect(hub.port, Math.min(1000, clients), hub.request);
await hub.deploy(1024);
await warm.disconnect();
warm.stop();
growYoungGeneration();
await ingest();

const [first, second] = [new StreamClient(), new StreamClient()];
const half = Math.floor(clients / 2);
const idle = await settledRss();
const heap = process.memoryUsage().heapUsed;
const rounds: { readonly perStream: number; readonly slope: number; readonly heap: number }[] = [];
for (let i = 0; i < repeats; i++) {
  await first.connect(hub.port, half, hub.request);
  const middle = await settledRss();
  await second.connect(hub.port, clients - half, (agent) => hub.request(`second-${agent}`));
  if (hub.streams() !== clients) throw new Error(`${hub.streams()} of ${clients} streams are open`);
  const full = await settledRss();
  rounds.push({
    // Always against the first idle figure: memory that a closed stream does not give back counts against us.
    perStream: Math.round((full - idle) / clients),
    slope: Math.round((full - middle) / (clients - half)),
    heap: Math.round((process.memoryUsage().heapUsed - heap) / clients),
  });
  await first.disconnect();
  await second.disconnect();
  while (hub.streams() > 0) await new Promise((resolve) => setImmediate(resolve));
}
first.stop();
second.stop();
await hub.close();

const bytes = median(rounds.map(({ perStream }) => perStream));
const result = {
  benchmark: 'idle-streams',
  clients,
  bytes_per_stream: bytes,
  slope: median(rounds.map(({ slope }) => slope)),
  heap_bytes_per_stream: median(rounds.map((round) => round.heap)),
  repeats: rounds,
  goal,
  met: bytes <= goal,
};
if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  process.stdout.write(`${clients} idle authenticated agent streams\n`);
  const list = (of: 'perStream' | 'slope' | 'heap'): string => rounds.map((round) => round[of]).join(', ');
  process.stdout.write(`  resident memory per stream: ${bytes} bytes [${list('perStream')}]\n`);
  process.stdout.write(`  of the second half alone: ${result.slope} bytes [${list('slope')}]\n`);
  process.stdout.write(`  JavaScript heap in it: ${result.heap_bytes_per_stream} bytes [${list('heap')}]\n`);
  process.stdout.write(`  goal ≤ ${goal} bytes: ${result.met ? 'met' : 'MISSED'}\n`);
}
process.exitCode = result.met ? 0 : 1;

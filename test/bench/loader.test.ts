// Loaders of the suite against servers of the test: totals, due times, and loaders or servers that fail.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { afterEach, describe, expect, it } from 'vitest';
import { batchSize } from '../../bench/batch.ts';
import { Loader } from '../../bench/suite/loader.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

/** A server that accepts each batch once `answer` calls its argument. */
async function startServer(answer: (accept: () => void, n: number) => void): Promise<string> {
  let requests = 0;
  const server = http.createServer((request, response) => {
    request.resume().once('end', () => {
      const accept = (): void => void response.end(JSON.stringify({ accepted: batchSize }));
      answer(accept, requests++);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function startLoader(): Loader {
  const loader = new Loader();
  cleanups.push(() => loader.stop());
  return loader;
}

const keys = ['key'];

describe('a loader', () => {
  it('counts the events of all connections, also of answers that arrive together', async () => {
    const waiting: (() => void)[] = [];
    const origin = await startServer((accept) => {
      if (waiting.push(accept) === 8) for (const next of waiting.splice(0)) next();
    });
    const order = { type: 'closed', origin, keys, seed: 1, connections: 8, seconds: 60 } as const;
    const { events } = await startLoader().load({ ...order, maxBatches: 40 });
    expect(events).toBe(40 * batchSize);
  });

  it('measures an open loop from the due times, so a stall shows in every request that was due', async () => {
    const batches = 40;
    const waiting: (() => void)[] = [];
    // The server answers nothing until the last batch has come.
    const origin = await startServer((accept, n) => {
      waiting.push(accept);
      if (n === batches - 1) for (const next of waiting) next();
    });
    const order = {
      type: 'open',
      origin,
      keys,
      seed: 1,
      batchesPerSecond: 200,
      seconds: batches / 200,
    } as const;
    const { events, latencies } = await startLoader().load(order);
    const histogram = decodeFromCompressedBase64(latencies);
    expect([events, histogram.totalCount]).toEqual([batches * batchSize, batches]);
    // Batch n was due (batches − 1 − n) × 5 ms before the last one.
    expect(histogram.getValueAtPercentile(50)).toBeGreaterThan((batches / 2 - 2) * 5000);
  });

  it('fails the run in one sentence when the process ends', async () => {
    const origin = await startServer(() => undefined);
    const loader = startLoader();
    const order = { type: 'closed', origin, keys, seed: 1, connections: 1, seconds: 60 } as const;
    const result = expect(loader.load(order)).rejects.toThrow('A loader ended with SIGKILL during the run.');
    process.kill(loader.pid, 'SIGKILL');
    await result;
  });

  it('fails the run for an answer that accepts nothing', async () => {
    const origin = await startServer(() => undefined);
    cleanups[0]?.();
    const order = { type: 'closed', origin, keys, seed: 1, connections: 1, seconds: 60 } as const;
    await expect(startLoader().load(order)).rejects.toThrow('A batch was not answered');
  });
});

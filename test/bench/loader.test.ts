// Loaders of the suite against servers of the test: totals, due times, and loaders or servers that fail.
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import Libsql from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { batchSize } from '../../bench/batch.ts';
import { insertRows, measureBound } from '../../bench/scenarios/ingest-bounds.ts';
import { Approver } from '../../bench/suite/approver.ts';
import { HttpCaller } from '../../bench/suite/http-call.ts';
import { Loader } from '../../bench/suite/loader.ts';
import { runOpenLoop } from '../../bench/suite/open-loop.ts';
import { Receivers } from '../../bench/suite/receivers.ts';
import { Requester } from '../../bench/suite/requester.ts';

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

describe('a client of reads', () => {
  it.each([
    ['as long as the refusal asks', { 'Retry-After': '1' }, 1000],
    ['a quarter of a second without a number', { 'Retry-After': 'soon' }, 250],
  ])('waits %s', async (_, headers, leastMs) => {
    const times: number[] = [];
    const server = http.createServer((_request, response) => {
      times.push(performance.now());
      response.writeHead(times.length === 1 ? 429 : 200, headers).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const requester = new Requester();
    cleanups.push(() => {
      requester.stop();
      server.closeAllConnections();
      server.close();
    });
    const calls = [{ method: 'GET', path: '/', headers: {} }];
    const order = { origin, calls, seed: 1, perSecond: 1, seconds: 1, onRefusal: 'retry' } as const;
    const { refused, latencies } = await requester.open(order);
    expect(refused).toBe(1);
    const [first = 0, second = 0] = times;
    // Timers of Node can be a millisecond early.
    expect(second - first).toBeGreaterThan(leastMs - 5);
    expect(decodeFromCompressedBase64(latencies).minNonZeroValue).toBeGreaterThan((leastMs - 5) * 1000);
  });
});

describe('a client of reads that are refused again and again', () => {
  it('fails the run, with the time so far, when the next try would be after a minute', async () => {
    const server = http.createServer((_request, response) => {
      response.writeHead(503, { 'Retry-After': '3600' }).end('full');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const requester = new Requester();
    cleanups.push(() => {
      requester.stop();
      server.closeAllConnections();
      server.close();
    });
    const calls = [{ method: 'GET', path: '/', headers: {} }];
    const order = { origin, calls, seed: 1, perSecond: 1, seconds: 1, onRefusal: 'retry' } as const;
    await expect(requester.open(order)).rejects.toThrow(
      /^GET \/: 503 full It was refused for 0(?:\.\d)? s, and its next try is due in 3600 s\. A request is tried for 60 s/,
    );
  });
});

describe('a client of approvals', () => {
  const approvalsAt = async (): Promise<string> => {
    let approvals = 0;
    const server = http.createServer((request, response) => {
      request.resume();
      if (request.url?.startsWith('/api/v1/stream')) response.writeHead(200).write(': connected\n\n');
      else response.end(`{"id":"${approvals++}"}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it('fails the run when no stream receives the decision', async () => {
    const origin = await approvalsAt();
    const approver = new Approver();
    cleanups.push(() => approver.stop());
    const plan = {
      origins: { request: origin, decide: origin, stream: origin },
      env: 'production',
      cookie: 'a',
    };
    const loop = { perSecond: 10, seconds: 0.1, limitMs: 200 };
    await expect(approver.whole({ ...plan, keys, ...loop })).rejects.toThrow(
      'The decision of approval 0 did not come within 0.2 s.',
    );
  });

  it('fails the run when a receiver has no notification', async () => {
    const receivers = new Receivers();
    cleanups.push(() => receivers.stop());
    await receivers.listen(1);
    const plan = { origin: await approvalsAt(), key: 'key', agentPrefix: 'a', receivers: 1, limitMs: 200 };
    await expect(receivers.deliver({ ...plan, perSecond: 10, seconds: 0.1 })).rejects.toThrow(
      'The notification of approval 0 to each receiver did not come within 0.2 s.',
    );
  });
});

describe('a bound of ingest', () => {
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-bound-test-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };

  it.each([
    ['random', '4', false],
    ['ordered', '7', true],
  ] as const)('inserts events with %s call ids, UUIDs of version %s', (ids, version, hasTime) => {
    const folder = newFolder();
    const before = Date.now();
    const bound = insertRows(folder, ids);
    bound.writeGroup();
    bound.close();
    const db = new Libsql(join(folder, 'rows.db'));
    const rows = db.prepare('SELECT call_id FROM events').all() as { readonly call_id: string }[];
    db.close();
    const form = new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`);
    expect(rows.length).toBe(16 * batchSize);
    const times = rows.map(({ call_id }) => Number.parseInt(call_id.replace('-', '').slice(0, 12), 16));
    expect(rows.every(({ call_id }) => form.test(call_id))).toBe(true);
    expect(times.every((time) => time >= before && time <= Date.now())).toBe(hasTime);
  });

  it('counts the processor time of parsing, as the figure beside it has that of the hub', async () => {
    const { cpuUsage } = process;
    // A second of processor time, whatever the clock shows.
    let reads = 0;
    process.cpuUsage = Object.assign(() => ({ user: reads++ * 1e6, system: 0 }), cpuUsage);
    cleanups.push(() => {
      process.cpuUsage = cpuUsage;
    });
    const order = { bound: 'parse', seconds: 0, folder: newFolder(), ids: 'random' } as const;
    expect(await measureBound(order)).toBe(16 * batchSize);
  });
});

describe('an open loop', () => {
  it('fails when a call does not end, and names it', async () => {
    const endless = (n: number) => (n === 1 ? new Promise(() => {}) : Promise.resolve());
    const running = runOpenLoop({ perSecond: 100, seconds: 0.03, callLimitMs: 50 }, endless);
    await expect(running).rejects.toThrow('The end of call 2 of 3 did not come within 0.05 s.');
  });
});

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

  it('fails the run in one sentence when the hub is silent, in either loop', async () => {
    const origin = await startServer(() => undefined);
    const target = { origin, keys, seed: 1, seconds: 0.1, limitMs: 200 };
    const silence = 'A batch was not answered: no byte came within 0.2 s';
    await expect(startLoader().load({ ...target, type: 'closed', connections: 1 })).rejects.toThrow(silence);
    await expect(startLoader().load({ ...target, type: 'open', batchesPerSecond: 20 })).rejects.toThrow(
      silence,
    );
    const caller = new HttpCaller(origin, 1, 200);
    cleanups.push(() => caller.close());
    const call = { method: 'GET', path: '/a', headers: {} };
    await expect(caller.call(call)).rejects.toThrow('GET /a was not answered: no byte came within 0.2 s');
  });

  it('fails the run for an answer that accepts nothing', async () => {
    const origin = await startServer(() => undefined);
    cleanups[0]?.();
    const order = { type: 'closed', origin, keys, seed: 1, connections: 1, seconds: 60 } as const;
    await expect(startLoader().load(order)).rejects.toThrow('A batch was not answered');
  });
});

// A client process that posts batches of events: in a closed loop for rates, in an open loop for latencies. It runs
// the bounds too, so that hub and load rest meanwhile.
import http from 'node:http';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { agentName, batchSize, ReusableBody } from '../batch.ts';
import { type BoundName, measureBound } from '../scenarios/ingest-bounds.ts';
import { ClientProcess, serveOrders } from './client-process.ts';
import { newHistogram } from './histogram.ts';
import { seededRandom } from './statistics.ts';

interface LoadTarget {
  readonly port: number;
  /** One per tenant; connections take the keys in turn. */
  readonly keys: readonly string[];
  /** Two orders with one seed send the same call ids. */
  readonly seed: number;
}

/** Each connection sends its next batch after the answer to the last one. */
export interface ClosedOrder extends LoadTarget {
  readonly type: 'closed';
  readonly connections: number;
  /** Ends the loop, whichever comes first. */
  readonly seconds: number;
  readonly maxBatches?: number;
}

/** Each batch is sent at its due time, whether or not earlier ones are answered. */
export interface OpenOrder extends LoadTarget {
  readonly type: 'open';
  readonly batchesPerSecond: number;
  readonly seconds: number;
}

export interface BoundOrder {
  readonly type: 'bound';
  readonly bound: BoundName;
  readonly seconds: number;
  /** For the files of the bound, on the disk of the hub. */
  readonly folder: string;
}

type Order = ClosedOrder | OpenOrder | BoundOrder;

export interface LoadResult {
  /** Accepted ones. */
  readonly events: number;
  readonly elapsedMs: number;
  /** HdrHistogram V2, base64, microseconds: of an open loop from the due times, of a closed one from the sends. */
  readonly latencies: string;
  /** How late the loader itself sent its batches in an open loop: 99th percentile, milliseconds. 0 in a closed one. */
  readonly lagMs: number;
}

export class Loader {
  readonly #process = new ClientProcess(import.meta.url, 'loader');

  get pid(): number {
    return this.#process.pid;
  }

  load(order: ClosedOrder | OpenOrder): Promise<LoadResult> {
    return this.#process.request(order) as Promise<LoadResult>;
  }

  /** Events per second. */
  measureBound(order: Omit<BoundOrder, 'type'>): Promise<number> {
    return this.#process.request({ type: 'bound', ...order }) as Promise<number>;
  }

  stop(): void {
    this.#process.stop();
  }
}

const hexDigits = (random: () => number, length: number): string =>
  Math.floor(random() * 16 ** length)
    .toString(16)
    .padStart(length, '0');

/** UUIDs of version 4 from a seed. */
function idMaker(random: () => number): () => string {
  return () => {
    const variant = '89ab'[Math.floor(random() * 4)];
    return (
      `${hexDigits(random, 8)}-${hexDigits(random, 4)}-4${hexDigits(random, 3)}-` +
      `${variant}${hexDigits(random, 3)}-${hexDigits(random, 6)}${hexDigits(random, 6)}`
    );
  };
}

interface Post {
  readonly agent: http.Agent;
  readonly port: number;
  readonly key: string;
  readonly body: Buffer;
}

/** @returns accepted events */
function postBatch({ agent, port, key, body }: Post): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': body.length,
    };
    const options = { agent, host: '127.0.0.1', port, method: 'POST', path: '/api/v1/events', headers };
    const request = http.request(options, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const accepted = response.statusCode === 200 ? (JSON.parse(text).accepted as number) : -1;
        if (accepted === batchSize) return resolve(accepted);
        reject(new Error(`The hub did not accept a batch: ${response.statusCode} ${text.slice(0, 200)}`));
      });
    });
    request.on('error', (error) => reject(new Error(`A batch was not answered: ${error.message}`)));
    request.end(body);
  });
}

const microseconds = (sinceMs: number): number =>
  Math.max(1, Math.round((performance.now() - sinceMs) * 1000));

async function runClosed(order: ClosedOrder): Promise<LoadResult> {
  const { port, keys, seed, connections, seconds, maxBatches = Number.POSITIVE_INFINITY } = order;
  const random = seededRandom(seed);
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const histogram = newHistogram();
  let [batches, events] = [0, 0];
  const began = performance.now();
  const sendInTurn = async (n: number): Promise<void> => {
    const body = new ReusableBody('console', idMaker(random));
    while (performance.now() < began + seconds * 1000 && batches < maxBatches) {
      batches++;
      const bytes = body.refresh(agentName(Math.floor(random() * 1e6)), Date.now());
      const sent = performance.now();
      const accepted = await postBatch({ agent, port, key: keys[n % keys.length] ?? '', body: bytes });
      events += accepted;
      histogram.recordValue(microseconds(sent));
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, (_, n) => sendInTurn(n)));
    const elapsedMs = performance.now() - began;
    return { events, elapsedMs, latencies: encodeIntoCompressedBase64(histogram), lagMs: 0 };
  } finally {
    agent.destroy();
  }
}

async function runOpen({ port, keys, seed, batchesPerSecond, seconds }: OpenOrder): Promise<LoadResult> {
  const random = seededRandom(seed);
  const agent = new http.Agent({ keepAlive: true });
  const [latencies, lags] = [newHistogram(), newHistogram()];
  const freeBodies: ReusableBody[] = [];
  const answers: Promise<void>[] = [];
  const makeId = idMaker(random);
  const total = Math.max(1, Math.round(batchesPerSecond * seconds));
  let events = 0;
  const began = performance.now();
  const send = async (n: number, due: number): Promise<void> => {
    lags.recordValue(microseconds(due));
    const body = freeBodies.pop() ?? new ReusableBody('console', makeId);
    const bytes = body.refresh(agentName(Math.floor(random() * 1e6)), Date.now());
    const accepted = await postBatch({ agent, port, key: keys[n % keys.length] ?? '', body: bytes });
    events += accepted;
    latencies.recordValue(microseconds(due));
    freeBodies.push(body);
  };
  let failure: unknown;
  try {
    for (let n = 0; n < total && failure === undefined; n++) {
      const due = began + (n * 1000) / batchesPerSecond;
      const wait = due - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      answers.push(
        send(n, due).catch((error: unknown) => {
          failure = error;
        }),
      );
    }
    await Promise.all(answers);
    if (failure !== undefined) throw failure;
    return {
      events,
      elapsedMs: performance.now() - began,
      latencies: encodeIntoCompressedBase64(latencies),
      lagMs: lags.getValueAtPercentile(99) / 1000,
    };
  } finally {
    agent.destroy();
  }
}

function run(order: Order): Promise<unknown> {
  if (order.type === 'closed') return runClosed(order);
  return order.type === 'open' ? runOpen(order) : measureBound(order);
}

serveOrders(import.meta.url, run);

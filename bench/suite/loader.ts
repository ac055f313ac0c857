// A client process that posts batches of events: in a closed loop for rates, in an open loop for latencies. It runs
// the bounds too, so that hub and load rest meanwhile.
import http from 'node:http';
import https from 'node:https';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { agentName, type BatchForm, batchSize, ReusableBody, sessionName } from '../batch.ts';
import { type BoundName, measureBound } from '../scenarios/ingest-bounds.ts';
import type { IdOrder } from './arguments.ts';
import { ClientProcess, serveOrders } from './client-process.ts';
import { newHistogram } from './histogram.ts';
import { microsecondsSince, runOpenLoop } from './open-loop.ts';
import { seededRandom } from './statistics.ts';
import { answerLimitMs, limitText } from './time-limit.ts';

interface LoadTarget {
  readonly origin: string;
  /** One per tenant; connections take the keys in turn. */
  readonly keys: readonly string[];
  /** Two orders with one seed send the same call ids. */
  readonly seed: number;
  /** Default: `agent` */
  readonly agentPrefix?: string;
  /** Batches take the agents in turn, so that few batches have known ones. Default: a random agent each */
  readonly agentsInTurn?: boolean;
  /** Default: `console` */
  readonly form?: BatchForm;
  /** Default: `random` */
  readonly ids?: IdOrder;
  /** Longest silence of the hub during a batch, milliseconds. Default: a minute */
  readonly limitMs?: number;
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
  readonly ids: IdOrder;
}

type Order = ClosedOrder | OpenOrder | BoundOrder;

export interface LoadResult {
  /** Accepted ones. */
  readonly events: number;
  readonly elapsedMs: number;
  /** HdrHistogram V2, base64, microseconds: of an open loop from the due times, of a closed one from the sends. */
  readonly latencies: string;
  /** Delay of the loader's own sends in an open loop: 99th percentile, milliseconds. 0 in a closed loop. */
  readonly lagMs: number;
}

export class Loader extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'loader');
  }

  load(order: ClosedOrder | OpenOrder): Promise<LoadResult> {
    return this.request(order);
  }

  /** Events per second: of elapsed time, for `parse` of processor time. */
  measureBound(order: Omit<BoundOrder, 'type'>): Promise<number> {
    return this.request({ type: 'bound', ...order });
  }
}

const hexDigits = (random: () => number, length: number): string =>
  Math.floor(random() * 16 ** length)
    .toString(16)
    .padStart(length, '0');

const clockHexDigits = 12;

/** UUIDs from a seed: of version 4, or of version 7, which begin with the time in milliseconds. */
function idMaker(random: () => number, ids: IdOrder): () => string {
  const clock = (): string => Date.now().toString(16).padStart(clockHexDigits, '0');
  return () => {
    const variant = '89ab'[Math.floor(random() * 4)];
    const first = ids === 'ordered' ? clock() : hexDigits(random, 8) + hexDigits(random, 4);
    return (
      `${first.slice(0, 8)}-${first.slice(8)}-${ids === 'ordered' ? 7 : 4}${hexDigits(random, 3)}-` +
      `${variant}${hexDigits(random, 3)}-${hexDigits(random, 6)}${hexDigits(random, 6)}`
    );
  };
}

interface Post {
  readonly path: string;
  readonly key: string;
  readonly body: Buffer;
}

/** Posts batches of an order: new ids, a random agent and session of it each time. */
class Poster {
  readonly #order: LoadTarget;
  readonly #origin: URL;
  readonly #agent: http.Agent;
  readonly #random: () => number;
  readonly #limitMs: number;
  readonly #freeBodies: ReusableBody[] = [];
  #batches = 0;

  constructor(order: LoadTarget, maxSockets = Number.POSITIVE_INFINITY) {
    this.#order = order;
    this.#origin = new URL(order.origin);
    this.#limitMs = order.limitMs ?? answerLimitMs;
    const kind = this.#origin.protocol === 'https:' ? https.Agent : http.Agent;
    this.#agent = new kind({ keepAlive: true, maxSockets, timeout: this.#limitMs });
    this.#random = seededRandom(order.seed);
  }

  /** @param n chooses the key @returns accepted events */
  async postNext(n: number): Promise<number> {
    const { keys, form = 'console', agentPrefix, agentsInTurn = false, ids = 'random' } = this.#order;
    const body = this.#freeBodies.pop() ?? new ReusableBody(form, idMaker(this.#random, ids), agentPrefix);
    const nth = agentsInTurn ? this.#batches++ : Math.floor(this.#random() * 1e6);
    const agent = agentName(nth, agentPrefix);
    const session = sessionName(Math.floor(this.#random() * 1e6));
    const accepted = await this.#post({
      path: form === 'hosted' ? '/v1/events' : '/api/v1/events',
      key: keys[n % keys.length] ?? '',
      body: body.refresh(agent, Date.now(), session),
    });
    this.#freeBodies.push(body);
    return accepted;
  }

  close(): void {
    this.#agent.destroy();
  }

  #post({ path, key, body }: Post): Promise<number> {
    const { hostname: host, port, protocol } = this.#origin;
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': body.length,
    };
    const timeout = this.#limitMs;
    const options = { agent: this.#agent, host, port, method: 'POST', path, headers, timeout };
    const { request: send } = protocol === 'https:' ? https : http;
    return new Promise((resolve, reject) => {
      const request = send(options, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const accepted = response.statusCode === 200 ? (JSON.parse(text).accepted as number) : -1;
          if (accepted === batchSize) return resolve(accepted);
          reject(new Error(`The hub did not accept a batch: ${response.statusCode} ${text.slice(0, 200)}`));
        });
      });
      request.on('timeout', () => request.destroy(new Error(`no byte came ${limitText(timeout)}`)));
      request.on('error', (error) => reject(new Error(`A batch was not answered: ${error.message}`)));
      request.end(body);
    });
  }
}

async function runClosed(order: ClosedOrder): Promise<LoadResult> {
  const { connections, seconds, maxBatches = Number.POSITIVE_INFINITY } = order;
  const poster = new Poster(order, connections);
  const histogram = newHistogram();
  let [batches, events] = [0, 0];
  const began = performance.now();
  const sendInTurn = async (n: number): Promise<void> => {
    while (performance.now() < began + seconds * 1000 && batches < maxBatches) {
      batches++;
      const sent = performance.now();
      const accepted = await poster.postNext(n);
      events += accepted;
      histogram.recordValue(microsecondsSince(sent));
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, (_, n) => sendInTurn(n)));
    const elapsedMs = performance.now() - began;
    return { events, elapsedMs, latencies: encodeIntoCompressedBase64(histogram), lagMs: 0 };
  } finally {
    poster.close();
  }
}

async function runOpen(order: OpenOrder): Promise<LoadResult> {
  const poster = new Poster(order);
  let events = 0;
  try {
    const loop = { perSecond: order.batchesPerSecond, seconds: order.seconds };
    const result = await runOpenLoop(loop, async (n) => {
      const accepted = await poster.postNext(n);
      events += accepted;
    });
    return { events, ...result };
  } finally {
    poster.close();
  }
}

function run(order: Order): Promise<unknown> {
  if (order.type === 'closed') return runClosed(order);
  return order.type === 'open' ? runOpen(order) : measureBound(order);
}

serveOrders(import.meta.url, run);

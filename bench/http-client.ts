// The other end of the ingest benchmark, in a process of its own: posts batches or repeats one GET over keep-alive
// HTTP.
import { type ChildProcess, fork } from 'node:child_process';
import http from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { agentName, type BatchForm, batchSize, ReusableBody, sessionName } from './batch.ts';
import { loopSampleMs } from './numbers.ts';

export interface IngestOrder {
  readonly type: 'ingest';
  readonly port: number;
  /** One per tenant; connections take them in turn. */
  readonly keys: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** `console` by default; `hosted` goes to the hosted API. */
  readonly form?: BatchForm;
}

export interface ReadOrder {
  readonly type: 'read';
  readonly port: number;
  /** Who reads. */
  readonly headers: { readonly [name: string]: string };
  /** `{agent}` stands for a random agent of the tenant, `{session}` for a random session of an agent. */
  readonly path: string;
  readonly count: number;
  /** Pause between two. */
  readonly pauseMs: number;
  /** Items every answer must hold, in the list of this name or as the whole; absent: an answer of any kind. */
  readonly expected?: number;
  readonly list?: string;
}

/** Does nothing and answers how late its own event loop was meanwhile: what the machine alone costs. */
export interface IdleOrder {
  readonly type: 'idle';
  readonly seconds: number;
}

type Order = IngestOrder | ReadOrder | IdleOrder;

export interface IngestResult {
  readonly events: number;
  readonly elapsedMs: number;
  /** One per batch, milliseconds until its answer. */
  readonly latencies: readonly number[];
  /** CPU time of the client's process, microseconds. */
  readonly cpu: number;
}

/** A client process: one order at a time. */
export class HttpClient {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  ingest(order: Omit<IngestOrder, 'type'>): Promise<IngestResult> {
    return this.#order({ type: 'ingest', ...order }) as Promise<IngestResult>;
  }

  /** Milliseconds of each GET, in order. */
  read(order: Omit<ReadOrder, 'type'>): Promise<readonly number[]> {
    return this.#order({ type: 'read', ...order }) as Promise<readonly number[]>;
  }

  /** The 99th percentile of an idle event loop's delay, milliseconds. */
  idle(seconds: number): Promise<number> {
    return this.#order({ type: 'idle', seconds }) as Promise<number>;
  }

  stop(): void {
    this.#child.disconnect();
  }

  #order(order: Order): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child.once('message', (answer: { readonly result?: unknown; readonly error?: string }) => {
        if (answer.error === undefined) resolve(answer.result);
        else reject(new Error(answer.error));
      });
      this.#child.send(order);
    });
  }
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: http.OutgoingHttpHeaders;
  readonly body?: Buffer;
}

function exchange(
  agent: http.Agent,
  port: number,
  { method, path, headers, body }: Exchange,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 200)}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function ingest(order: IngestOrder): Promise<IngestResult> {
  const { port, keys, connections, seconds, form = 'console' } = order;
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  const cpuBefore = process.cpuUsage();
  let events = 0;
  const began = performance.now();
  const until = began + seconds * 1000;
  async function sender(n: number): Promise<void> {
    const body = new ReusableBody(form);
    while (performance.now() < until) {
      const headers = {
        Authorization: `Bearer ${keys[n % keys.length]}`,
        'Content-Type': 'application/json',
        'Content-Length': body.bytes.length,
      };
      const name = agentName(Math.floor(Math.random() * 1e6));
      const sent = performance.now();
      const request = {
        method: 'POST',
        path: form === 'hosted' ? '/v1/events' : '/api/v1/events',
        headers,
        body: body.refresh(name, Date.now(), sessionName(Math.floor(Math.random() * 1e6))),
      };
      const { accepted } = JSON.parse(await exchange(agent, port, request)) as { readonly accepted: number };
      if (accepted !== batchSize) throw new Error(`${accepted} of ${batchSize} events were accepted`);
      latencies.push(performance.now() - sent);
      events += accepted;
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, n) => sender(n)));
  const elapsedMs = performance.now() - began;
  agent.destroy();
  const { user, system } = process.cpuUsage(cpuBefore);
  return { events, elapsedMs, latencies, cpu: user + system };
}

async function read(order: ReadOrder): Promise<number[]> {
  const { port, headers, path, count, pauseMs, expected, list } = order;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const asked = path
      .replace('{agent}', agentName(Math.floor(Math.random() * 1e6)))
      .replace('{session}', sessionName(Math.floor(Math.random() * 1e6)));
    const sent = performance.now();
    const text = await exchange(agent, port, { method: 'GET', path: asked, headers });
    times.push(performance.now() - sent);
    if (expected !== undefined) {
      const answer = JSON.parse(text) as { readonly [name: string]: readonly unknown[] } & readonly unknown[];
      const { length } = (list === undefined ? answer : answer[list]) ?? [];
      if (length !== expected) throw new Error(`${asked} found ${length} items instead of ${expected}`);
    }
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  agent.destroy();
  return times;
}

async function idle({ seconds }: IdleOrder): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: loopSampleMs });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  delay.disable();
  return delay.percentile(99) / 1e6 - loopSampleMs;
}

function run(order: Order): Promise<unknown> {
  if (order.type === 'ingest') return ingest(order);
  return order.type === 'read' ? read(order) : idle(order);
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send) {
  process.on('message', (order: Order) => {
    const work: Promise<unknown> = run(order);
    work.then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
}

// A client process with the receivers of webhooks, which requests approvals too: one clock for both ends.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClientProcess, serveOrders } from './client-process.ts';
import { HttpCaller } from './http-call.ts';
import { type OpenLoop, type OpenLoopResult, runOpenLoop } from './open-loop.ts';
import { withinLimit } from './time-limit.ts';

export interface DeliveryPlan extends OpenLoop {
  readonly origin: string;
  readonly key: string;
  /** Begins the names of agents: an agent may request 10 approvals a minute, so each requests one. */
  readonly agentPrefix: string;
  /** Receivers that must have each notification, from the first on. */
  readonly receivers: number;
  /** Longest wait for them, milliseconds. Default: a minute */
  readonly limitMs?: number;
}

type Order =
  | { readonly type: 'listen'; readonly receivers: number }
  /** The last receiver answers no more, or answers again. */
  | { readonly type: 'silence'; readonly isSilent: boolean }
  | ({ readonly type: 'deliver' } & DeliveryPlan);

export class Receivers extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'receiver');
  }

  /** @returns the ports */
  listen(receivers: number): Promise<readonly number[]> {
    return this.request({ type: 'listen', receivers });
  }

  async silenceLast(isSilent: boolean): Promise<void> {
    await this.request({ type: 'silence', isSilent });
  }

  /** Each call requests an approval, and ends when all receivers have its notification. */
  deliver(plan: DeliveryPlan): Promise<OpenLoopResult> {
    return this.request({ type: 'deliver', ...plan });
  }
}

const servers: Server[] = [];
let isLastSilent = false;
/** Receivers that have each approval's notification. */
const arrivals = new Map<string, Set<number>>();
const waiting = new Map<string, { readonly receivers: number; readonly resolve: () => void }>();

function settle(id: string): void {
  const pending = waiting.get(id);
  const arrived = [...(arrivals.get(id) ?? [])].filter((n) => n < (pending?.receivers ?? 0)).length;
  if (!pending || arrived < pending.receivers) return;
  waiting.delete(id);
  arrivals.delete(id);
  pending.resolve();
}

function receive(n: number, id: string): void {
  const receivers = arrivals.get(id) ?? new Set();
  arrivals.set(id, receivers.add(n));
  settle(id);
}

async function listen(receivers: number): Promise<readonly number[]> {
  for (let n = servers.length; n < receivers; n++) {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (isLastSilent && n === servers.length - 1) return;
        const { approval_id: id } = JSON.parse(Buffer.concat(parts).toString()) as { approval_id?: string };
        if (id !== undefined) receive(n, id);
        response.writeHead(200).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push(server);
  }
  return servers.map((server) => (server.address() as AddressInfo).port);
}

function silence(isSilent: boolean): void {
  isLastSilent = isSilent;
  if (!isSilent) servers.at(-1)?.closeAllConnections();
}

let requests = 0;

async function deliver({
  origin,
  key,
  agentPrefix,
  receivers,
  limitMs,
  ...loop
}: DeliveryPlan): Promise<OpenLoopResult> {
  const caller = new HttpCaller(origin);
  try {
    return await runOpenLoop(loop, async () => {
      const text = await caller.call({
        method: 'POST',
        path: '/api/v1/approvals',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'X-Service-Agent-Id': `${agentPrefix}-${requests++}`,
        },
        body: JSON.stringify({ tool_name: 'deploy', message: 'May I?', timeout: 3600 }),
      });
      const { id } = JSON.parse(text) as { readonly id: string };
      const arrived = new Promise<void>((resolve) => {
        waiting.set(id, { receivers, resolve });
        settle(id);
      });
      await withinLimit(arrived, `The notification of approval ${id} to each receiver`, limitMs);
    });
  } finally {
    caller.close();
  }
}

async function run(order: Order): Promise<unknown> {
  if (order.type === 'listen') return listen(order.receivers);
  return order.type === 'silence' ? silence(order.isSilent) : deliver(order);
}

serveOrders(import.meta.url, run);

// The bound of streams, in a process of its own: a bare uWebSockets.js loop with one prepared buffer, and one cork and
// one write for each stream.
import type { HttpResponse } from 'uWebSockets.js';
import { loadUws } from '../../adapters/uws/load.ts';
import { listenBare } from '../suite/bare-server.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { freePort } from '../suite/free-port.ts';

export const bareText = 'bare corked uWebSockets.js loop';
export const bareRequest = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

type Order =
  /** `frameBytes`: each stream is sent a frame of that size when it opens; 0: none. */
  | { readonly type: 'start'; readonly frameBytes: number }
  | { readonly type: 'broadcast'; readonly frameBytes: number };

export class BareServer extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'bare server');
  }

  /** @returns the port */
  async start(frameBytes = 0): Promise<number> {
    return Number(await this.request({ type: 'start', frameBytes }));
  }

  async broadcast(frameBytes: number): Promise<void> {
    await this.request({ type: 'broadcast', frameBytes });
  }
}

const streams = new Set<HttpResponse>();

/** Sockets that listen, as many as the hub has. */
const acceptQueues = 8;

const frameOf = (bytes: number): Buffer =>
  Buffer.from(`id: 1700000000000-1\nevent: contract_update\ndata: ${'x'.repeat(Math.max(1, bytes))}\n\n`);

async function start(frameBytes: number): Promise<number> {
  const uws = await loadUws();
  const app = uws.App();
  const greeting = Buffer.from(': connected\nretry: 1000\n\n');
  const first = frameBytes === 0 ? greeting : Buffer.concat([greeting, frameOf(frameBytes)]);
  app.get('/*', (response) => {
    response.onAborted(() => void streams.delete(response));
    response.onWritable(() => {
      let isTaken = true;
      response.cork(() => {
        isTaken = response.write(':\n\n');
      });
      return isTaken;
    });
    response.cork(() => response.writeHeader('Content-Type', 'text/event-stream').write(first));
    streams.add(response);
  });
  const port = await freePort();
  for (let queue = 0; queue < acceptQueues; queue++) await listenBare(app, port);
  return port;
}

function broadcast(frameBytes: number): void {
  const frame = frameOf(frameBytes);
  let current: HttpResponse | null = null;
  const write = (): void => void current?.write(frame);
  for (const response of streams) {
    current = response;
    response.cork(write);
  }
}

async function run(order: Order): Promise<unknown> {
  return order.type === 'start' ? start(order.frameBytes) : broadcast(order.frameBytes);
}

serveOrders(import.meta.url, run);

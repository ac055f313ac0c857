// The load of autocannon in a process of its own, and in another a bare server of the same native library that sends
// the same bytes as the hub.
import autocannon from 'autocannon';
import { loadUws } from '../../adapters/uws/load.ts';
import { listenBare } from '../suite/bare-server.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';

export interface BareAnswer {
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

export interface RateOrder {
  readonly url: string;
  /** Headers of the callers that take turns. */
  readonly callers: readonly { readonly [name: string]: string }[];
  readonly connections: number;
  readonly seconds: number;
}

type Order =
  | { readonly type: 'serve'; readonly answers: readonly BareAnswer[] }
  | ({ readonly type: 'rate' } & RateOrder);

/** Either the bare server or the load. */
export class RateProcess extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'requester');
  }

  /** @returns the port of a server that gives these answers */
  serve(answers: readonly BareAnswer[]): Promise<number> {
    return this.request({ type: 'serve', answers });
  }

  /** Requests a second. @throws CannotRun if one is refused or fails */
  rate(order: RateOrder): Promise<number> {
    return this.request({ type: 'rate', ...order });
  }
}

async function serve(answers: readonly BareAnswer[]): Promise<number> {
  const uws = await loadUws();
  const app = uws.App();
  for (const { path, headers, body } of answers) {
    app.get(path, (response) => {
      response.writeStatus('200 OK');
      for (const [name, value] of headers) response.writeHeader(name, value);
      response.end(body);
    });
  }
  return uws.us_socket_local_port(await listenBare(app));
}

async function rate({ url, callers, connections, seconds }: RateOrder): Promise<number> {
  let next = 0;
  const setupRequest = (request: object) => ({ ...request, headers: callers[next++ % callers.length] ?? {} });
  const { requests, errors, non2xx } = await autocannon({
    url,
    connections,
    duration: Math.max(1, seconds),
    requests: [{ setupRequest }],
  });
  if (errors + non2xx > 0) throw new Error(`${url}: ${errors} requests failed, ${non2xx} were refused.`);
  return requests.average;
}

async function run(order: Order): Promise<number> {
  return order.type === 'serve' ? serve(order.answers) : rate(order);
}

serveOrders(import.meta.url, run);

// A loopback server that plays the hub: routes a test defines, requests it can look at, and streams it can write to.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApprovalRequest } from '../src/approvals.ts';
import { until } from './manual-clock.ts';

/** A request that a contract makes. */
export const approvalRequest = (extra: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  tool: 'deploy',
  args: { target: 'x' },
  message: 'may I?',
  timeout: 60,
  timeoutEffect: 'deny',
  decisionSource: 'yaml_precondition',
  contractName: 'ask-first',
  ...extra,
});

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
  readonly body: any;
}

export interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: { readonly [name: string]: string };
}

type Route = (request: SeenRequest) => Answer | Promise<Answer> | 'stream' | 'cut';

/** An open event stream. */
export class FakeStream {
  readonly request: SeenRequest;
  readonly #response: ServerResponse;
  closed = false;

  constructor(request: SeenRequest, response: ServerResponse) {
    this.request = request;
    this.#response = response;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': hello\n\n');
    response.on('close', () => {
      this.closed = true;
    });
  }

  write(text: string): void {
    this.#response.write(text);
  }

  send(event: string, data: object, id?: string): void {
    this.write(
      `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify({ type: event, ...data })}\n\n`,
    );
  }

  end(): void {
    this.#response.end();
  }
}

export class FakeHub {
  readonly requests: SeenRequest[] = [];
  readonly streams: FakeStream[] = [];
  readonly #routes = new Map<string, Route>();
  #server: Server | null = null;
  url = '';

  async start(port = 0): Promise<this> {
    const server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    await new Promise<void>((resolve) => {
      if (!server) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  /** `on('POST /events', …)`: answers requests of /api/v1. */
  on(route: string, answer: Route | Answer): this {
    this.#routes.set(route, typeof answer === 'function' ? answer : () => answer);
    return this;
  }

  /** Requests of a route so far. */
  seen(route: string): SeenRequest[] {
    return this.requests.filter((request) => `${request.method} ${request.path}` === route);
  }

  /** The n-th stream that was opened, counted from 0. */
  async stream(n = 0): Promise<FakeStream> {
    await until(() => this.streams.length > n, `stream ${n}`);
    const stream = this.streams[n];
    if (!stream) throw new Error('no stream');
    return stream;
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const url = new URL(incoming.url ?? '/', 'http://hub');
    const request: SeenRequest = {
      method: incoming.method ?? '',
      path: url.pathname.replace('/api/v1', ''),
      query: url.searchParams,
      headers: incoming.headers,
      body: text === '' ? null : JSON.parse(text),
    };
    this.requests.push(request);
    const route = this.#routes.get(`${request.method} ${request.path}`);
    const answer = route ? await route(request) : { status: 404, body: { detail: 'no such route' } };
    if (answer === 'cut') return void response.destroy();
    if (answer === 'stream') return void this.streams.push(new FakeStream(request, response));
    response.writeHead(answer.status ?? 200, { 'Content-Type': 'application/json', ...answer.headers });
    response.end(answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body)));
  }
}

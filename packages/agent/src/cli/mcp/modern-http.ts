// Modern clients over HTTP: every request has a response of its own, and no session. All of them share one server, so
// that the ids and tokens that they choose are replaced by ids of the proxy.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Timer } from '../../clock.ts';
import { Refusal, readerOf } from './admission.ts';
import { EraBridge } from './bridge.ts';
import { subscriptionKey } from './era.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { paramMismatch } from './headers.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response, textOf } from './message.ts';
import type { ProxyParts } from './proxy-parts.ts';
import { McpSession } from './session.ts';

/** Milliseconds without an answer after which a response becomes a stream, so that its client knows it is alive. */
const quietLimit = 2000;
const keepAlive = 15_000;
/** Bytes that a slow reader may leave unread on one stream. */
const maxUnread = 4 * 1_048_576;
/** HTTP statuses of errors that are answered before anything is streamed; others are 200. */
const statuses: ReadonlyMap<number, number> = new Map([
  [codes.method, 404],
  [codes.headerMismatch, 400],
  [codes.missingCapability, 400],
  [codes.unsupportedVersion, 400],
]);

/** A request and its response. */
interface Exchange {
  /** As the client sent them. */
  readonly id: Id;
  readonly progressToken: unknown;
  readonly response: ServerResponse;
  isStream: boolean;
  timer: Timer;
}

export class ModernHttp {
  readonly #proxy: ProxyParts;
  readonly #exchanges = new Map<Id, Exchange>();
  /** Begun with the first request, and again after the server failed. */
  #parts: { readonly session: McpSession; readonly server: EraBridge } | null = null;
  #count = 0;

  constructor(proxy: ProxyParts) {
    this.#proxy = proxy;
  }

  /** Goes on with the tasks of a proxy that ended. */
  start(): void {
    void this.#proxy.tasks?.start(() => this.#begun().session);
  }

  /** @throws Refusal */
  async post(request: Request, headers: IncomingHttpHeaders, response: ServerResponse): Promise<void> {
    const { session, server } = this.#begun();
    if (request.method === 'tools/call') {
      await session.listTools(request).catch(() => {});
      const mismatch = paramMismatch(request, server.declarationsOf(request.params.name), readerOf(headers));
      if (mismatch !== null) throw new Refusal(400, codes.headerMismatch, mismatch, request.id);
    }
    if (response.destroyed) return;
    this.#count += 1;
    const id = `http:${this.#count}`;
    const { progressToken, ...meta } = fieldsOf(request.params._meta) as Fields & {
      readonly progressToken?: unknown;
    };
    const timer = this.#proxy.clock.after(quietLimit, () => this.#keepAlive(exchange));
    const exchange: Exchange = { id: request.id, progressToken, response, isStream: false, timer };
    this.#exchanges.set(id, exchange);
    response.once('close', () => this.#left(id));
    const _meta = progressToken === undefined ? meta : { ...meta, progressToken: id };
    session.fromClient({ ...request, id, params: { ...request.params, _meta } });
  }

  toolsChanged(): void {
    this.#parts?.session.toolsChanged();
  }

  async close(): Promise<void> {
    await this.#proxy.tasks?.close();
    const parts = this.#parts;
    this.#parts = null;
    parts?.session.close();
    await parts?.server.close();
    for (const [id, { response, timer }] of this.#exchanges) {
      this.#exchanges.delete(id);
      timer.cancel();
      response.end();
    }
  }

  #begun(): { readonly session: McpSession; readonly server: EraBridge } {
    if (this.#parts) return this.#parts;
    const { guard, clock, hide, connect, eras, inputTimeout, pins, rounds, tasks, told } = this.#proxy;
    const session: McpSession = new McpSession({
      ...{ guard, clock, hide, told },
      pins: pins?.session() ?? null,
      rounds,
      place: 'listener',
      tasks: tasks && { tasks, runner: () => this.#begun().session },
      toClient: (message, related) => this.#send(message, related),
    });
    const server = new EraBridge(
      { connect, clock, eras, inputTimeout, isShared: true },
      {
        message: (message, related) => session.fromServer(message, related),
        restarted: () => session.restarted(),
        failed: (reason) => this.#failed(reason),
        told,
      },
    );
    session.attach(server);
    this.#parts = { session, server };
    return this.#parts;
  }

  #failed(reason: string): void {
    this.#proxy.told(`the MCP server ${reason}`);
    this.#parts?.session.close();
    this.#parts = null;
    for (const id of [...this.#exchanges.keys()])
      this.#send(failureOf(id, codes.server, `the MCP server ${reason}`), id);
  }

  /** The client closed the response, which cancels its request. */
  #left(id: Id): void {
    const exchange = this.#exchanges.get(id);
    if (!exchange) return;
    this.#exchanges.delete(id);
    exchange.timer.cancel();
    const params = { requestId: id, reason: 'the client closed its stream' };
    this.#parts?.session.fromClient({ kind: 'notification', method: 'notifications/cancelled', params });
  }

  #send(message: Message, related: Id | null): void {
    const id = message.kind === 'response' ? message.id : related;
    const exchange = id === null ? undefined : this.#exchanges.get(id);
    // A message that belongs to no open request has nobody to go to.
    if (id === null || !exchange || message.kind === 'request') return;
    if (message.kind === 'response') return void this.#end(id, exchange, message);
    const { params } = message;
    const meta = fieldsOf(params._meta);
    const isTagged = meta[subscriptionKey] !== undefined;
    this.#write(exchange, {
      ...message,
      params: {
        ...params,
        ...(message.method === 'notifications/progress' ? { progressToken: exchange.progressToken } : {}),
        ...(isTagged ? { _meta: { ...meta, [subscriptionKey]: exchange.id } } : {}),
      },
    });
  }

  #end(id: Id, exchange: Exchange, { result, error }: Response): void {
    this.#exchanges.delete(id);
    exchange.timer.cancel();
    const answer: Response = { kind: 'response', id: exchange.id, ...(error ? { error } : { result }) };
    const { response } = exchange;
    if (exchange.isStream) {
      this.#write(exchange, answer);
      return void response.end();
    }
    response.writeHead(error ? (statuses.get(error.code) ?? 200) : 200, {
      'Content-Type': 'application/json',
    });
    response.end(textOf(answer));
  }

  #stream(exchange: Exchange): void {
    if (exchange.isStream) return;
    exchange.isStream = true;
    exchange.response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
    exchange.response.flushHeaders();
  }

  #keepAlive(exchange: Exchange): void {
    if (exchange.isStream) exchange.response.write(': keepalive\n\n');
    this.#stream(exchange);
    exchange.timer = this.#proxy.clock.after(keepAlive, () => this.#keepAlive(exchange));
  }

  #write(exchange: Exchange, message: Message): void {
    this.#stream(exchange);
    const data = textOf(message).replaceAll(/\r\n|\r|\n/g, ' ');
    exchange.response.write(`event: message\ndata: ${data}\n\n`);
    if (exchange.response.writableLength > maxUnread) exchange.response.destroy();
  }
}

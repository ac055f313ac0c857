// Modern clients over HTTP: every request has a response of its own, and no session. All of them share one server, so
// that the ids and tokens that they choose are replaced by ids of the proxy.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Timer } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import { Refusal, readerOf } from './admission.ts';
import { sessionOf } from './counting-session.ts';
import { subscriptionKey } from './era.ts';
import { endResponse, lookInterval, streamKeeper, writeMessage } from './event-stream.ts';
import { paramMismatch } from './headers.ts';
import { codes, failureOf, type Id, type Message, type Request, type Response, textOf } from './message.ts';
import { type OpenSession, openSession } from './open-session.ts';
import type { ProxyParts } from './proxy-parts.ts';

/**
 * Milliseconds without an answer after which a response becomes a stream, so that its client knows it is alive. While
 * the list of tools is not complete, also the pause between two looks.
 */
const quietLimit = 2000;
/** HTTP statuses of errors that are answered before anything is streamed; others are 200. */
const statuses: ReadonlyMap<number, number> = new Map([
  [codes.method, 404],
  [codes.headerMismatch, 400],
  [codes.missingCapability, 400],
  [codes.unsupportedVersion, 400],
]);

/** Milliseconds without a request after which a session at a server over HTTP ends; the next request begins another. */
const idleLimit = 600_000;
const sweepInterval = 60_000;
const maxServers = 100;

/** A server, and the session that all of its clients share. */
interface Parts extends OpenSession {
  lastUse: number;
}

/** A request and its response. */
interface Exchange {
  readonly parts: Parts;
  /** As the client sent them. */
  readonly id: Id;
  readonly progressToken: unknown;
  readonly response: ServerResponse;
  /** Keeps the stream that the response has become; null: the answer may still be the whole response. */
  look: (() => void) | null;
  /** False: the request still waits for the list of tools, and the session does not have it. */
  isAtSession: boolean;
  timer: Timer;
}

export class ModernHttp {
  readonly #proxy: ProxyParts;
  readonly #place: string;
  readonly #exchanges = new Map<Id, Exchange>();
  /** By the session that clients choose; one for all where they choose none. */
  readonly #parts = new Map<string, Parts>();
  #sweep: Timer | null = null;
  #count = 0;

  /** @param place of all clients: a retry from another one is refused */
  constructor(proxy: ProxyParts, place: string) {
    this.#proxy = proxy;
    this.#place = place;
  }

  /** Goes on with the tasks of a proxy that ended. */
  start(): void {
    void this.#proxy.tasks?.start(() => this.#begun('').session);
    if (this.#proxy.isRemote) this.#sweepLater();
  }

  /** @throws Refusal */
  async post(request: Request, headers: IncomingHttpHeaders, response: ServerResponse): Promise<void> {
    if (response.destroyed) return;
    const parts = this.#begun(this.#sessionOf(request));
    const { session, server } = parts;
    this.#count += 1;
    const id = `http:${this.#count}`;
    const { progressToken, ...meta } = fieldsOf(request.params._meta) as Fields & {
      readonly progressToken?: unknown;
    };
    const timer = this.#proxy.clock.after(quietLimit, () => this.#keepAlive(exchange));
    const exchange: Exchange = {
      ...{ parts, id: request.id, progressToken, response, timer },
      ...{ look: null, isAtSession: false },
    };
    this.#exchanges.set(id, exchange);
    response.once('close', () => this.#left(id));
    if (request.method === 'tools/call') {
      await session.listTools(request).catch(() => {});
      // The client left, or the server failed and the request has its answer.
      if (!this.#exchanges.has(id)) return;
      const mismatch = paramMismatch(request, server.declarationsOf(request.params.name), readerOf(headers));
      if (mismatch !== null) return this.#send(failureOf(id, codes.headerMismatch, mismatch), id);
    }
    exchange.isAtSession = true;
    const _meta = progressToken === undefined ? meta : { ...meta, progressToken: id };
    session.fromClient({ ...request, id, params: { ...request.params, _meta } });
  }

  toolsChanged(): void {
    for (const { session } of this.#parts.values()) session.toolsChanged();
  }

  async close(): Promise<void> {
    await this.#proxy.tasks?.close();
    this.#sweep?.cancel();
    const all = [...this.#parts.values()];
    this.#parts.clear();
    await Promise.all(all.map((parts) => end(parts)));
    for (const [id, { response, timer }] of this.#exchanges) {
      this.#exchanges.delete(id);
      timer.cancel();
      endResponse(response, this.#proxy.clock);
    }
  }

  /** A server that has sessions has one for each counting session. One that runs here is one process. */
  #sessionOf(request: Request): string {
    const { isRemote, eras, sessionMeta } = this.#proxy;
    return isRemote && eras.modern !== true ? (sessionOf(request, sessionMeta) ?? '') : '';
  }

  /** @throws Refusal */
  #begun(key: string): Parts {
    const existing = this.#parts.get(key);
    if (existing) {
      existing.lastUse = this.#proxy.clock.monotonic();
      return existing;
    }
    if (this.#parts.size >= maxServers)
      throw new Refusal(503, codes.server, `${maxServers} sessions are open at the server; try again later`);
    const { clock, sessionMeta, tasks } = this.#proxy;
    const open = openSession(this.#proxy, {
      place: this.#place,
      sessionMeta,
      tasks: tasks && { tasks, runner: () => this.#begun(key).session },
      isShared: true,
      toClient: (message, related) => this.#send(message, related),
      failed: (reason) => this.#failed(key, reason),
    });
    const parts = { ...open, lastUse: clock.monotonic() };
    this.#parts.set(key, parts);
    return parts;
  }

  #failed(key: string, reason: string): void {
    const failed = this.#parts.get(key);
    this.#parts.delete(key);
    failed?.session.close();
    for (const [id, { parts }] of [...this.#exchanges])
      if (parts === failed) this.#send(failureOf(id, codes.server, `the MCP server ${reason}`), id);
  }

  #sweepLater(): void {
    this.#sweep = this.#proxy.clock.after(sweepInterval, () => {
      const before = this.#proxy.clock.monotonic() - idleLimit;
      const inUse = new Set([...this.#exchanges.values()].map(({ parts }) => parts));
      for (const [key, parts] of this.#parts) {
        const { session, server } = parts;
        const isBusy = inUse.has(parts) || session.isBusy || server.hasHeldCalls;
        if (parts.lastUse > before || isBusy) continue;
        this.#parts.delete(key);
        void end(parts);
      }
      this.#sweepLater();
    });
  }

  /** The client closed the response, which cancels its request. */
  #left(id: Id): void {
    const exchange = this.#exchanges.get(id);
    if (!exchange) return;
    this.#exchanges.delete(id);
    exchange.timer.cancel();
    if (!exchange.isAtSession) return;
    const params = { requestId: id, reason: 'the client closed its stream' };
    exchange.parts.session.fromClient({ kind: 'notification', method: 'notifications/cancelled', params });
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
    exchange.parts.lastUse = this.#proxy.clock.monotonic();
    const answer: Response = { kind: 'response', id: exchange.id, ...(error ? { error } : { result }) };
    const { response } = exchange;
    if (exchange.look) {
      this.#write(exchange, answer);
      endResponse(response, this.#proxy.clock);
      return;
    }
    response.writeHead(error ? (statuses.get(error.code) ?? 200) : 200, {
      'Content-Type': 'application/json',
    });
    endResponse(response, this.#proxy.clock, textOf(answer));
  }

  #stream(exchange: Exchange): void {
    if (exchange.look) return;
    exchange.look = streamKeeper(exchange.response);
    exchange.response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
    exchange.response.flushHeaders();
  }

  #keepAlive(exchange: Exchange): void {
    exchange.look?.();
    // Until the session has the request, its headers may be refused with a status of their own.
    if (exchange.isAtSession) this.#stream(exchange);
    const pause = exchange.isAtSession ? lookInterval : quietLimit;
    exchange.timer = this.#proxy.clock.after(pause, () => this.#keepAlive(exchange));
  }

  #write(exchange: Exchange, message: Message): void {
    this.#stream(exchange);
    writeMessage(exchange.response, message);
  }
}

async function end({ session, server }: Parts): Promise<void> {
  session.close();
  await server.close();
}

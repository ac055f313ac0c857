// The HTTP and WebSocket server on Node's own http module, for systems on which the native one does not load. Knows no
// route.

import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { canonicalAddress, networkOf } from '../../src/http/address.ts';
import { Connections } from '../../src/http/connections.ts';
import { EmptyAnswers, isEmptyAnswer } from '../../src/http/empty-answers.ts';
import { HeaderReader, type ReadHeaders, refuseHandshake } from '../../src/http/framing.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import { type RawRequest, TransportGone } from '../../src/http/raw.ts';
import {
  maxBodyMs,
  portTaken,
  type Server,
  type ServerOptions,
  type StartServer,
  sweepMs,
} from '../../src/http/server.ts';
import { incomingBody, Unfinished } from '../../src/http/unfinished.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Timer } from '../../src/shared/ports/clock.ts';
import { Exchange } from './exchange.ts';
import { NodeRequest } from './request.ts';
import { createSockets, type Handshake, refuse, type Sockets } from './sockets.ts';

/** Headers must be here within this time; an idle connection is closed after it. */
const headersMs = 10_000;
const checkMs = 2_000;
/** A body may take this long, and a second for each 16 KiB of it that has come. */
const slowBodyMs = 10_000;
const minBodyRate = (16 * 1024) / 1000;
/** More than a request may have, so that the hub's own refusal gives the reason. */
const maxHeaderSize = 64 * 1024;
/** Connections that wait to be accepted, as many as the kernel's own default allows. */
const backlog = 4096;
/** Bytes that a socket takes before it reports that it is full: a frame of a usual document fits. */
const socketBytes = 256 * 1024;

interface CopiedRequest extends ReadHeaders {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remote: string;
}

const remoteOf = (socket: Duplex): string => {
  const address = (socket as Socket).remoteAddress ?? '';
  return canonicalAddress(address) ?? address;
};

function copyRequest(req: IncomingMessage): CopiedRequest {
  const reader = new HeaderReader();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    reader.add((req.rawHeaders[i] ?? '').toLowerCase(), req.rawHeaders[i + 1] ?? '');
  }
  const url = req.url ?? '/';
  const mark = url.indexOf('?');
  return {
    method: req.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    remote: remoteOf(req.socket),
    ...reader.read(url.length),
  };
}

class NodeServer implements Server {
  readonly #options: ServerOptions;
  readonly #unfinished: Unfinished<Exchange>;
  readonly #sockets: Sockets;
  readonly #emptyAnswers = new EmptyAnswers();
  readonly #open = new Set<Socket>();
  /** Connections that end with the answer under way: a request parsed behind the first may be a part of its body. */
  readonly #doubtful = new WeakSet<Socket>();
  #isDraining = false;
  #isListening = true;
  #boundPort = 0;
  readonly #connections: Connections;
  readonly #server: HttpServer<typeof NodeRequest> = createServer({
    IncomingMessage: NodeRequest,
    maxHeaderSize,
    highWaterMark: socketBytes,
    headersTimeout: headersMs,
    keepAliveTimeout: headersMs,
    // The sweep below ends a body that is late, and knows of bodies that wait for room.
    requestTimeout: 2 * maxBodyMs,
    connectionsCheckingInterval: checkMs,
  });
  #sweep: Timer | null = null;

  constructor(options: ServerOptions) {
    const { pipeline, clock, log } = options;
    this.#options = options;
    this.#unfinished = new Unfinished<Exchange>({ clock, log });
    this.#sockets = createSockets(pipeline.budgets.partial);
    this.#connections = new Connections(
      options.maxConnections ?? Number.POSITIVE_INFINITY,
      options.isProxy ?? (() => false),
    );
    // Node leaves out further headers without a word; here they are counted and refused.
    this.#server.maxHeadersCount = 0;
    this.#server.on('request', (req, res) => this.#receive(req, res));
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade({ request, socket, head }));
    this.#server.on('connect', (_request, socket) => socket.destroy());
    this.#server.on('clientError', (error, socket) => this.#answerBroken(error, socket));
    this.#server.on('connection', (socket) => this.#accept(socket));
  }

  /** @throws HubError unavailable when the port is taken */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', () =>
        reject(new HubError('unavailable', portTaken(this.#options.host, this.#options.port))),
      );
      const { host, port } = this.#options;
      this.#server.listen({ host, port, exclusive: true, backlog }, resolve);
    });
    this.#boundPort = (this.#server.address() as AddressInfo).port;
    this.#sweep = this.#options.clock.every(sweepMs, () => {
      this.#emptyAnswers.sweep();
      this.#unfinished.sweep(this.#connections);
    });
  }

  drain(): void {
    this.#isDraining = true;
  }

  stopListening(): void {
    this.drain();
    if (!this.#isListening) return;
    this.#isListening = false;
    // Not http's own, which cuts idle connections: their next request gets an answer, which announces the end.
    NetServer.prototype.close.call(this.#server);
  }

  get port() {
    return this.#boundPort;
  }

  connections() {
    return this.#connections.count;
  }

  settle(ms: number): Promise<void> {
    return this.#unfinished.settle(ms);
  }

  close() {
    this.stopListening();
    this.#server.close();
    this.#sweep?.cancel();
    this.#sockets.close();
    for (const socket of this.#open) socket.destroy();
  }

  async #serve(exchange: Exchange, raw: RawRequest, body: IncomingBody | null): Promise<void> {
    const handle = () => this.#options.pipeline.handle(raw);
    await this.#unfinished.serve(exchange, { raw, body, handle }, (response) => {
      const close = response.close || this.#isDraining || (body !== null && !body.whole);
      const { pipeline } = this.#options;
      const isEmpty = isEmptyAnswer(response, { head: raw.method === 'HEAD', close });
      if (isEmpty && !this.#emptyAnswers.admit(pipeline.networkOf(raw))) exchange.cut();
      else exchange.send(response, { close, unsent: pipeline.budgets.unsent });
    });
  }

  /** Answers what the parser does not read as a request. Then the client behind a proxy is unknown. */
  #answerBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    const address = remoteOf(socket);
    const isGone = error.code === 'ECONNRESET' || !socket.writable;
    const isAdmitted = () => this.#options.isProxy?.(address) || this.#emptyAnswers.admit(networkOf(address));
    if (isGone || !isAdmitted()) {
      socket.destroy();
      return;
    }
    const status =
      error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    // A request with doubtful framing was the last one of its connection.
    if (this.#doubtful.has(req.socket)) return;
    const exchange = new Exchange(res);
    const copied = copyRequest(req);
    if (copied.refused) this.#doubtful.add(req.socket);
    const body = incomingBody(this.#options.pipeline, copied);
    if (body) {
      exchange.reading(body);
      let readUntil = this.#options.clock.monotonic() + slowBodyMs;
      exchange.isSlow = (now) => now >= readUntil;
      req.on('data', (chunk: Buffer) => {
        readUntil += chunk.length / minBodyRate;
        body.push(chunk, false);
      });
      req.on('end', () => body.push(new Uint8Array(0), true));
      req.on('error', () => body.abort());
    } else req.resume();
    this.#unfinished.began(exchange, body);
    const oldVersion =
      req.httpVersion === '1.1'
        ? null
        : new HubError('bad_request', 'The HTTP version is not supported. Use HTTP/1.1.');
    const raw: RawRequest = {
      ...copied,
      refused: copied.refused ?? oldVersion,
      upgrade: false,
      body: () => (body ? body.read() : Promise.resolve(new Uint8Array(0))),
    };
    void this.#serve(exchange, raw, body);
  }

  async #upgrade(handshake: Handshake): Promise<void> {
    const { request, socket } = handshake;
    let gone = false;
    socket.on('error', () => {});
    socket.once('close', () => {
      gone = true;
    });
    try {
      const copied = copyRequest(request);
      const response = await this.#options.pipeline.handle({
        ...copied,
        refused: copied.refused ?? refuseHandshake(copied.headers),
        upgrade: true,
        body: () => Promise.resolve(new Uint8Array(0)),
      });
      if (gone) response.live?.gone();
      else if (response.live) this.#sockets.complete(handshake, response, response.live);
      else refuse(socket, response);
    } catch (error) {
      if (!(error instanceof TransportGone))
        this.#options.log.error({ err: error }, 'cannot open a WebSocket');
      socket.destroy();
    }
  }

  #accept(socket: Socket): void {
    const address = remoteOf(socket);
    if (!this.#connections.opened(() => ({ address, network: networkOf(address) }))) socket.destroy();
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#connections.closed();
    });
  }
}

/** @throws HubError unavailable when the port is taken */
export const startNodeServer: StartServer = async (options) => {
  const server = new NodeServer(options);
  await server.listen();
  return server;
};

// The HTTP and WebSocket server on Node's own http module, for systems on which the native one does not load. Knows no
// route.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HubError } from '../../src/domain/error.ts';
import { canonicalAddress, networkOf } from '../../src/http/address.ts';
import { Connections } from '../../src/http/connections.ts';
import { HeaderReader, type ReadHeaders, refuseHandshake } from '../../src/http/framing.ts';
import { IncomingBody } from '../../src/http/incoming-body.ts';
import { type RawRequest, TransportGone } from '../../src/http/raw.ts';
import {
  maxBodyMs,
  maxHandlingMs,
  minSendMs,
  minSendRate,
  passedBytes,
  portTaken,
  quietBodyMs,
  type StartServer,
  sweepMs,
} from '../../src/http/server.ts';
import { Exchange } from './exchange.ts';
import { createSockets, type Handshake, refuse } from './sockets.ts';

/** Headers must be here within this time; an idle connection is closed after it. */
const headersMs = 10_000;
const checkMs = 2_000;
/** A body may take this long, and a second for each 16 KiB of it that has come. */
const slowBodyMs = 10_000;
const minBodyRate = (16 * 1024) / 1000;
/** More than a request may have, so that our own refusal says so. */
const maxHeaderSize = 64 * 1024;
/** Bytes that a socket takes before it says that it is full: a frame of a usual document fits. */
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

/** @throws HubError unavailable when the port is taken */
export const startNodeServer: StartServer = async (options) => {
  const { host, port, pipeline, clock, log } = options;
  /** Requests that are not answered whole, and when they must be (monotonic ms). */
  const unfinished = new Map<Exchange, number>();
  const sockets = createSockets(pipeline.budgets.partial);
  const open = new Set<Socket>();
  /** Connections that end with the answer under way: what was parsed behind its request may be a part of it. */
  const doubtful = new WeakSet<Socket>();
  let stopping = false;
  const connections = new Connections(
    options.maxConnections ?? Number.POSITIVE_INFINITY,
    options.isProxy ?? (() => false),
  );

  async function serve(exchange: Exchange, raw: RawRequest, body: IncomingBody | null): Promise<void> {
    try {
      const response = await pipeline.handle(raw);
      if (body && !response.live && !response.close) await body.pass(clock, quietBodyMs, passedBytes);
      const close = response.close || stopping || (body !== null && !body.whole);
      exchange.send(response, { close, unsent: pipeline.budgets.unsent });
      if (exchange.isSending && !response.live) {
        const bytes = response.body?.length ?? 0;
        unfinished.set(exchange, clock.monotonic() + minSendMs + bytes / minSendRate);
      } else unfinished.delete(exchange);
    } catch (error) {
      if (!(error instanceof TransportGone))
        log.error({ err: error, path: raw.path }, 'a response could not be sent');
      exchange.cut();
    } finally {
      body?.release();
      if (!exchange.open) unfinished.delete(exchange);
    }
  }

  function receive(req: IncomingMessage, res: ServerResponse): void {
    // Its end is told by one whose framing was in doubt.
    if (doubtful.has(req.socket)) return;
    const exchange = new Exchange(res);
    const copied = copyRequest(req);
    if (copied.refused) doubtful.add(req.socket);
    const length = copied.headers.get('content-length');
    const hasBody = (length !== undefined && Number(length) !== 0) || copied.headers.has('transfer-encoding');
    let body: IncomingBody | null = null;
    if (hasBody) {
      const incoming = new IncomingBody({
        limit: pipeline.bodyLimit(copied.method, copied.path),
        declared: length === undefined ? null : Number(length),
        received: pipeline.budgets.received,
        network: pipeline.networkOf(copied),
      });
      body = incoming;
      exchange.reading(incoming);
      let readUntil = clock.monotonic() + slowBodyMs;
      exchange.isSlow = (now) => now >= readUntil;
      req.on('data', (chunk: Buffer) => {
        readUntil += chunk.length / minBodyRate;
        incoming.push(chunk, false);
      });
      req.on('end', () => incoming.push(new Uint8Array(0), true));
      req.on('error', () => incoming.abort());
    } else req.resume();
    unfinished.set(exchange, clock.monotonic() + (body ? maxBodyMs : 0) + maxHandlingMs);
    const oldVersion = req.httpVersion === '1.1' ? null : new HubError('bad_request', 'Use HTTP/1.1.');
    const raw: RawRequest = {
      ...copied,
      refused: copied.refused ?? oldVersion,
      upgrade: false,
      body: () => (body ? body.read() : Promise.resolve(new Uint8Array(0))),
    };
    void serve(exchange, raw, body);
  }

  async function upgrade(handshake: Handshake): Promise<void> {
    const { request, socket } = handshake;
    let gone = false;
    socket.on('error', () => {});
    socket.once('close', () => {
      gone = true;
    });
    try {
      const copied = copyRequest(request);
      const response = await pipeline.handle({
        ...copied,
        refused: copied.refused ?? refuseHandshake(copied.headers),
        upgrade: true,
        body: () => Promise.resolve(new Uint8Array(0)),
      });
      if (gone) response.live?.gone();
      else if (response.live) sockets.complete(handshake, response, response.live);
      else refuse(socket, response);
    } catch (error) {
      if (!(error instanceof TransportGone)) log.error({ err: error }, 'a WebSocket could not be opened');
      socket.destroy();
    }
  }

  const server = createServer({
    maxHeaderSize,
    highWaterMark: socketBytes,
    headersTimeout: headersMs,
    keepAliveTimeout: headersMs,
    // The sweep below ends a body that is late, and knows of bodies that wait for room.
    requestTimeout: 2 * maxBodyMs,
    connectionsCheckingInterval: checkMs,
  });
  // Node leaves out further headers without a word; here they are counted and refused.
  server.maxHeadersCount = 0;
  server.on('request', receive);
  server.on('upgrade', (request, socket, head) => void upgrade({ request, socket, head }));
  server.on('connect', (_request, socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status =
      error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  server.on('connection', (socket) => {
    const address = remoteOf(socket);
    if (!connections.opened(() => ({ address, network: networkOf(address) }))) socket.destroy();
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      connections.closed();
    });
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(new HubError('unavailable', portTaken(host, port))));
    server.listen({ host, port, exclusive: true }, resolve);
  });

  const sweep = clock.every(sweepMs, () => {
    const refused = connections.turn();
    if (refused > 0)
      log.warn({ refused, open: connections.count }, 'connections were refused: too many are open');
    const now = clock.monotonic();
    for (const [exchange, due] of unfinished) {
      const late = exchange.isReading ? due - maxHandlingMs <= now || exchange.isSlow(now) : due <= now;
      if (late && !exchange.isReading && !exchange.isSending)
        log.warn({}, 'a request was not answered in time');
      if (late) exchange.cut();
      if (!exchange.open) unfinished.delete(exchange);
    }
  });

  const stopListening = (): void => {
    if (stopping) return;
    stopping = true;
    // Not http's own, which cuts idle connections: their next request is answered, and told that it is the last.
    NetServer.prototype.close.call(server);
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections.count,
    stopListening,
    close() {
      stopListening();
      server.close();
      sweep.cancel();
      sockets.close();
      for (const socket of open) socket.destroy();
    },
  };
};

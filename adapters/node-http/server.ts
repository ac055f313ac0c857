// The HTTP and WebSocket server on Node's own http module, for systems on which the native one does not load. Knows no
// route.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { canonicalAddress, networkOf } from '../../src/http/address.ts';
import { Connections } from '../../src/http/connections.ts';
import { HeaderReader, type ReadHeaders, refuseHandshake } from '../../src/http/framing.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import { type RawRequest, TransportGone } from '../../src/http/raw.ts';
import { maxBodyMs, portTaken, type StartServer, sweepMs } from '../../src/http/server.ts';
import { incomingBody, Unfinished } from '../../src/http/unfinished.ts';
import { HubError } from '../../src/shared/error.ts';
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
  const unfinished = new Unfinished<Exchange>({ clock, log });
  const sockets = createSockets(pipeline.budgets.partial);
  const open = new Set<Socket>();
  /** Connections that end with the answer under way: what was parsed behind its request may be a part of it. */
  const doubtful = new WeakSet<Socket>();
  let isDraining = false;
  let isListening = true;
  const connections = new Connections(
    options.maxConnections ?? Number.POSITIVE_INFINITY,
    options.isProxy ?? (() => false),
  );

  async function serve(exchange: Exchange, raw: RawRequest, body: IncomingBody | null): Promise<void> {
    const handle = () => pipeline.handle(raw);
    await unfinished.serve(exchange, { raw, body, handle }, (response) => {
      const close = response.close || isDraining || (body !== null && !body.whole);
      exchange.send(response, { close, unsent: pipeline.budgets.unsent });
    });
  }

  function receive(req: IncomingMessage, res: ServerResponse): void {
    // Its end is told by one whose framing was in doubt.
    if (doubtful.has(req.socket)) return;
    const exchange = new Exchange(res);
    const copied = copyRequest(req);
    if (copied.refused) doubtful.add(req.socket);
    const body = incomingBody(pipeline, copied);
    if (body) {
      exchange.reading(body);
      let readUntil = clock.monotonic() + slowBodyMs;
      exchange.isSlow = (now) => now >= readUntil;
      req.on('data', (chunk: Buffer) => {
        readUntil += chunk.length / minBodyRate;
        body.push(chunk, false);
      });
      req.on('end', () => body.push(new Uint8Array(0), true));
      req.on('error', () => body.abort());
    } else req.resume();
    unfinished.began(exchange, body);
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
      if (!(error instanceof TransportGone)) log.error({ err: error }, 'cannot open a WebSocket');
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

  const sweep = clock.every(sweepMs, () => unfinished.sweep(connections));

  const drain = (): void => {
    isDraining = true;
  };
  const stopListening = (): void => {
    drain();
    if (!isListening) return;
    isListening = false;
    // Not http's own, which cuts idle connections: their next request is answered, and told that it is the last.
    NetServer.prototype.close.call(server);
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections.count,
    drain,
    stopListening,
    settle: (ms) => unfinished.settle(ms),
    close() {
      stopListening();
      server.close();
      sweep.cancel();
      sockets.close();
      for (const socket of open) socket.destroy();
    },
  };
};

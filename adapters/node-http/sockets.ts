// WebSocket connections with the package ws: the handshake goes through the pipeline like any request; then the socket
// is a session's sink.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { codecOf, type Session } from '../../src/http/live/session.ts';
import { messageSizeOf, SocketSink } from '../../src/http/live/socket-sink.ts';
import { type RawResponse, statusLine } from '../../src/http/raw.ts';
import { type MessageSize, maxSocketBacklog, messageSizes } from '../../src/http/server.ts';
import type { ByteBudget } from '../../src/shared/concurrency/byte-budget.ts';

class NodeSocketSink extends SocketSink<WebSocket> {
  readonly #socket: Duplex;
  readonly #binary: boolean;

  constructor(ws: WebSocket, socket: Duplex, binary: boolean) {
    super(ws);
    this.#socket = socket;
    this.#binary = binary;
  }

  protected send(ws: WebSocket, piece: Uint8Array | string): boolean {
    ws.send(piece, { binary: this.#binary, compress: false });
    if (ws.bufferedAmount > maxSocketBacklog) {
      this.cut();
      return true;
    }
    return !this.#socket.writableNeedDrain;
  }

  protected close(ws: WebSocket, code: number, reason?: string): void {
    ws.close(code, reason);
    // The server does not wait for further data from the client.
    (this.#socket as Socket).destroySoon();
  }

  protected terminate(ws: WebSocket): void {
    ws.terminate();
  }
}

export interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Sockets {
  /**
   * Completes a handshake that the pipeline admitted; when it cannot be, the session is gone. Without room for half
   * messages the socket takes small ones only, as the answer states.
   */
  complete(handshake: Handshake, response: RawResponse, session: Session): void;
  close(): void;
}

class NodeSockets implements Sockets {
  readonly #partial: ByteBudget;
  /** The protocol that the handshake under way agreed on; ws asks for it within `handleUpgrade`. */
  #protocol: string | null = null;
  #headers: string[] = [];
  readonly #servers: { readonly [S in MessageSize]: WebSocketServer };
  readonly #open = new Set<WebSocket>();

  constructor(partial: ByteBudget) {
    this.#partial = partial;
    this.#servers = {
      none: this.#serverOf('none'),
      small: this.#serverOf('small'),
      large: this.#serverOf('large'),
    };
  }

  complete({ request, socket, head }: Handshake, response: RawResponse, session: Session): void {
    const { sender } = session;
    const size = messageSizeOf(session, this.#partial);
    this.#protocol = session.protocol;
    this.#headers = response.headers
      .filter(([name]) => name === 'X-Request-Id')
      .map(([name, value]) => `${name}: ${value}`);
    if (sender !== null) this.#headers.push(`X-Max-Message-Bytes: ${messageSizes[size]}`);
    let opened = false;
    this.#servers[size].handleUpgrade(request, socket, head, (ws) => {
      opened = true;
      this.#carry(ws, socket, session, size);
    });
    // ws calls back within the call, or has refused the handshake itself.
    if (!opened) session.gone();
  }

  close(): void {
    for (const ws of this.#open) ws.terminate();
  }

  #serverOf(size: MessageSize): WebSocketServer {
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      // Answered below, where those who ask and never read are counted.
      autoPong: false,
      maxPayload: messageSizes[size],
      handleProtocols: () => this.#protocol ?? false,
    });
    server.on('headers', (lines) => lines.push(...this.#headers));
    return server;
  }

  #carry(ws: WebSocket, socket: Duplex, session: Session, size: MessageSize): void {
    const { sender } = session;
    const sink = new NodeSocketSink(ws, socket, codecOf(session.protocol) === 'msgpack');
    const large = sender !== null && size === 'large' ? sender : null;
    if (large !== null) this.#partial.take(large, messageSizes.large);
    this.#open.add(ws);
    ws.on('message', (data: Buffer, isBinary) => session.received(data, isBinary));
    ws.on('ping', (data) => {
      ws.pong(data);
      session.pinged(ws.bufferedAmount > 0);
    });
    ws.on('pong', () => {
      if (!sink.answered()) session.pinged(false);
    });
    // Frames that break the protocol or are too large: ws has closed the connection with the proper code.
    ws.on('error', () => {});
    socket.on('drain', () => session.writable());
    ws.on('close', () => {
      this.#open.delete(ws);
      if (large !== null) this.#partial.give(large, messageSizes.large);
      sink.gone();
      session.gone();
    });
    session.attach(sink);
  }
}

/** @param partial room for half messages */
export const createSockets = (partial: ByteBudget): Sockets => new NodeSockets(partial);

/** Answers a handshake that is not admitted, and ends its connection. */
export function refuse(socket: Duplex, { status, headers, common, body }: RawResponse): void {
  const bytes = body === null ? Buffer.alloc(0) : Buffer.from(body);
  const lines = [
    ...headers,
    ...common.list,
    ['Content-Length', String(bytes.length)],
    ['Connection', 'close'],
  ];
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${statusLine(status)}\r\n${head}\r\n`), bytes]));
}

// WebSocket connections on uWebSockets.js: the handshake goes through the pipeline like any request; then the socket is a session's sink.
import type {
  HttpRequest,
  HttpResponse,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import { maxMessageBytes } from '../../src/http/live/inbox.ts';
import { codecOf, type Session, type Sink } from '../../src/http/live/session.ts';
import type { RawResponse } from '../../src/http/raw.ts';

/** What a WebSocket carries with it. */
export interface Carried {
  readonly session: Session;
  sink: SocketSink | null;
}

const idleSeconds = 60;
/** A frame of any size must fit: the stream itself writes nothing while the socket is full. */
const maxBackpressure = 64 * 1024 * 1024;

class SocketSink implements Sink {
  #ws: WebSocket<Carried> | null;
  readonly #binary: boolean;

  constructor(ws: WebSocket<Carried>, binary: boolean) {
    this.#ws = ws;
    this.#binary = binary;
  }

  write(piece: Uint8Array | string): boolean {
    const ws = this.#ws;
    if (!ws) return true;
    const status = ws.send(piece, this.#binary, false);
    if (status === 2) {
      this.cut();
      return true;
    }
    return status === 1;
  }

  end(): void {
    const ws = this.#ws;
    this.#ws = null;
    // 1001: going away; the client is to connect again.
    ws?.end(1001);
  }

  cut(): void {
    const ws = this.#ws;
    this.#ws = null;
    ws?.close();
  }

  gone(): void {
    this.#ws = null;
  }
}

/** The behaviour of every WebSocket route. `upgrade` answers the handshake, `closed` hears of every WebSocket that ended. */
export function socketBehavior(
  disabledCompression: number,
  upgrade: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) => void,
  closed: () => void,
): WebSocketBehavior<Carried> {
  return {
    compression: disabledCompression,
    maxPayloadLength: maxMessageBytes,
    maxBackpressure,
    idleTimeout: idleSeconds,
    sendPingsAutomatically: true,
    upgrade,
    open(ws) {
      const carried = ws.getUserData();
      carried.sink = new SocketSink(ws, codecOf(carried.session.protocol) === 'msgpack');
      carried.session.attach(carried.sink);
    },
    message(ws, message, isBinary) {
      // The memory is only lent.
      ws.getUserData().session.received(new Uint8Array(message.slice(0)), isBinary);
    },
    drain(ws) {
      if (ws.getBufferedAmount() === 0) ws.getUserData().session.writable();
    },
    close(ws) {
      const { session, sink } = ws.getUserData();
      sink?.gone();
      session.gone();
      closed();
    },
  };
}

/** The handshake's headers that must be copied before the first await. */
export interface Handshake {
  readonly key: string;
  readonly extensions: string;
  readonly context: us_socket_context_t;
}

/** Completes a handshake that the pipeline admitted; when it cannot be, the session is gone. */
export function completeUpgrade(
  res: HttpResponse,
  response: RawResponse,
  session: Session,
  { key, extensions, context }: Handshake,
): void {
  try {
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of response.headers) if (name === 'X-Request-Id') res.writeHeader(name, value);
      const carried: Carried = { session, sink: null };
      res.upgrade(carried, key, session.protocol ?? '', extensions, context);
    });
  } catch (error) {
    session.gone();
    throw error;
  }
}

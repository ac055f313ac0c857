// WebSocket connections on uWebSockets.js: the handshake goes through the pipeline like any request; then the socket is
// a session's sink.
import type { HttpRequest, HttpResponse, TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import { codecOf, type Session } from '../../src/http/live/session.ts';
import { messageSizeOf, SocketSink } from '../../src/http/live/socket-sink.ts';
import type { RawResponse } from '../../src/http/raw.ts';
import { idleSeconds, type MessageSize, maxSocketBacklog, messageSizes } from '../../src/http/server.ts';
import type { ByteBudget } from '../../src/shared/concurrency/byte-budget.ts';

/** Data that a WebSocket carries with it: empty until its upgrade is complete. */
export interface Carried {
  session?: Session;
  sink?: NativeSocketSink;
  /** Sender whose share of half messages this socket takes; absent when the socket takes none. */
  large?: string;
  closed?: boolean;
}

/**
 * Where each size is at home. A socket has the size of the route that its handshake named to the native server, and any
 * handshake may name any route. So each route fits every path that has a stream. The routes differ from each other,
 * because two alike would be one.
 */
const patterns: { readonly [S in MessageSize]: readonly string[] } = {
  none: ['/*'],
  small: ['/:a/*'],
  // A wildcard stands for one segment or more.
  large: ['/:a/:b', '/:a/:b/*'],
};

/** The WebSocket that opened within the upgrade under way: at most one. */
const opened: WebSocket<Carried>[] = [];
const nothing: Carried = {};

class NativeSocketSink extends SocketSink<WebSocket<Carried>> {
  readonly #binary: boolean;

  constructor(ws: WebSocket<Carried>, binary: boolean) {
    super(ws);
    this.#binary = binary;
  }

  protected send(ws: WebSocket<Carried>, piece: Uint8Array | string): boolean {
    const status = ws.send(piece, this.#binary, false);
    if (status === 2) {
      this.cut();
      return true;
    }
    return status === 1;
  }

  protected close(ws: WebSocket<Carried>, code: number, reason?: string): void {
    if (reason === undefined) ws.end(code);
    else ws.end(code, reason);
  }

  protected terminate(ws: WebSocket<Carried>): void {
    ws.close();
  }
}

export interface SocketOptions {
  readonly disabledCompression: number;
  /** Counts the sockets that take large messages, as the bytes that half of one may hold. */
  readonly partial: ByteBudget;
  /** Answers the handshake. */
  upgrade(res: HttpResponse, req: HttpRequest, contexts: Contexts): void;
  /** A WebSocket has ended. */
  closed(): void;
}

/** The native side of each route. */
export type Contexts = { readonly [S in MessageSize]: us_socket_context_t };

/** Registers the WebSocket routes. */
export function addSockets(app: TemplatedApp, options: SocketOptions): void {
  const { disabledCompression, partial, upgrade, closed } = options;
  const contexts: { [S in MessageSize]?: us_socket_context_t } = {};
  const sizes = Object.keys(messageSizes) as MessageSize[];
  for (const [size, pattern] of sizes.flatMap((one) => patterns[one].map((path) => [one, path] as const))) {
    app.ws<Carried>(pattern, {
      compression: disabledCompression,
      maxPayloadLength: messageSizes[size],
      maxBackpressure: maxSocketBacklog,
      idleTimeout: idleSeconds,
      sendPingsAutomatically: false,
      upgrade(res, req, context) {
        contexts[size] = context;
        const { none, small, large } = contexts;
        // The first handshake goes from route to route until each has named its context.
        if (none && small && large) upgrade(res, req, { none, small, large });
        else req.setYield(true);
      },
      // A bound builtin and nothing of ours: see completeUpgrade.
      open: opened.push.bind(opened) as unknown as (ws: WebSocket<Carried>) => void,
      message(ws, message, isBinary) {
        // The memory is only lent.
        ws.getUserData().session?.received(new Uint8Array(message.slice(0)), isBinary);
      },
      ping(ws) {
        ws.getUserData().session?.pinged(ws.getBufferedAmount() > 0);
      },
      pong(ws) {
        const { session, sink } = ws.getUserData();
        if (sink?.answered() === false) session?.pinged(false);
      },
      drain(ws) {
        if (ws.getBufferedAmount() === 0) ws.getUserData().session?.writable();
      },
      close(ws) {
        const carried = ws.getUserData();
        carried.closed = true;
        if (carried.large !== undefined) partial.give(carried.large, messageSizes.large);
        carried.sink?.gone();
        carried.session?.gone();
        closed();
      },
    });
  }
}

/** The handshake's headers that must be copied before the first await. */
export interface Handshake {
  readonly key: string;
  readonly extensions: string;
  readonly contexts: Contexts;
}

/**
 * Completes a handshake that the pipeline admitted; when it cannot be, the session is gone.
 * @param partial room for half messages: without it, the socket takes small ones only, as the answer states
 */
export function completeUpgrade(
  res: HttpResponse,
  response: RawResponse,
  session: Session,
  { key, extensions, contexts }: Handshake,
  partial: ByteBudget,
): void {
  const { sender } = session;
  const size = messageSizeOf(session, partial);
  // The upgrade shrinks the native socket in place, frees what held the HTTP state, and at its end cork() reads that
  // state all the same. When another allocation has taken the memory, its bytes may mean "close after the response".
  // Then the new WebSocket is cut right after the 101 (often the first ones of a process: functions are compiled,
  // hidden classes are laid out). So nothing of ours happens from the upgrade to the end of the cork: both callbacks
  // are bound native functions, there is no user data to copy, and the session begins after.
  const upgrade = res.upgrade.bind(res, nothing, key, session.protocol ?? '', extensions, contexts[size]);
  try {
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of response.headers) if (name === 'X-Request-Id') res.writeHeader(name, value);
      if (sender !== null) res.writeHeader('X-Max-Message-Bytes', String(messageSizes[size]));
    });
    res.cork(upgrade);
  } catch (error) {
    opened.length = 0;
    session.gone();
    throw error;
  }
  const ws = opened.pop();
  const carried = ws?.getUserData();
  if (!ws || !carried || carried.closed) {
    session.gone();
    return;
  }
  if (sender !== null && size === 'large') {
    carried.large = sender;
    partial.take(sender, messageSizes.large);
  }
  carried.session = session;
  carried.sink = new NativeSocketSink(ws, codecOf(session.protocol) === 'msgpack');
  session.attach(carried.sink);
}

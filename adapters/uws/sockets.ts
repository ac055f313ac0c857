// WebSocket connections on uWebSockets.js: the handshake goes through the pipeline like any request; then the socket is a session's sink.
import type {
  HttpRequest,
  HttpResponse,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import { HubError } from '../../src/domain/error.ts';
import { maxMessageBytes } from '../../src/http/live/inbox.ts';
import { codecOf, type Session, type Sink } from '../../src/http/live/session.ts';
import type { RawResponse } from '../../src/http/raw.ts';

/** What a WebSocket carries with it: nothing until its upgrade is complete. */
export interface Carried {
  session?: Session;
  sink?: SocketSink;
  closed?: boolean;
}

const idleSeconds = 60;
/** A frame of any size must fit: the stream itself writes nothing while the socket is full. */
const maxBackpressure = 64 * 1024 * 1024;

/** The WebSocket that opened within the upgrade under way: at most one. */
const opened: WebSocket<Carried>[] = [];
const nothing: Carried = {};

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
    // A bound builtin and nothing of ours: see completeUpgrade.
    open: opened.push.bind(opened) as unknown as (ws: WebSocket<Carried>) => void,
    message(ws, message, isBinary) {
      // The memory is only lent.
      ws.getUserData().session?.received(new Uint8Array(message.slice(0)), isBinary);
    },
    drain(ws) {
      if (ws.getBufferedAmount() === 0) ws.getUserData().session?.writable();
    },
    close(ws) {
      const carried = ws.getUserData();
      carried.closed = true;
      carried.sink?.gone();
      carried.session?.gone();
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

/** Why a request that the native server took for a handshake is none; null when it is one. The native server looks for the key alone. */
export function refuseHandshake(headers: ReadonlyMap<string, string>): HubError | null {
  const tokens = (headers.get('connection') ?? '').toLowerCase().split(',');
  const names = (token: string): boolean => tokens.some((each) => each.trim() === token);
  // With `close` the native server would end the connection right after the 101.
  if (!names('upgrade') || names('close') || headers.get('upgrade')?.trim().toLowerCase() !== 'websocket') {
    return new HubError(
      'bad_request',
      'A WebSocket handshake has Upgrade: websocket and Connection: Upgrade.',
    );
  }
  if (headers.get('sec-websocket-version')?.trim() !== '13') {
    return new HubError('upgrade_required', 'A WebSocket handshake has Sec-WebSocket-Version: 13.');
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) {
    return new HubError('bad_request', 'Sec-WebSocket-Key must be 16 bytes in base64.');
  }
  // Its bytes would be read as frames.
  if (headers.has('content-length') || headers.has('transfer-encoding')) {
    return new HubError('bad_request', 'A WebSocket handshake has no body.');
  }
  return null;
}

/** Completes a handshake that the pipeline admitted; when it cannot be, the session is gone. */
export function completeUpgrade(
  res: HttpResponse,
  response: RawResponse,
  session: Session,
  { key, extensions, context }: Handshake,
): void {
  // The upgrade shrinks the native socket in place, frees what held the HTTP state, and at its end cork() reads that state all the same:
  // when another allocation took the memory meanwhile, its bytes may say "close after the response", and the new WebSocket is cut right
  // after the 101 (often the first ones of a process: functions are compiled, hidden classes are laid out). So nothing of ours happens
  // from the upgrade to the end of the cork: both callbacks are bound native functions, there is no user data to copy, and the session
  // begins after.
  const upgrade = res.upgrade.bind(res, nothing, key, session.protocol ?? '', extensions, context);
  try {
    res.cork(() => {
      res.writeStatus('101 Switching Protocols');
      for (const [name, value] of response.headers) if (name === 'X-Request-Id') res.writeHeader(name, value);
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
  carried.session = session;
  carried.sink = new SocketSink(ws, codecOf(session.protocol) === 'msgpack');
  session.attach(carried.sink);
}

// One HTTP request and its response on a uWebSockets.js socket. The response is never touched after it was aborted or ended.
import type { HttpResponse } from 'uWebSockets.js';
import type { Session, Sink } from '../../src/http/live/session.ts';
import { type RawResponse, statusLine } from '../../src/http/raw.ts';
import type { IncomingBody } from './body.ts';

// One closure for all connections: the response and piece to write are handed over here, within one synchronous call.
let writeTo: HttpResponse | null = null;
let writePiece: Uint8Array | string = '';
let writeTook = true;
const writeCorked = (): void => {
  writeTook = writeTo?.write(writePiece) ?? true;
};

export interface Sending {
  /** The request was a HEAD. */
  readonly head: boolean;
  /** The connection must take no other request: where this one ends is in doubt, or too far. */
  readonly close: boolean;
  /** The server stops: this is the connection's last answer. */
  readonly last: boolean;
}

/** Also the sink of an SSE stream. Holds nothing of the request, because a stream keeps it for an hour. */
export class Exchange implements Sink {
  /** Null once the response is aborted or ended. */
  #res: HttpResponse | null;
  #session: Session | null = null;
  #body: IncomingBody | null = null;

  constructor(res: HttpResponse) {
    this.#res = res;
  }

  get open(): boolean {
    return this.#res !== null;
  }

  reading(body: IncomingBody): void {
    this.#body = body;
  }

  /** The connection is gone. */
  aborted(): void {
    this.#res = null;
    this.#body?.abort();
    this.#over();
  }

  /** The socket can take more. Answers whether everything waiting was written. */
  writable(): boolean {
    return this.#session?.writable() ?? true;
  }

  write(piece: Uint8Array | string): boolean {
    if (!this.#res) return true;
    writeTo = this.#res;
    writePiece = piece;
    writeTook = true;
    this.#res.cork(writeCorked);
    writeTo = null;
    writePiece = '';
    return writeTook;
  }

  end(): void {
    const res = this.#res;
    if (!res) return;
    this.#res = null;
    res.cork(() => {
      // Not asked to close: the native server would write that header here, in the middle of the chunks. The stream's head has it instead,
      // so the client closes; a connection that is left open is idle, and idle ones are closed after 9 to 12 s.
      res.end();
    });
    this.#over();
  }

  cut(): void {
    const res = this.#res;
    if (!res) return;
    this.#res = null;
    try {
      // Calls the abort handler at once.
      res.close();
    } catch {
      // It was over already.
    }
    this.#over();
  }

  /** Sends the response; a live stream is attached once its headers are out. */
  send(response: RawResponse, how: Sending): void {
    const res = this.#res;
    if (!res) {
      response.live?.gone();
      return;
    }
    const { status, headers, body, live } = response;
    if (live) {
      this.#session = live;
      this.#body = null;
      watchWritable(res, this);
      res.cork(() => {
        writeHead(res, status, headers);
        res.writeHeader('Connection', 'close');
      });
      live.attach(this);
      return;
    }
    this.#res = null;
    res.cork(() => {
      writeHead(res, status, headers);
      if (how.head || status === 204 || status === 304) endBodyless(res, response, how);
      else res.end(body ?? '', how.close || how.last);
    });
  }

  #over(): void {
    this.#body = null;
    const session = this.#session;
    this.#session = null;
    session?.gone();
  }
}

function writeHead(res: HttpResponse, status: number, headers: RawResponse['headers']): void {
  res.writeStatus(statusLine(status));
  for (const [name, value] of headers) res.writeHeader(name, value);
}

/**
 * Ends an answer that has no body by its method or status. Any argument of `endWithoutBody`, `undefined` too, becomes a Content-Length, and
 * the native server then waits for that many bytes before it takes the next request. So a length is written as a header like any other, and
 * a 204 or 304 has none. Without arguments the connection cannot be ended here: the client is asked to, and it ends when it stays idle.
 */
function endBodyless(res: HttpResponse, { status, body }: RawResponse, { head, close, last }: Sending): void {
  const hasLength = head && status !== 204 && status !== 304;
  if (close && hasLength) {
    res.endWithoutBody(0, true);
    return;
  }
  if (close || last) res.writeHeader('Connection', 'close');
  if (hasLength && body !== null) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
  res.endWithoutBody();
}

// In functions of their own, so that the closures a connection keeps hold the exchange and nothing else.
export function watchAborted(res: HttpResponse, exchange: Exchange): void {
  res.onAborted(() => exchange.aborted());
}

function watchWritable(res: HttpResponse, exchange: Exchange): void {
  res.onWritable(() => exchange.writable());
}

// One HTTP request and its response on a uWebSockets.js socket. The response is never touched after it was aborted or
// ended.
import type { HttpResponse } from 'uWebSockets.js';
import { isBodyless } from '../../src/http/empty-answers.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import type { Session, Sink } from '../../src/http/live/session.ts';
import { type RawResponse, statusLine } from '../../src/http/raw.ts';
import type { ByteBudget } from '../../src/shared/concurrency/byte-budget.ts';
import { NextFrame } from './next-frame.ts';
import { UnsentAnswer } from './unsent.ts';

// One closure for all connections: the response and piece to write are handed over here, within one synchronous call.
let writeTo: HttpResponse | null = null;
let writePiece: Uint8Array | string = '';
let writeAhead = '';
let writeTook = true;
const writeCorked = (): void => {
  writeTook = writeTo?.write(writePiece) ?? true;
  if (writeAhead !== '') writeTook = (writeTo?.write(writeAhead) ?? true) && writeTook;
};

export interface SendOptions {
  /** The request was a HEAD. */
  readonly head: boolean;
  /** The connection must take no other request: where this one ends is in doubt, or too far. */
  readonly close: boolean;
  /** The server stops: this is the connection's last answer. */
  readonly last: boolean;
  /** Counts the answer while its client has not taken it whole. */
  readonly unsent: ByteBudget;
  /** The client hands on no part of a chunk before its end. */
  readonly wholeChunks: boolean;
}

/** Also the sink of an SSE stream. Holds nothing of the request, because a stream keeps it for an hour. */
export class Exchange implements Sink {
  /** Null once the response is aborted or ended. */
  #res: HttpResponse | null;
  /** Response under way: a live stream, or an answer that the connection has not taken whole. */
  #sending: Pick<Session, 'writable' | 'gone'> | null = null;
  #body: IncomingBody | null = null;
  /** Of an event stream whose client reads whole chunks. */
  #nextFrame: NextFrame | null = null;

  constructor(res: HttpResponse) {
    this.#res = res;
  }

  get open(): boolean {
    return this.#res !== null;
  }

  /** True while the request's body is awaited. */
  get isReading(): boolean {
    return this.#body !== null && !this.#body.done;
  }

  /** True while a live stream, or an answer that the connection has not taken whole, is sent. */
  get isSending(): boolean {
    return this.#sending !== null;
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
    return this.#sending?.writable() ?? true;
  }

  write(piece: Uint8Array | string): boolean {
    if (!this.#res) return true;
    const next = this.#nextFrame;
    writeTo = this.#res;
    writePiece = next ? next.after(piece) : piece;
    writeAhead = next ? next.ahead(piece) : '';
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
      // Not asked to close: the native server would write that header here, in the middle of the chunks. The stream's
      // head has it instead, so the client closes. A connection that is left open is idle, and idle ones are closed
      // after 9 to 12 s.
      const last = this.#nextFrame?.end() ?? '';
      if (last === '') res.end();
      else res.end(last);
    });
    this.#over();
  }

  cut(): void {
    const res = this.#res;
    if (!res) return;
    this.#res = null;
    closeNow(res);
    this.#body?.abort();
    this.#over();
  }

  /**
   * Sends the response. A live stream is attached in the same cork: its greeting leaves with the headers, in one call
   * of the system.
   */
  send(response: RawResponse, how: SendOptions): void {
    const res = this.#res;
    const { live } = response;
    if (!res) {
      live?.gone();
      return;
    }
    this.#body = null;
    if (live) {
      this.#sending = live;
      if (how.wholeChunks && isEventStream(response)) this.#nextFrame = new NextFrame();
      watchWritable(res, this);
      res.cork(() => {
        writeHead(res, response);
        res.writeHeader('Connection', 'close');
        live.attach(this);
      });
      return;
    }
    const bytes = bytesOf(response);
    if (how.head || bytes.length === 0) {
      this.#res = null;
      endBodyless(res, response, bytes.length, how);
    } else if (how.close || (how.last && bytes.length <= smallAnswer)) {
      this.#res = null;
      res.cork(() => {
        writeHead(res, response);
        res.end(bytes, true);
      });
    } else {
      this.#sendBody(res, response, bytes, how);
    }
  }

  #sendBody(
    res: HttpResponse,
    response: RawResponse,
    bytes: Uint8Array,
    { last, unsent }: SendOptions,
  ): void {
    let done = false;
    res.cork(() => {
      writeHead(res, response);
      if (last) res.writeHeader('Connection', 'close');
      [, done] = res.tryEnd(bytes, bytes.length);
    });
    if (done) {
      this.#res = null;
      return;
    }
    const finished = (): void => {
      this.#res = null;
      this.#sending = null;
    };
    this.#sending = new UnsentAnswer(res, bytes, { unsent, caller: response.caller, finished });
    watchWritable(res, this);
  }

  #over(): void {
    this.#body = null;
    const sending = this.#sending;
    this.#sending = null;
    sending?.gone();
  }
}

/** Bytes of an answer that the sockets of a client that reads take at once. */
const smallAnswer = 64 * 1024;

const nothing = new Uint8Array(0);

/** The body's bytes; none for a status that has no body. */
function bytesOf({ status, body }: RawResponse): Uint8Array {
  if (body === null || isBodyless(status)) return nothing;
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** A live stream has its content type in the headers that all live streams share. */
const isEventStream = ({ common }: RawResponse): boolean =>
  common.list.some(([, value]) => value === 'text/event-stream');

function writeHead(res: HttpResponse, { status, headers, common }: RawResponse): void {
  res.writeStatus(statusLine(status));
  for (const [name, value] of headers) res.writeHeader(name, value);
  // The native server writes a value as it is, so one call writes the lines of them all.
  res.writeHeader(common.name, common.rest);
}

/**
 * Ends an answer without a body. Any argument of `endWithoutBody`, `undefined` too, becomes a Content-Length, and the
 * native server then waits for that many bytes before it takes the next request. So a length other than 0 is written as
 * a header like any other, and a 204 or 304 has none. Without arguments the connection cannot be ended here: the client
 * is asked to, and it ends when it stays idle.
 */
function endBodyless(
  res: HttpResponse,
  response: RawResponse,
  length: number,
  { head, close, last }: SendOptions,
): void {
  res.cork(() => {
    writeHead(res, response);
    if (!isBodyless(response.status) && (close || !head)) {
      res.endWithoutBody(0, close || last);
      return;
    }
    if (close || last) res.writeHeader('Connection', 'close');
    if (length > 0) res.writeHeader('Content-Length', String(length));
    res.endWithoutBody();
  });
}

function closeNow(res: HttpResponse): void {
  try {
    // Calls the abort handler at once.
    res.close();
  } catch {
    // It was over already.
  }
}

// Bound, because a connection keeps both: a closure with its context takes twice the memory.
export const watchAborted = (res: HttpResponse, exchange: Exchange): void => {
  res.onAborted(exchange.aborted.bind(exchange));
};

const watchWritable = (res: HttpResponse, exchange: Exchange): void => {
  res.onWritable(exchange.writable.bind(exchange));
};

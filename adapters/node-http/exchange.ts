// One request and its response on Node's own HTTP server: sends the answer, or is the sink of a live stream. Knows no
// route.
import type { ServerResponse } from 'node:http';
import { isBodyless } from '../../src/http/empty-answers.ts';
import type { IncomingBody } from '../../src/http/incoming-body.ts';
import type { Session, Sink } from '../../src/http/live/session.ts';
import { type RawResponse, statusTexts } from '../../src/http/raw.ts';
import type { ByteBudget } from '../../src/shared/concurrency/byte-budget.ts';

/** How an answer is sent. */
export interface SendOptions {
  /** The connection ends with it. */
  readonly close: boolean;
  /** Counts bytes that clients have not taken. */
  readonly unsent: ByteBudget;
}

export class Exchange implements Sink {
  /** Null once the response is over. */
  #res: ServerResponse | null;
  #live: Session | null = null;
  #sending = false;
  #body: IncomingBody | null = null;
  /** True if its body comes too slowly. @param now monotonic milliseconds */
  isSlow: (now: number) => boolean = () => false;
  /** Gives back what was counted as unsent. */
  #settle: (() => void) | null = null;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.on('close', () => this.#closed());
    res.on('error', () => this.#closed());
    res.on('drain', () => this.#live?.writable());
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
    return this.#sending;
  }

  reading(body: IncomingBody): void {
    this.#body = body;
  }

  write(piece: Uint8Array | string): boolean {
    return this.#res?.write(piece) ?? true;
  }

  end(): void {
    this.#res?.end();
    this.#closed();
  }

  cut(): void {
    const res = this.#res;
    this.#closed();
    res?.destroy();
  }

  /** Sends the response; a live stream is attached in the same cork, so that its greeting leaves with the headers. */
  send(response: RawResponse, { close, unsent }: SendOptions): void {
    const res = this.#res;
    const { live, status } = response;
    if (!res) {
      live?.gone();
      return;
    }
    this.#body = null;
    const headers = [...response.headers, ...response.common.list].flat() as string[];
    const last = close || live !== null;
    if (last) headers.push('Connection', 'close');
    if (live) {
      this.#live = live;
      this.#sending = true;
      res.cork();
      res.writeHead(status, statusTexts[status], headers);
      live.attach(this);
      res.uncork();
      return;
    }
    const bytes = bytesOf(response);
    // To HEAD as well: Node sends the length alone then.
    if (!isBodyless(status)) headers.push('Content-Length', String(bytes.length));
    this.#sending = true;
    unsent.take(response.caller, bytes.length);
    this.#settle = () => unsent.give(response.caller, bytes.length);
    res.once('finish', () => {
      const { socket } = res;
      this.#closed();
      // Otherwise the server would read the rest of the body to its end.
      if (close) socket?.destroySoon();
    });
    res.writeHead(status, statusTexts[status], headers);
    res.end(bytes);
  }

  #closed(): void {
    if (!this.#res) return;
    this.#res = null;
    this.#sending = false;
    this.#settle?.();
    this.#settle = null;
    this.#body?.abort();
    this.#body = null;
    const live = this.#live;
    this.#live = null;
    live?.gone();
  }
}

const nothing = new Uint8Array(0);

/** The body's bytes; none for a status that has no body. */
function bytesOf({ status, body }: RawResponse): Uint8Array {
  if (body === null || isBodyless(status)) return nothing;
  return typeof body === 'string' ? Buffer.from(body) : body;
}

// Requests without a complete answer, with a deadline each. It ends the late ones. Both servers have one. Owns no
// timer.
import { type Clock, pause } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Connections } from './connections.ts';
import { IncomingBody } from './incoming-body.ts';
import type { Pipeline } from './pipeline.ts';
import { type RawRequest, type RawResponse, TransportGone } from './raw.ts';
import { maxBodyMs, maxHandlingMs, minSendMs, minSendRate, passedBytes, quietBodyMs } from './server.ts';

/** Between two looks at what is owed; requests that are on their way arrive in it. */
const settleEveryMs = 50;

/** A request and its answer, as this needs to know them. */
export interface OwedExchange {
  /** False once its answer is ended or its connection gone. */
  readonly open: boolean;
  /** Its body is awaited. */
  readonly isReading: boolean;
  /** Its answer is on the way. */
  readonly isSending: boolean;
  /** True if the body arrives too slowly, for servers that do not end such requests themselves. */
  isSlow?(now: number): boolean;
  cut(): void;
}

export class Unfinished<E extends OwedExchange> {
  /** Monotonic milliseconds, whole: V8 stores a fraction as an object of its own. */
  readonly #due = new Map<E, number>();
  readonly #clock: Clock;
  readonly #log: Log;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  began(exchange: E, body: IncomingBody | null): void {
    this.#owe(exchange, (body ? maxBodyMs : 0) + maxHandlingMs);
  }

  /** Removes an exchange that is no HTTP exchange any more. */
  forget(exchange: E): void {
    this.#due.delete(exchange);
  }

  /**
   * Carries one request from its handling to the end of its answer's sending; nothing thrown leaves it.
   * @param send writes the answer; what it did not write whole is owed from then on
   */
  async serve(
    exchange: E,
    {
      raw,
      body,
      handle,
    }: { readonly raw: RawRequest; readonly body: IncomingBody | null; readonly handle: Handle },
    send: (response: RawResponse) => void,
  ): Promise<void> {
    try {
      const response = await handle();
      if (response === null) return;
      if (body && !response.live && !response.close) {
        await body.pass(this.#clock, quietBodyMs, passedBytes);
      }
      send(response);
      if (exchange.isSending && !response.live) {
        const bytes = response.body?.length ?? 0;
        this.#owe(exchange, minSendMs + bytes / minSendRate);
      } else this.#due.delete(exchange);
    } catch (error) {
      if (!(error instanceof TransportGone))
        this.#log.error({ err: error, path: raw.path }, 'cannot send a response');
      exchange.cut();
    } finally {
      body?.release();
      if (!exchange.open) this.#due.delete(exchange);
    }
  }

  #owe(exchange: E, ms: number): void {
    this.#due.set(exchange, Math.ceil(this.#clock.monotonic() + ms));
  }

  /** Resolves when every request has its whole answer, after 50 ms at the earliest and `ms` at the latest. */
  async settle(ms: number): Promise<void> {
    const end = this.#clock.monotonic() + ms;
    do {
      await pause(this.#clock, settleEveryMs);
      for (const exchange of this.#due.keys()) if (!exchange.open) this.#due.delete(exchange);
    } while (this.#due.size > 0 && this.#clock.monotonic() < end);
  }

  /** Every `sweepMs`: ends late requests, and logs how many connections were refused since. */
  sweep(connections: Connections): void {
    const refused = connections.turn();
    if (refused > 0) {
      this.#log.warn({ refused, open: connections.count }, 'refused connections: too many are open');
    }
    const now = this.#clock.monotonic();
    for (const [exchange, due] of this.#due) {
      const isSlow = due - maxHandlingMs <= now || exchange.isSlow?.(now) === true;
      const late = exchange.isReading ? isSlow : due <= now;
      if (late && !exchange.isReading && !exchange.isSending)
        this.#log.warn({}, 'a request got no answer in time');
      if (late) exchange.cut();
      if (!exchange.open) this.#due.delete(exchange);
    }
  }
}

/** Returns the pipeline's answer; null if it was sent in another way, as for a WebSocket. */
type Handle = () => Promise<RawResponse | null>;

/** The body that a request declares; null: none. */
export function incomingBody(
  pipeline: Pipeline,
  request: Pick<RawRequest, 'method' | 'path' | 'headers' | 'remote'>,
): IncomingBody | null {
  const length = request.headers.get('content-length');
  // The native server does not signal the end of a body of no bytes when the headers came in two pieces.
  const hasBody = (length !== undefined && Number(length) !== 0) || request.headers.has('transfer-encoding');
  if (!hasBody) return null;
  return new IncomingBody({
    limit: pipeline.bodyLimit(request.method, request.path),
    declared: length === undefined ? null : Number(length),
    received: pipeline.budgets.received,
    network: pipeline.networkOf(request),
  });
}

// Follows the agent stream for as long as it is open: connects, notices silence, waits and connects again from where it
// was. Does not know what frames mean (bundle/ and approvals do).
import { Backoff } from '../backoff.ts';
import type { Clock, Timer } from '../clock.ts';
import { HubResponseError, type OnError } from '../failure.ts';
import type { ReceivedFrame, StreamTransport } from './transport.ts';

export interface FollowerOptions {
  readonly transport: StreamTransport;
  readonly clock: Clock;
  /** The address without query. */
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  /** Asked before every connection. */
  readonly query: () => { readonly [name: string]: string };
  /** A frame's event name and its JSON object. Must not throw and must not take long. */
  readonly onFrame: (event: string, data: { readonly [name: string]: unknown }) => void;
  readonly onOpen?: () => void;
  readonly onError?: OnError;
  /** Milliseconds without a byte after which the connection counts as dead; default 120,000. */
  readonly idleTimeout?: number;
}

/** A connection that lasted this long starts the waits again. */
const longEnough = 30_000;
const connectTimeout = 30_000;

export class StreamFollower {
  readonly #options: FollowerOptions;
  readonly #closed = new AbortController();
  #lastEventId: string | null = null;
  #running: Promise<void> | null = null;
  #connected = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#connected;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#options.clock);
    while (!this.#closed.signal.aborted) {
      const { lasted, retryMs } = await this.#connectOnce();
      if (this.#closed.signal.aborted) return;
      if (lasted >= longEnough) backoff.reset();
      await this.#pause(backoff.next(retryMs));
    }
  }

  async #connectOnce(): Promise<{ lasted: number; retryMs: number }> {
    const { clock, idleTimeout = 120_000 } = this.#options;
    const dead = new AbortController();
    let openedAt: number | null = null;
    let lastByte = clock.monotonic();
    let timer: Timer | null = null;
    // One timer that looks again, instead of one per byte.
    const watch = (): void => {
      const limit = openedAt === null ? connectTimeout : idleTimeout;
      const left = lastByte + limit - clock.monotonic();
      if (left <= 0) dead.abort(new Error(`no data for ${limit} ms`));
      else timer = clock.after(left, watch);
    };
    watch();
    let retryMs = 0;
    try {
      await this.#options.transport({
        url: `${this.#options.url}?${new URLSearchParams(this.#options.query())}`,
        headers: this.#options.headers,
        lastEventId: this.#lastEventId,
        signal: AbortSignal.any([this.#closed.signal, dead.signal]),
        opened: () => {
          openedAt = clock.monotonic();
          lastByte = openedAt;
          this.#connected = true;
          this.#options.onOpen?.();
        },
        alive: () => {
          lastByte = clock.monotonic();
        },
        frame: (frame) => this.#take(frame),
      });
    } catch (failure) {
      if (failure instanceof HubResponseError) retryMs = (failure.retryAfter ?? 0) * 1000;
      if (!this.#closed.signal.aborted) this.#options.onError?.(failure, 'following the stream');
    }
    this.#connected = false;
    (timer as Timer | null)?.cancel();
    return { lasted: openedAt === null ? 0 : clock.monotonic() - openedAt, retryMs };
  }

  #take(frame: ReceivedFrame): void {
    if (frame.id !== null) this.#lastEventId = frame.id === '' ? null : frame.id;
    if (frame.event === '') return;
    let data: unknown;
    try {
      data = typeof frame.data === 'string' ? JSON.parse(frame.data) : frame.data;
    } catch (failure) {
      this.#options.onError?.(failure, `a ${frame.event} frame that is not JSON`);
      return;
    }
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return;
    this.#options.onFrame(frame.event, data as { readonly [name: string]: unknown });
  }

  /** Does not keep the process alive; ends early when closed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#closed.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.#options.clock.after(ms, done);
      this.#closed.signal.addEventListener('abort', done, { once: true });
    });
  }
}

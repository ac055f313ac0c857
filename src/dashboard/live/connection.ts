// One connection to the dashboard stream: WebSocket first, server-sent events second, back by itself after what it has
// seen. Runs in a SharedWorker, or in the page where there is none.
import { after, jittered, now, type Timer } from '../lib/browser.ts';
import { SseReader } from './sse.ts';

/** `reconnecting` is new, `stale` has lasted; `signed_out` ends it. */
export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'stale' | 'signed_out';

export interface LiveStatus {
  readonly state: LiveState;
  /** Since when nothing is heard; null while live. */
  readonly since: number | null;
  /** When the next try is; null while live or trying. */
  readonly nextTry: number | null;
}

export interface LiveListener {
  frame(frame: { readonly type: string }): void;
  status(status: LiveStatus): void;
}

const path = '/api/v1/stream/dashboard';
const firstWaitMs = 500;
const maxWaitMs = 20_000;
/** A connection that ends sooner than this counts as a failure. */
const settledMs = 5_000;
/** After so long without a connection what is shown is called stale. */
const staleMs = 8_000;

export class LiveConnection {
  readonly #listener: LiveListener;
  readonly #base: string;
  #status: LiveStatus = { state: 'connecting', since: null, nextTry: null };
  #lastId = '';
  #failures = 0;
  /** True once a WebSocket could not be opened although the hub answers. */
  #useSse = false;
  #timer: Timer | null = null;
  #stale: Timer | null = null;
  #end: () => void = () => undefined;
  #closed = false;

  /** @param base the origin of the hub */
  constructor(base: string, listener: LiveListener) {
    this.#base = base;
    this.#listener = listener;
    this.#open();
  }

  get status(): LiveStatus {
    return this.#status;
  }

  /** Tries at once, for a person who will not wait. */
  retry(): void {
    if (this.#closed || this.#timer === null) return;
    this.#timer.cancel();
    this.#timer = null;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#stale?.cancel();
    this.#end();
  }

  #open(): void {
    this.#timer = null;
    const query = new URLSearchParams({ include: 'fleet' });
    if (this.#lastId !== '') query.set('last_event_id', this.#lastId);
    if (this.#useSse) this.#openSse(`${this.#base}${path}?${query}`);
    else this.#openSocket(`${this.#base.replace(/^http/, 'ws')}${path}?${query}`);
  }

  #openSocket(url: string): void {
    const socket = new WebSocket(url, 'reeve.v1.json');
    let openedAt: number | null = null;
    this.#end = () => socket.close();
    socket.onopen = () => {
      openedAt = now();
      this.#opened();
    };
    socket.onmessage = ({ data }) => this.#take(String(data));
    socket.onclose = () => {
      socket.onmessage = null;
      void this.#lost(openedAt, openedAt === null);
    };
  }

  #openSse(url: string): void {
    const stop = new AbortController();
    let openedAt: number | null = null;
    this.#end = () => stop.abort();
    const read = async (): Promise<void> => {
      const response = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: stop.signal });
      if (!response.ok || !response.body) return;
      openedAt = now();
      this.#opened();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new SseReader({ event: (data, id) => this.#take(data, id), comment: () => undefined });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        parser.take(value);
      }
    };
    read()
      .catch(() => undefined)
      .finally(() => void this.#lost(openedAt, false));
  }

  #opened(): void {
    this.#stale?.cancel();
    this.#stale = null;
    this.#say({ state: 'live', since: null, nextTry: null });
  }

  #take(text: string, id?: string): void {
    const frame = JSON.parse(text) as { readonly type?: unknown; readonly id?: unknown };
    const seen = id ?? frame.id;
    if (typeof seen === 'string' && seen !== '') this.#lastId = seen;
    if (typeof frame.type === 'string') this.#listener.frame(frame as { type: string });
  }

  /** Asks who we are before anything is said: a session that ended needs a person, not another try. */
  async #lost(openedAt: number | null, neverOpened: boolean): Promise<void> {
    if (this.#closed) return;
    const settled = openedAt !== null && now() - openedAt > settledMs;
    this.#failures = settled ? 0 : this.#failures + 1;
    const answer = await fetch(`${this.#base}/api/v1/auth/me`).then(
      ({ status }) => status,
      () => 0,
    );
    if (this.#closed) return;
    if (answer === 401) {
      this.#say({ state: 'signed_out', since: now(), nextTry: null });
      this.#closed = true;
      return;
    }
    // The hub is there and the WebSocket is not: something in between does not let it through.
    if (answer === 200 && neverOpened && this.#failures > 1) this.#useSse = !this.#useSse;
    if (settled && answer === 200) {
      this.#open();
      return;
    }
    const wait = jittered(Math.min(maxWaitMs, firstWaitMs * 2 ** Math.max(0, this.#failures - 1)));
    const since = this.#status.since ?? now();
    const state = this.#status.state === 'stale' ? 'stale' : 'reconnecting';
    this.#say({ state, since, nextTry: now() + wait });
    this.#stale ??= after(staleMs, () => {
      if (this.#status.state === 'reconnecting') this.#say({ ...this.#status, state: 'stale' });
    });
    this.#timer = after(wait, () => this.#open());
  }

  #say(status: LiveStatus): void {
    this.#status = status;
    this.#listener.status(status);
  }
}

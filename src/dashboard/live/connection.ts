// One connection to the dashboard stream: WebSocket first, server-sent events second, back by itself after what it has
// seen. Runs in a SharedWorker, or in the page where there is none.
import { browserClock, type Clock, jittered, type Timer } from '../lib/browser.ts';
import { SilenceTimer } from './silence.ts';
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
/** A hub that is back is heard within 5 s: the wait, and the time to connect. */
const maxWaitMs = 4_000;
/** The question who we are is given up after so long. */
const maxAnswerMs = 5_000;
/** A connection that ends sooner than this counts as a failure. */
const settledMs = 5_000;
/** After so long without a connection what is shown is called stale; after a silence it is so at once. */
const staleMs = 8_000;

/** How a try ended. Times in epoch milliseconds. */
interface Loss {
  /** Null: it was never open. */
  readonly openedAt: number | null;
  /** A WebSocket that could not be opened. */
  readonly isRefused: boolean;
  /** When the last byte came, where nothing came after it for too long; null: it ended otherwise. */
  readonly silentSince: number | null;
}

export class LiveConnection {
  readonly #listener: LiveListener;
  readonly #base: string;
  readonly #clock: Clock;
  #status: LiveStatus = { state: 'connecting', since: null, nextTry: null };
  #lastId = '';
  #failures = 0;
  /** True once a WebSocket could not be opened although the hub answers. */
  #useSse = false;
  #timer: Timer | null = null;
  #stale: Timer | null = null;
  /** Whether the connection that is open carries messages of that kind. */
  #hasKeepalives = false;
  #cut: () => void = () => undefined;
  #closed = false;

  /**
   * @param base the origin of the hub
   * @param clock default: the browser's
   */
  constructor(base: string, listener: LiveListener, clock: Clock = browserClock) {
    this.#base = base;
    this.#listener = listener;
    this.#clock = clock;
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
    this.#cut();
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
    const attempt = this.#begin(() => socket.close());
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      attempt.open();
    };
    socket.onmessage = ({ data }) => {
      attempt.hear();
      this.#take(String(data));
    };
    socket.onclose = () => {
      socket.onmessage = null;
      attempt.end(!isOpen);
    };
  }

  #openSse(url: string): void {
    const stop = new AbortController();
    const attempt = this.#begin(() => stop.abort());
    const read = async (): Promise<void> => {
      const response = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: stop.signal });
      if (!response.ok || !response.body) return;
      attempt.open();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new SseReader({ event: (data, id) => this.#take(data, id), comment: () => undefined });
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        attempt.hear();
        parser.take(value);
      }
    };
    read()
      .catch(() => undefined)
      .finally(() => attempt.end(false));
  }

  /** One try, which ends once: by itself, by a silence, or by `#cut`. */
  #begin(cut: () => void) {
    let openedAt: number | null = null;
    let isOver = false;
    const end = (loss: Pick<Loss, 'isRefused' | 'silentSince'>): void => {
      if (isOver) return;
      isOver = true;
      silence.stop();
      void this.#lost({ openedAt, ...loss });
    };
    const silence = new SilenceTimer(this.#clock, (lastHeardAt) => {
      // The socket of a hub that stands still closes when that answers: nobody waits for it.
      end({ isRefused: openedAt === null, silentSince: openedAt === null ? null : lastHeardAt });
      cut();
    });
    this.#cut = () => {
      isOver = true;
      silence.stop();
      cut();
    };
    return {
      open: (): void => {
        openedAt = this.#clock.now();
        silence.open();
        this.#opened();
      },
      hear: (): void => silence.hear(),
      end: (isRefused: boolean): void => end({ isRefused, silentSince: null }),
    };
  }

  #opened(): void {
    this.#stale?.cancel();
    this.#stale = null;
    this.#hasKeepalives = false;
    this.#say({ state: 'live', since: null, nextTry: null });
  }

  #take(text: string, id?: string): void {
    const frame = JSON.parse(text) as { readonly type?: unknown; readonly id?: unknown };
    if (frame.type === 'keepalive') {
      this.#hasKeepalives = true;
      return;
    }
    const seen = id ?? frame.id;
    if (typeof seen === 'string' && seen !== '') this.#lastId = seen;
    if (typeof frame.type === 'string') this.#listener.frame(frame as { type: string });
  }

  /** Asks who we are before a try follows: a session that ended needs a person, not another try. */
  async #lost({ openedAt, isRefused, silentSince }: Loss): Promise<void> {
    if (this.#closed) return;
    const settled = openedAt !== null && this.#clock.now() - openedAt > settledMs;
    this.#failures = settled ? 0 : this.#failures + 1;
    if (silentSince !== null) {
      this.#say({ state: 'stale', since: silentSince, nextTry: null });
      // A node of an older version: its WebSockets carry pings alone, its event streams comments.
      if (!this.#hasKeepalives) this.#useSse = true;
    }
    const answer = await this.#askWho();
    if (this.#closed) return;
    if (answer === 401) {
      this.#say({ state: 'signed_out', since: this.#clock.now(), nextTry: null });
      this.#closed = true;
      return;
    }
    // The hub is there and the WebSocket is not: something in between does not let it through.
    if (answer === 200 && isRefused && this.#failures > 1) this.#useSse = !this.#useSse;
    if (settled && answer === 200) {
      this.#open();
      return;
    }
    const wait = jittered(Math.min(maxWaitMs, firstWaitMs * 2 ** Math.max(0, this.#failures - 1)));
    const since = this.#status.since ?? this.#clock.now();
    const state = this.#status.state === 'stale' ? 'stale' : 'reconnecting';
    this.#say({ state, since, nextTry: this.#clock.now() + wait });
    this.#stale ??= this.#clock.after(staleMs, () => {
      if (this.#status.state === 'reconnecting') this.#say({ ...this.#status, state: 'stale' });
    });
    this.#timer = this.#clock.after(wait, () => this.#open());
  }

  /** The status of the answer; 0: none came in time. */
  async #askWho(): Promise<number> {
    const stop = new AbortController();
    const timer = this.#clock.after(maxAnswerMs, () => stop.abort());
    const answer = await fetch(`${this.#base}/api/v1/auth/me`, { signal: stop.signal }).then(
      ({ status }) => status,
      () => 0,
    );
    timer.cancel();
    return answer;
  }

  #say(status: LiveStatus): void {
    this.#status = status;
    this.#listener.status(status);
  }
}

// One connection to the dashboard stream: a WebSocket, or server-sent events as the fallback. It reconnects after the
// latest received position. It runs in a SharedWorker, or in the page if the browser has none.
import type { ParserCallbacks } from 'eventsource-parser';
import { browserClock, type Clock, jittered, type Timer } from '../lib/browser.ts';
import { readEvents } from '../lib/event-stream.ts';
import { SilenceTimer } from './silence.ts';

/** `reconnecting` becomes `stale` after a while. `signed_out` is final. */
export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'stale' | 'signed_out';

export interface LiveStatus {
  readonly state: LiveState;
  /** Time of the latest byte; null while live. */
  readonly since: number | null;
  /** Time of the next attempt; null while live or during an attempt. */
  readonly nextTry: number | null;
}

export interface LiveListener {
  frame(frame: { readonly type: string }): void;
  status(status: LiveStatus): void;
}

const path = '/api/v1/stream/dashboard';
const firstWaitMs = 500;
/** Longest delay before an attempt, in milliseconds. With the time to connect, a hub is live again within 5 s. */
const maxWaitMs = 4_000;
/** Time limit for the check of the session, in milliseconds. */
const maxAnswerMs = 5_000;
/** A connection that ends within this time counts as failed. Milliseconds. */
const settledMs = 5_000;
/** A shorter loss stays out of sight: a change of roles ends the connection and opens another one. Milliseconds. */
const graceMs = 1_000;
/** The page is stale after this time without a connection, in milliseconds. After a silence it is stale at once. */
const staleMs = 8_000;

/** The end of an attempt. Times are epoch milliseconds. */
interface Loss {
  /** Null if the connection was never open. */
  readonly openedAt: number | null;
  /** A WebSocket that could not be opened. */
  readonly isRefused: boolean;
  /** Time of the latest byte before a silence ended the connection; null if the end had another cause. */
  readonly silentSince: number | null;
}

export class LiveConnection {
  readonly #listener: LiveListener;
  readonly #base: string;
  readonly #clock: Clock;
  #status: LiveStatus = { state: 'connecting', since: null, nextTry: null };
  #lastId = '';
  #failures = 0;
  /** True after a WebSocket failed although the hub answers. */
  #useSse = false;
  #timer: Timer | null = null;
  /** Time of the first loss since the latest open connection; null before one. */
  #lostAt: number | null = null;
  /** Since that loss. */
  #lossTimers: readonly Timer[] = [];
  /** True if the open connection has sent a keepalive. */
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

  /** Starts an attempt at once, on a person's request. */
  retry(): void {
    if (this.#closed || this.#timer === null) return;
    this.#timer.cancel();
    this.#timer = null;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#endLoss();
    this.#cut();
  }

  #open(): void {
    this.#timer = null;
    const query = new URLSearchParams({ include: 'fleet,tools,assignments,stats' });
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
      const onEvent: ParserCallbacks['onEvent'] = ({ data, id = '' }) => this.#take(data, id);
      await readEvents(response.body, { onEvent }, attempt.hear);
    };
    read()
      .catch(() => undefined)
      .finally(() => attempt.end(false));
  }

  /** One attempt. It ends once: by itself, by a silence, or by `#cut`. */
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
      // The socket of a frozen hub closes only when the hub continues, so nothing waits for it.
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
    this.#endLoss();
    this.#hasKeepalives = false;
    this.#say({ state: 'live', since: null, nextTry: null });
  }

  #take(text: string, id?: string): void {
    const frame = JSON.parse(text) as { readonly type?: unknown; readonly id?: unknown };
    if (frame.type === 'keepalive') {
      this.#hasKeepalives = true;
      return;
    }
    const eventId = id ?? frame.id;
    if (typeof eventId === 'string' && eventId !== '') this.#lastId = eventId;
    if (typeof frame.type === 'string') this.#listener.frame(frame as { type: string });
  }

  /** Checks the session before the next attempt: after its end, only a sign-in helps. */
  async #lost({ openedAt, isRefused, silentSince }: Loss): Promise<void> {
    if (this.#closed) return;
    const settled = openedAt !== null && this.#clock.now() - openedAt > settledMs;
    this.#failures = settled ? 0 : this.#failures + 1;
    if (silentSince !== null) {
      this.#say({ state: 'stale', since: silentSince, nextTry: null });
      // A proxy may hold back what a WebSocket carries.
      if (!this.#hasKeepalives) this.#useSse = true;
    }
    const since = this.#beginLoss();
    const answer = await this.#askWho();
    if (this.#closed) return;
    if (answer === 401) {
      this.#endLoss();
      this.#say({ state: 'signed_out', since: this.#clock.now(), nextTry: null });
      this.#closed = true;
      return;
    }
    // The hub answers but the WebSocket fails: a proxy blocks it.
    if (answer === 200 && isRefused && this.#failures > 1) this.#useSse = !this.#useSse;
    if (settled && answer === 200) {
      this.#open();
      return;
    }
    const wait = jittered(Math.min(maxWaitMs, firstWaitMs * 2 ** Math.max(0, this.#failures - 1)));
    const state = this.#status.state === 'stale' ? 'stale' : 'reconnecting';
    this.#say({ state, since: this.#status.since ?? since, nextTry: this.#clock.now() + wait });
    this.#timer = this.#clock.after(wait, () => this.#open());
  }

  /**
   * Starts the timers of a loss, unless they run: the check of the session and the next attempt may each take seconds.
   * Returns the time of the loss.
   */
  #beginLoss(): number {
    if (this.#lostAt !== null) return this.#lostAt;
    const since = this.#clock.now();
    this.#lostAt = since;
    this.#lossTimers = [
      this.#clock.after(graceMs, () => {
        if (this.#status.since === null) this.#say({ state: 'reconnecting', since, nextTry: null });
      }),
      this.#clock.after(staleMs, () => {
        if (this.#status.state === 'reconnecting') this.#say({ ...this.#status, state: 'stale' });
      }),
    ];
    return since;
  }

  #endLoss(): void {
    for (const timer of this.#lossTimers) timer.cancel();
    this.#lostAt = null;
  }

  /** Status of the answer, 0 without one in time. */
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

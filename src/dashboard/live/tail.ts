// The live tail: decision events as the hub stores them, over one stream that the browser's session opens. It goes on
// after what it has seen; what the hub can no longer send again is a gap, and stays one in the list.
import type { z } from 'zod';
import type { decisionEvent } from '../../api/hosted/events.ts';
import { sessionEnded } from '../lib/api.ts';
import { after, browserClock, jittered, now, type Timer } from '../lib/browser.ts';
import { SilenceTimer } from './silence.ts';
import { SseReader } from './sse.ts';

export type TailEvent = z.output<typeof decisionEvent>;

/** A line of the tail: an event, or where some are missing. */
export type TailRow =
  | { readonly kind: 'event'; readonly id: string; readonly event: TailEvent }
  | { readonly kind: 'gap'; readonly id: string; readonly at: number };

export type TailState = 'connecting' | 'live' | 'reconnecting' | 'refused';

export interface TailListener {
  /** Newest last. */
  rows(batch: readonly TailRow[]): void;
  /** `why` when the hub refused it. */
  state(state: TailState, why: string | null): void;
}

const batchMs = 100;
/** From so many rows a second on nobody reads them one by one: they come in larger batches. */
const fast = { perSecond: 500, batchMs: 400 };
const firstWaitMs = 500;
const maxWaitMs = 4_000;
/** Rows of one batch; what comes faster is a gap. */
const maxBatch = 5_000;

export class Tail {
  readonly #address: string;
  readonly #listener: TailListener;
  readonly #stop = new AbortController();
  #lastId = '';
  #failures = 0;
  /** Nothing is tried again by itself. */
  #isRefused = false;
  #gaps = 0;
  #batch: TailRow[] = [];
  #flush: Timer | null = null;
  /** How long rows are gathered before they are handed on. */
  #waitMs = batchMs;
  #retry: Timer | null = null;

  /** @param query filters of the stream, without a question mark */
  constructor(query: string, listener: TailListener) {
    this.#address = `/v1/events/stream?${query}`;
    this.#listener = listener;
    void this.#open();
  }

  close(): void {
    this.#stop.abort();
    this.#flush?.cancel();
    this.#retry?.cancel();
  }

  /** Tries at once: the hub is known to answer again, or whom it refused has signed in anew. */
  retry(): void {
    if (this.#retry === null && !this.#isRefused) return;
    this.#retry?.cancel();
    void this.#open();
  }

  async #open(): Promise<void> {
    this.#retry = null;
    this.#isRefused = false;
    const attempt = new AbortController();
    const silence = new SilenceTimer(browserClock, () => attempt.abort());
    const from = this.#lastId === '' ? '' : `&last_event_id=${encodeURIComponent(this.#lastId)}`;
    try {
      const response = await fetch(`${this.#address}${from}`, {
        headers: { Accept: 'text/event-stream', 'X-Requested-With': 'reeve-console' },
        signal: AbortSignal.any([this.#stop.signal, attempt.signal]),
      });
      const { status, body } = response;
      if (status >= 400 && status < 500 && status !== 429) {
        this.#isRefused = true;
        if (status === 401) sessionEnded();
        const problem: { readonly detail?: unknown } = await response.json().catch(() => ({}));
        this.#listener.state(
          'refused',
          String(
            problem.detail ?? `The hub returned the status ${status}. Try again, or ask the hub operators.`,
          ),
        );
        return;
      }
      if (response.ok && body) {
        this.#failures = 0;
        this.#listener.state('live', null);
        silence.open();
        await this.#read(body, silence);
      }
    } catch {
      // The connection broke: the next try says more.
    } finally {
      silence.stop();
    }
    if (this.#stop.signal.aborted) return;
    this.#failures += 1;
    this.#listener.state('reconnecting', null);
    const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** (this.#failures - 1));
    this.#retry = after(jittered(wait), () => void this.#open());
  }

  async #read(body: NonNullable<Response['body']>, silence: SilenceTimer): Promise<void> {
    const parser = new SseReader({
      event: (data, id) => {
        if (id !== '') this.#lastId = id;
        const event = JSON.parse(data) as TailEvent;
        this.#add({ kind: 'event', id: event.id, event });
      },
      comment: (text) => {
        if (text === 'gap') this.#add(this.#gap());
      },
    });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      silence.hear();
      parser.take(value);
    }
  }

  #gap(): TailRow {
    this.#gaps += 1;
    return { kind: 'gap', id: `gap ${this.#gaps}`, at: now() };
  }

  #add(row: TailRow): void {
    if (this.#batch.length >= maxBatch) this.#batch = [this.#gap()];
    this.#batch.push(row);
    this.#flush ??= after(this.#waitMs, () => {
      const batch = this.#batch;
      this.#batch = [];
      this.#flush = null;
      this.#waitMs = (batch.length * 1000) / this.#waitMs >= fast.perSecond ? fast.batchMs : batchMs;
      this.#listener.rows(batch);
    });
  }
}

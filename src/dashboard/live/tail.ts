// The live tail: a stream of decision events, in the order in which the hub stores them. It reconnects after the latest
// received event. Events that the hub can no longer send appear as a gap in the list.
import type { ParserCallbacks } from 'eventsource-parser';
import type { z } from 'zod';
import type { decisionEvent } from '../../event/hosted/event.ts';
import { sessionEnded } from '../lib/api.ts';
import { after, browserClock, jittered, now, type Timer } from '../lib/browser.ts';
import { readEvents } from '../lib/event-stream.ts';
import { SilenceTimer } from './silence.ts';

export type TailEvent = z.output<typeof decisionEvent>;

/** A row of the tail: an event, or a gap. */
export type TailRow =
  | { readonly kind: 'event'; readonly id: string; readonly event: TailEvent }
  | { readonly kind: 'gap'; readonly id: string; readonly at: number };

export type TailState = 'connecting' | 'live' | 'reconnecting' | 'refused';

export interface TailListener {
  /** Receives rows, the newest last. */
  rows(batch: readonly TailRow[]): void;
  /** `why` is the hub's reason for a refusal. */
  state(state: TailState, why: string | null): void;
}

const batchMs = 100;
/** Above this rate nobody reads single rows, so batches are larger and rarer. */
const fast = { perSecond: 500, batchMs: 400 };
const firstWaitMs = 500;
const maxWaitMs = 4_000;
/** Maximum rows in a batch. More of them become a gap. */
const maxBatch = 5_000;

export class Tail {
  readonly #address: string;
  readonly #listener: TailListener;
  readonly #stop = new AbortController();
  readonly #parsed: ParserCallbacks = {
    onEvent: ({ data, id }) => {
      if (id) this.#lastId = id;
      const event = JSON.parse(data) as TailEvent;
      this.#add({ kind: 'event', id: event.id, event });
    },
    onComment: (text) => {
      if (text === 'gap') this.#add(this.#gap());
    },
  };
  #lastId = '';
  #failures = 0;
  /** The hub refused the stream, so there is no automatic retry. */
  #isRefused = false;
  #gaps = 0;
  #batch: TailRow[] = [];
  #flush: Timer | null = null;
  /** Time for which rows are collected for a batch, in milliseconds. */
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

  /** Reconnects at once: the hub answers again, or the person signed in again. */
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
        await readEvents(body, this.#parsed, () => silence.hear());
      }
    } catch {
      // The connection broke. The next attempt shows the reason.
    } finally {
      silence.stop();
    }
    if (this.#stop.signal.aborted) return;
    this.#failures += 1;
    this.#listener.state('reconnecting', null);
    const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** (this.#failures - 1));
    this.#retry = after(jittered(wait), () => void this.#open());
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

// Delivers records to the hub in batches, in order: held while the hub is away, counted when there is no room.
// Optionally kept on disk (spool).
import { type Clock, systemClock, type Timer } from '../clock.ts';
import {
  BufferFullError,
  EventsRejectedError,
  HubConnectionError,
  HubResponseError,
  type OnError,
} from '../failure.ts';
import { type AuditRecord, toWire, type WireEvent } from '../record.ts';
import type { Sink } from './sink.ts';
import { Spool } from './spool.ts';

/** Report to the hub about the contracts that an agent brings itself. */
export interface AgentManifest {
  readonly agentId: string;
  readonly policyVersion: string;
  readonly contracts: readonly {
    readonly id: string;
    readonly type: string;
    readonly tool: string | readonly string[];
    readonly mode: string;
  }[];
}

export interface ServerSinkOptions {
  /**
   * Sends one batch; `hub.postEvents`. A list in the answer names the events that the hub does not store. The signal
   * aborts when `close` waits no longer.
   */
  readonly post: (
    events: readonly WireEvent[],
    manifest?: AgentManifest,
    signal?: AbortSignal,
  ) => Promise<unknown>;
  readonly agentId: string;
  /** The bundle that decided, at the time of the record. */
  readonly bundleName?: () => string | null;
  /** Sent with the next batch whenever its policy version has changed. */
  readonly manifest?: () => AgentManifest | null;
  /** Default 50. */
  readonly batchSize?: number;
  /** Milliseconds; default 5,000. */
  readonly flushInterval?: number;
  /** Default 10,000. */
  readonly maxBufferSize?: number;
  /** Keeps unsent events in this file; `emit` then resolves when the event is on disk. One process per file. */
  readonly spoolFile?: string;
  /** Milliseconds that `close` waits for the hub to take a batch; default 8,000. */
  readonly closeTimeout?: number;
  readonly clock?: Clock;
  readonly onError?: OnError;
}

interface Held {
  readonly event: WireEvent;
  readonly spooled: boolean;
}

export const defaultCloseTimeout = 8000;

/** The hub will never take these bodies; trying again cannot help. */
const refusals = new Set([400, 413, 422]);

export class ServerSink implements Sink {
  /** New events lost because the buffer was full. */
  dropped = 0;
  /** Events that the hub does not store: malformed, or of an agent that the key is not bound to. */
  refused = 0;
  readonly #options: ServerSinkOptions;
  readonly #clock: Clock;
  readonly #batchSize: number;
  readonly #interval: number;
  readonly #spool: Spool | null;
  readonly #ready: Promise<void>;
  #held: Held[] = [];
  /** Events on their way into the spool. */
  #arriving = 0;
  #timer: Timer | null = null;
  #flushing: Promise<void> | null = null;
  #manifestSent: string | null = null;
  /** The last flush failed: only the timer tries again, not every event. */
  #failing = false;
  #closed = false;
  /** Ends the batch that is on its way. */
  #sending = new AbortController();
  /** Runs out when a close waits too long for the hub to take a batch. */
  #patience: Timer | null = null;
  /** It has run out: nothing more is sent. */
  #late: HubConnectionError | null = null;
  /** A flush has thrown the failure to read the spool. */
  #isUnreadThrown = false;

  constructor(options: ServerSinkOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#batchSize = Math.max(1, options.batchSize ?? 50);
    this.#interval = options.flushInterval ?? 5000;
    this.#spool = options.spoolFile === undefined ? null : new Spool(options.spoolFile);
    this.#ready = this.#replay();
    // Callers of `emit` and `flush` get the failure.
    this.#ready.catch(() => {});
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Events waiting to be sent. */
  get size(): number {
    return this.#held.length + this.#arriving;
  }

  /**
   * Takes the record; sending happens behind it.
   * @throws BufferFullError for a record that is lost to the hub; failures of the spool, which leave the record in
   *   memory only
   */
  async emit(record: AuditRecord): Promise<void> {
    if (this.#closed) throw new Error('the server sink is closed');
    const { agentId, bundleName, maxBufferSize = 10_000 } = this.#options;
    if (this.size >= maxBufferSize) {
      this.dropped += 1;
      throw new BufferFullError(maxBufferSize);
    }
    const event = toWire(record, agentId, bundleName?.() ?? null);
    this.#arriving += 1;
    let spooled = false;
    try {
      if (this.#spool) {
        await this.#ready;
        await this.#spool.append(JSON.stringify(event));
        spooled = true;
      }
    } finally {
      this.#arriving -= 1;
      this.#held.push({ event, spooled });
      this.#schedule();
    }
  }

  /**
   * Sends all that is held; stops at the first failure, keeps what was not taken, and throws it. A spool that cannot be
   * read is thrown once, after what memory holds was sent.
   */
  async flush(): Promise<void> {
    const unread = await this.#ready.then(
      () => null,
      (failure: unknown) => ({ failure }),
    );
    this.#flushing ??= this.#send().finally(() => {
      this.#flushing = null;
      // An event may have come between the last look and now.
      if (this.#held.length > 0) this.#schedule();
    });
    await this.#flushing;
    if (!unread || this.#isUnreadThrown) return;
    this.#isUnreadThrown = true;
    throw unread.failure;
  }

  /**
   * Flushes for as long as the hub takes a batch within `closeTimeout`, then releases the file and the timer. Throws
   * when events are left (they stay in the spool, if there is one).
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#waitOn();
    try {
      await this.#spool?.settled();
      await this.#flushing?.catch(() => {});
      await this.flush();
    } finally {
      this.#patience?.cancel();
      this.#timer?.cancel();
      await this.#spool?.close();
    }
  }

  #waitOn(): void {
    const { closeTimeout: ms = defaultCloseTimeout } = this.#options;
    this.#patience?.cancel();
    this.#patience = this.#clock.after(
      ms,
      () => {
        this.#late = new HubConnectionError('sending audit events', new Error(`no answer within ${ms} ms`));
        this.#sending.abort(this.#late);
      },
      true,
    );
  }

  async #replay(): Promise<void> {
    if (!this.#spool) return;
    const lines = await this.#spool.open();
    const batch: Held[] = [];
    for (const line of lines) {
      const event = readLine(line);
      // A damaged line keeps its place, so that acknowledgements count right.
      if (event) batch.push({ event, spooled: true });
      else batch.push({ event: damaged, spooled: true });
    }
    this.#held = [...batch, ...this.#held];
    if (batch.length > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#closed || this.#flushing) return;
    if (this.#held.length >= this.#batchSize && !this.#failing) this.#flushBehind();
    else if (!this.#timer) this.#flushIn(this.#interval);
  }

  #flushIn(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = null;
      this.#flushBehind();
    });
  }

  #flushBehind(): void {
    this.flush().catch((failure: unknown) => this.#options.onError?.(failure, 'sending audit events'));
  }

  async #send(): Promise<void> {
    let size = this.#batchSize;
    try {
      while (this.#held.length > 0) {
        const batch = this.#held.slice(0, size);
        try {
          await this.#post(batch.map((item) => item.event).filter((event) => event !== damaged));
          size = Math.min(this.#batchSize, size * 2);
        } catch (failure) {
          if (!(failure instanceof HubResponseError) || !refusals.has(failure.status)) throw failure;
          // Halving finds the event that spoils the batch, so that it cannot hold up the others for ever.
          size = Math.ceil(batch.length / 2);
          if (batch.length > 1) continue;
          size = this.#batchSize;
          this.refused += 1;
          this.#options.onError?.(failure, 'the hub refused an audit event');
        }
        this.#held.splice(0, batch.length);
        if (this.#patience) this.#waitOn();
        await this.#acknowledge(batch.filter((item) => item.spooled).length);
      }
      this.#failing = false;
    } catch (failure) {
      this.#failing = true;
      const retryAfterMs = failure instanceof HubResponseError ? (failure.retryAfter ?? 0) * 1000 : 0;
      if (!this.#closed) this.#flushIn(Math.max(this.#interval, retryAfterMs));
      throw failure;
    }
  }

  /** The hub has the events: a spool that could not let them go costs a repeat after a restart, and nothing now. */
  async #acknowledge(count: number): Promise<void> {
    await this.#spool
      ?.acknowledge(count)
      .catch((failure: unknown) => this.#options.onError?.(failure, 'removing sent events from the spool'));
  }

  async #post(events: readonly WireEvent[]): Promise<void> {
    if (events.length === 0) return;
    const manifest = this.#options.manifest?.() ?? null;
    let answer: unknown;
    if (manifest && manifest.policyVersion !== this.#manifestSent) {
      answer = await this.#postUntilEnd(events, manifest);
      this.#manifestSent = manifest.policyVersion;
    } else answer = await this.#postUntilEnd(events);
    if (!Array.isArray(answer) || answer.length === 0) return;
    this.refused += answer.length;
    this.#options.onError?.(new EventsRejectedError(answer), 'sending audit events');
  }

  #postUntilEnd(events: readonly WireEvent[], manifest?: AgentManifest): Promise<unknown> {
    if (this.#late) return Promise.reject(this.#late);
    this.#sending = new AbortController();
    const { signal } = this.#sending;
    return new Promise((resolve, reject) => {
      // Not every function heeds its signal.
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#options.post(events, manifest, signal).then(resolve, reject);
    });
  }
}

const damaged: WireEvent = {
  call_id: '',
  agent_id: '',
  tool_name: '',
  verdict: '',
  mode: '',
  timestamp: '',
  payload: {},
};

function readLine(line: string): WireEvent | null {
  try {
    const event = JSON.parse(line) as WireEvent;
    return typeof event?.call_id === 'string' && typeof event.verdict === 'string' ? event : null;
  } catch {
    return null;
  }
}

// The event loop's end of one store thread: bounded queue, calls sent once per turn, restart after a crash. Knows no
// noun.

import type { Worker } from 'node:worker_threads';
import { refusalOf } from '../../../src/admission/admission.ts';
import { outageOf } from '../../../src/admission/outages.ts';
import type { HubError } from '../../../src/shared/error.ts';
import type { Clock, Timer } from '../../../src/shared/ports/clock.ts';
import type { Log } from '../../../src/shared/ports/log.ts';
import { errorOf, type Failure, failureOf, unavailable } from '../failure.ts';
import type { Trouble } from '../trouble.ts';
import type { Call, FromThread, ThreadReply, ToThread } from './wire.ts';

const firstRestartMs = 100;
const lastRestartMs = 5000;
/** A thread that has not ended by then is stopped. */
const closingMs = 10_000;

export interface ChannelOptions {
  readonly name: string;
  readonly start: () => Worker;
  readonly clock: Clock;
  readonly log: Log | null;
  /** A call failed because of the file or its disk. Comes with every such call. */
  readonly onTrouble: (trouble: Trouble, cause: string) => void;
  /** Calls waiting for their answer, at most. */
  readonly maxCalls: number;
  /** Bytes of those calls, at most; one call is always let in. */
  readonly maxBytes: number;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HubError) => void;
  readonly bytes: number;
}

export class StoreThread {
  readonly #options: ChannelOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #ready = false;
  #outbox: Call[] = [];
  #transfer: ArrayBuffer[] = [];
  #bytes = 0;
  #nextId = 1;
  #crashes = 0;
  #restart: Timer | null = null;
  #closing: (() => void) | null = null;
  #closed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Starts the thread. @throws HubError when it cannot open the store */
  open(): Promise<void> {
    return new Promise((resolve, reject) => this.#start(resolve, reject));
  }

  /** @throws HubError('overloaded') when as much waits as may wait, 'unavailable' while there is no thread */
  check(bytes: number): void {
    if (this.#closed) throw outageOf('embeddedStoreClosed');
    if (!this.#ready) throw unavailable();
    const { maxCalls, maxBytes } = this.#options;
    const full = this.#waiting.size >= maxCalls || this.#bytes + bytes > maxBytes;
    if (full && this.#waiting.size > 0) {
      throw refusalOf('storeWrites');
    }
  }

  /** @param bytes roughly what the arguments hold */
  async call(
    store: string,
    method: string,
    args: readonly unknown[],
    bytes: number,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<unknown> {
    this.check(bytes);
    const id = this.#nextId++;
    // All calls of one turn of the event loop go as one message.
    if (this.#outbox.push([id, store, method, args]) === 1) setImmediate(() => this.#flush());
    this.#transfer.push(...transfer);
    this.#bytes += bytes;
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, bytes }));
  }

  /** Answers what waits, then ends the thread. Calls that come later are refused. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#restart?.cancel();
    const worker = this.#worker;
    if (!worker) return;
    this.#flush();
    const ended = new Promise<void>((resolve) => {
      this.#closing = resolve;
    });
    worker.postMessage({ kind: 'close' } satisfies ToThread);
    const limit = this.#options.clock.after(closingMs, () => void worker.terminate());
    await ended;
    limit.cancel();
  }

  #start(opened: () => void, failed: (error: HubError) => void): void {
    const worker = this.#options.start();
    this.#worker = worker;
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'replies') this.#settle(message.replies);
      else if (message.kind === 'ready') {
        this.#ready = true;
        opened();
      } else {
        this.#tell(message.failure);
        failed(errorOf(message.failure));
      }
    });
    let reason: unknown = null;
    worker.on('error', (error) => {
      reason = error;
      this.#options.log?.error({ err: error, thread: this.#options.name }, 'a store thread failed');
    });
    worker.on('exit', () => this.#ended(failed, reason));
  }

  #flush(): void {
    const [calls, transfer] = [this.#outbox, this.#transfer];
    [this.#outbox, this.#transfer] = [[], []];
    if (calls.length === 0 || !this.#worker) return;
    try {
      this.#worker.postMessage({ kind: 'calls', calls } satisfies ToThread, transfer);
    } catch (error) {
      // An argument that cannot be copied to another thread: a mistake of the caller.
      const failure = failureOf(error instanceof Error ? error : new Error(String(error)));
      this.#settle(calls.map(([id]) => [id, false, failure]));
    }
  }

  #settle(replies: readonly ThreadReply[]): void {
    for (const [id, ok, value] of replies) {
      const waiting = this.#waiting.get(id);
      if (!waiting) continue;
      this.#waiting.delete(id);
      this.#bytes -= waiting.bytes;
      if (ok) {
        this.#crashes = 0;
        waiting.resolve(value);
      } else {
        this.#tell(value);
        waiting.reject(errorOf(value));
      }
    }
  }

  #tell({ cause, trouble }: Failure): void {
    if (trouble !== null && cause !== null) this.#options.onTrouble(trouble, cause);
    else if (cause !== null)
      this.#options.log?.error({ cause, thread: this.#options.name }, 'the store failed');
  }

  /** The thread is gone: nobody knows what became of the calls that wait. */
  #ended(failed: (error: HubError) => void, reason: unknown): void {
    this.#worker = null;
    const wasReady = this.#ready;
    this.#ready = false;
    this.#outbox = [];
    this.#transfer = [];
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#bytes = 0;
    for (const { reject } of lost) reject(unavailable());
    if (this.#closing) this.#closing();
    else if (this.#closed) return;
    else if (wasReady) this.#startAgain();
    else failed(errorOf(failureOf(reason ?? 'the thread ended')));
  }

  #startAgain(): void {
    const delay = Math.min(firstRestartMs * 2 ** this.#crashes++, lastRestartMs);
    this.#options.log?.warn({ thread: this.#options.name, delay }, 'a store thread restarts');
    this.#restart = this.#options.clock.after(delay, () => {
      if (!this.#closed)
        this.#start(
          () => {},
          () => this.#startAgain(),
        );
    });
  }
}

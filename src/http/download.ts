// A body that is made while it is sent: the next piece is asked for when the connection has taken the one before. Knows
// no socket.

import { HubError } from '../shared/error.ts';
import type { Clock, Timer } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Streamed } from './contract/call.ts';
import type { Session, Sink } from './live/session.ts';

/** A client that takes nothing for so long is cut off. Milliseconds. */
const stalledMs = 30_000;
/** Longest silence of a stream with keepalives, in milliseconds. */
const keepaliveMs = 15_000;

interface DownloadPorts {
  readonly clock: Pick<Clock, 'monotonic' | 'after' | 'every'>;
  readonly log: Log;
}

/** Time between two checks of the right to read, in milliseconds. */
const checkIntervalMs = 1_000;

interface Source extends Pick<Streamed, 'pieces' | 'keepalive' | 'ended'> {
  /**
   * False: the caller's login, role or tenant has ended, and so does the download. Default: true.
   * @throws HubError unavailable
   */
  readonly mayContinue?: () => Promise<boolean>;
}

class Download implements Session {
  readonly protocol = null;
  readonly sender = null;
  readonly #streamed: Source;
  readonly #ports: DownloadPorts;
  #sink: Sink | null = null;
  #isOver = false;
  #isSending = false;
  #stalled: Timer | null = null;
  /** Milliseconds of the monotonic clock. */
  #nextCheckAt: number;

  constructor(streamed: Source, ports: DownloadPorts) {
    this.#streamed = streamed;
    this.#ports = ports;
    this.#nextCheckAt = ports.clock.monotonic() + checkIntervalMs;
  }

  attach(to: Sink): void {
    this.#sink = to;
    void this.#send();
  }

  writable(): boolean {
    this.#stalled?.cancel();
    this.#stalled = null;
    void this.#send();
    return true;
  }

  received(): void {}

  pinged(): void {}

  gone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stalled?.cancel();
    this.#streamed.ended();
    // The source may hold something open; nobody waits for its result.
    void this.#streamed.pieces.return?.().catch(() => {});
  }

  /** Sends pieces until the connection is full, or all is sent. */
  async #send(): Promise<void> {
    const sink = this.#sink;
    if (this.#isSending || this.#isOver || !sink) return;
    this.#isSending = true;
    try {
      while (!this.#isOver) {
        const next = await this.#next(sink);
        // After the wait for the piece, which may be long.
        if (!this.#isOver && this.#ports.clock.monotonic() >= this.#nextCheckAt) await this.#requireRight();
        if (this.#isOver) return;
        if (next.done) {
          this.gone();
          sink.end();
        } else if (!this.#write(sink, next.value)) return;
      }
    } catch (err) {
      // The status is out: an answer that ends without its last chunk is how a client learns that it is not whole.
      if (!(err instanceof HubError)) this.#ports.log.error({ err }, 'a download failed');
      this.gone();
      sink.cut();
    } finally {
      this.#isSending = false;
    }
  }

  /** While the store has no answer, the download goes on, as streams do. @throws HubError unauthenticated */
  async #requireRight(): Promise<void> {
    this.#nextCheckAt = this.#ports.clock.monotonic() + checkIntervalMs;
    const mayContinue = await this.#streamed.mayContinue?.().catch((error: unknown) => {
      if (error instanceof HubError) return true;
      throw error;
    });
    if (mayContinue === false) throw new HubError('unauthenticated', 'The caller may not read any more.');
  }

  /** The next piece; until it comes, the connection gets keepalives while it takes them. */
  async #next(sink: Sink): Promise<IteratorResult<string | Uint8Array, unknown>> {
    const { pieces, keepalive } = this.#streamed;
    if (keepalive === null) return pieces.next();
    const silence = this.#ports.clock.every(keepaliveMs, () => {
      if (!this.#isOver && this.#stalled === null) this.#write(sink, keepalive);
    });
    try {
      return await pieces.next();
    } finally {
      silence.cancel();
    }
  }

  /** False when the connection is full: unless it drains in time, it is cut. */
  #write(sink: Sink, piece: string | Uint8Array): boolean {
    this.#stalled?.cancel();
    this.#stalled = null;
    if (sink.write(piece)) return true;
    this.#stalled = this.#ports.clock.after(stalledMs, () => {
      this.gone();
      sink.cut();
    });
    return false;
  }
}

export const createDownload = (streamed: Source, ports: DownloadPorts): Session =>
  new Download(streamed, ports);

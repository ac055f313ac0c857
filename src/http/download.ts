// A body that is made while it is sent: the next piece is asked for when the connection has taken the one before. Knows
// no socket.

import { HubError } from '../shared/error.ts';
import type { Clock, Timer } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Streamed } from './contract/call.ts';
import type { Session, Sink } from './live/session.ts';

/** A client that takes nothing for so long is cut off. Milliseconds. */
const stalledMs = 30_000;

interface DownloadPorts {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}

class Download implements Session {
  readonly protocol = null;
  readonly sender = null;
  readonly #streamed: Pick<Streamed, 'pieces' | 'ended'>;
  readonly #ports: DownloadPorts;
  #sink: Sink | null = null;
  #isOver = false;
  #isSending = false;
  #stalled: Timer | null = null;

  constructor(streamed: Pick<Streamed, 'pieces' | 'ended'>, ports: DownloadPorts) {
    this.#streamed = streamed;
    this.#ports = ports;
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
        const next = await this.#streamed.pieces.next();
        if (this.#isOver) return;
        if (next.done) {
          this.gone();
          sink.end();
        } else if (!sink.write(next.value)) {
          this.#stalled = this.#ports.clock.after(stalledMs, () => {
            this.gone();
            sink.cut();
          });
          return;
        }
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
}

export const createDownload = (streamed: Pick<Streamed, 'pieces' | 'ended'>, ports: DownloadPorts): Session =>
  new Download(streamed, ports);

// A WebSocket as a session's sink, whichever server it is of: pings that are not answered are counted, and once it has
// ended nothing is sent.
import type { ByteBudget } from '../../shared/concurrency/byte-budget.ts';
import { type MessageSize, maxUnanswered, messageSizes } from '../server.ts';
import type { Session, Sink } from './session.ts';

/** @template W the server's own WebSocket */
export abstract class SocketSink<W extends { ping(): unknown }> implements Sink {
  #ws: W | null;
  #unanswered = 0;

  constructor(ws: W) {
    this.#ws = ws;
  }

  write(piece: Uint8Array | string): boolean {
    return this.#ws === null || this.send(this.#ws, piece);
  }

  end(fault?: string): void {
    const ws = this.#ws;
    this.#ws = null;
    if (ws === null) return;
    // 1001: going away, the client is to connect again. 1008: it broke the rules.
    if (fault === undefined) this.close(ws, 1001);
    else this.close(ws, 1008, fault);
  }

  cut(): void {
    const ws = this.#ws;
    this.#ws = null;
    if (ws !== null) this.terminate(ws);
  }

  ping(): boolean {
    if (this.#unanswered >= maxUnanswered) return false;
    this.#unanswered++;
    this.#ws?.ping();
    return true;
  }

  /** False: nothing was asked. */
  answered(): boolean {
    const isAsked = this.#unanswered > 0;
    this.#unanswered = 0;
    return isAsked;
  }

  gone(): void {
    this.#ws = null;
  }

  /** As `write` of a sink, on a socket that has not ended; cuts one whose client is too far behind. */
  protected abstract send(ws: W, piece: Uint8Array | string): boolean;
  protected abstract close(ws: W, code: number, reason?: string): void;
  /** Ends it without a word. */
  protected abstract terminate(ws: W): void;
}

/**
 * The messages that a new socket takes: small ones only when its sender has no room for another half of a large one.
 */
export function messageSizeOf({ sender }: Session, partial: ByteBudget): MessageSize {
  if (sender === null) return 'none';
  return partial.exceeded(sender, messageSizes.large) === null ? 'large' : 'small';
}

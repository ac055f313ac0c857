// A body that is made while it is sent: the next piece is asked for when the connection has taken the one before. Knows
// no socket.

import { HubError } from '../shared/error.ts';
import type { Clock, Timer } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Streamed } from './contract/call.ts';
import type { Session, Sink } from './live/session.ts';

/** A client that takes nothing for so long is cut off. Milliseconds. */
const stalledMs = 30_000;

export function createDownload(
  streamed: Pick<Streamed, 'pieces' | 'ended'>,
  { clock, log }: { readonly clock: Pick<Clock, 'after'>; readonly log: Log },
): Session {
  let sink: Sink | null = null;
  let over = false;
  let asking = false;
  let stalled: Timer | null = null;

  function finish(): void {
    if (over) return;
    over = true;
    stalled?.cancel();
    streamed.ended();
    // The source may hold something open; nobody waits for what it says.
    void streamed.pieces.return?.().catch(() => {});
  }

  /** Sends pieces until the connection is full, or all is sent. */
  async function send(): Promise<void> {
    if (asking || over || !sink) return;
    asking = true;
    try {
      while (!over) {
        const next = await streamed.pieces.next();
        if (over) return;
        if (next.done) {
          finish();
          sink.end();
        } else if (!sink.write(next.value)) {
          stalled = clock.after(stalledMs, () => {
            finish();
            sink?.cut();
          });
          return;
        }
      }
    } catch (err) {
      // The status is out: an answer that ends without its last chunk is how a client learns that it is not whole.
      if (!(err instanceof HubError)) log.error({ err }, 'a download failed');
      finish();
      sink.cut();
    } finally {
      asking = false;
    }
  }

  return {
    protocol: null,
    sender: null,
    attach(to) {
      sink = to;
      void send();
    },
    writable() {
      stalled?.cancel();
      stalled = null;
      void send();
      return true;
    },
    received() {},
    pinged() {},
    gone: finish,
  };
}

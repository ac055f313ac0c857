// Unprocessed messages from one WebSocket.
import type { Sender } from '../../admission/socket-rates.ts';

export interface Message {
  readonly bytes: Uint8Array;
  readonly binary: boolean;
}

/** Made with the first message: most streams send none. */
export interface IncomingMessages {
  readonly sender: Sender;
  readonly waiting: Message[];
  waitingBytes: number;
  /** Messages that are handled now. */
  inFlight: number;
  /** True while what waits is being handed over. */
  working: boolean;
}

// State that few streams have, or that a stream has for a moment: apart, because a node keeps tens of thousands.

import type { Position } from '../../shared/position.ts';
import type { PlacedFrame } from './encoded.ts';
import type { IncomingMessages } from './incoming.ts';

/** Stored events that a stream missed, while it is sent them between its other frames (missed-events.ts). */
export interface PendingEvents {
  /** The highest place of the events that the stream was sent. */
  readonly place: number;
  /** The position of the last other frame that it was sent. */
  position: Position;
  /** A frame that comes during the read, in the form that the stream may get now; null: not now. */
  pass(placed: PlacedFrame): PlacedFrame | null;
  /** Sends the joined stream what it missed. @throws what the store throws */
  send(): Promise<void>;
}

/** State of a stream that is not joined and attached yet. */
export interface Beginning {
  /** The last position that the client reported. */
  readonly lastEventId: string | null;
  /** The registry's count of endings when the caller was identified. */
  readonly revocationSequence: number;
  /** Called when it ended before it was joined; null unless its opening waits for that. */
  prepared: (() => void) | null;
  /** Called when the frames that wait went over their bound, and were dropped; null: the stream ends then. */
  dropped: (() => void) | null;
}

/** State that few streams have. */
export class RareState {
  incoming: IncomingMessages | null = null;
  blockedSince = -1;
  resumed: Set<string> | null = null;
  resumedUntil = 0;
  missed: PendingEvents | null = null;
  replayed: Position | null = null;
  drained: (() => void)[] = [];
  /** True once a frame has assigned its agent a bundle. */
  isReassigned = false;
}

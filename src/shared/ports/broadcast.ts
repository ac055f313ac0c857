// Frames to connected clients and control messages between nodes: one append-only log per audience.
import { hourMs } from '../duration.ts';
import type { Audience, Control, Frame } from '../frame.ts';
import type { Position } from '../position.ts';

/** A frame and its place in its audience's log. */
export interface BroadcastEntry {
  readonly position: Position;
  readonly frame: Frame;
}

/**
 * How long an idempotency key is remembered unless its frame has a time of its own, in milliseconds. Shorter where so
 * many came since that memory would not hold them.
 */
export const idempotencyMs = hourMs;

/** The logs of all audiences, and control messages between nodes. */
export interface Broadcast {
  /**
   * Appends frames, in order, each to its audience's log. Resolves when every one has its position. Cost on the bus is
   * one entry a frame, whatever the number of clients. Repeating a publish repeats the frame: clients see it twice,
   * with two ids. A frame with an idempotency key that its audience has had within that time is left out instead,
   * in the same step: repeating it is safe. The key itself is not delivered, and the bytes of a frame are delivered as
   * they are.
   */
  publish(frames: readonly Frame[]): Promise<void>;
  /**
   * Sends a control message to every node, this one included. At least once. If it rejects, a message about a stored
   * change reaches this node at once. Every node gets `missed` instead, as soon as that can be sent.
   */
  control(message: Control): Promise<void>;
  /**
   * Follows an audience from now on: `deliver` gets each frame once, in log order. Resolves once following, with the
   * log's end: a frame published after that is delivered. Several followers of one audience on a node share one
   * reading.
   * @param lost is called in the place of frames that the log lost before this node read them; what comes next is after
   *   the position
   */
  follow(
    audience: Audience,
    deliver: (placed: BroadcastEntry) => void,
    lost?: (position: Position) => void,
  ): Promise<Following>;
  onControl(listener: (message: Control) => void): void;
  /**
   * The frames after `position`, oldest first, up to the log's end. `gone` when the log no longer reaches back that
   * far, or has never had that position (another epoch).
   */
  since(audience: Audience, position: Position): Promise<readonly BroadcastEntry[] | 'gone'>;
  close(): Promise<void>;
}

/** A log that is being read. */
export interface Following {
  /** The end of the log when following began. */
  readonly position: Position;
  stop(): void;
}

// Membership of the cluster. Every node sends a heartbeat with its note every 1.5 s, and counts as dead after 5 s
// without one. Between heartbeats it sends pulses without content, so that a death is suspected before it is certain.

import type { ClusterFormat } from '../cluster-format.ts';

/** A node that lives. */
export interface Member {
  readonly node: string;
  /** The node's note. */
  readonly note: NodeNote;
  /** Milliseconds since its last heartbeat. */
  readonly ageMs: number;
}

/** A node's note about itself. */
export interface NodeNote extends ClusterFormat {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly shards: readonly number[];
  /** Agents with an open stream there. */
  readonly agents: number;
  /** True if the node is about to stop, and gives its shards back. */
  readonly leaving?: true;
  /** True if the node does not reach the store. */
  readonly lacksStore?: true;
}

/** The nodes of the cluster. */
export interface Membership {
  /** Says that this node lives; answers all that do, this one included, by name. @throws HubError unavailable */
  heartbeat(note: NodeNote): Promise<readonly Member[]>;
  /** The nodes that live, without joining them. @throws HubError unavailable */
  list(): Promise<readonly Member[]>;
  /**
   * Reports that this node lives. Answers nodes that sent pulses and have sent none for `silentMs`: each to one caller,
   * once, until it sends one again. They are probably dead, but one that hangs may be among them. A node that is new or
   * was silent itself a moment ago receives no node: it cannot know. After `leave` it does nothing.
   * @throws HubError unavailable
   */
  pulse(): Promise<readonly string[]>;
  /** This node goes: the others need not wait until it is missed. @throws HubError unavailable */
  leave(): Promise<void>;
}

/** A node that was silent for so long is gone, in milliseconds. */
export const memberMs = 5000;
/** How often a node sends a pulse, and after how long without one it is silent, in milliseconds. */
export const pulseMs = 400;
export const silentMs = 1000;

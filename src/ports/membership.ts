// Who belongs to the cluster: every node says every 1.5 s that it lives, and what it holds. One that is not heard for 5
// s is gone.

export interface Member {
  readonly node: string;
  /** What it said of itself. */
  readonly note: NodeNote;
}

/** What nodes tell each other of themselves. */
export interface NodeNote {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly shards: readonly number[];
  /** Agents with an open stream there. */
  readonly agents: number;
}

export interface Membership {
  /** Says that this node lives; answers all that do, this one included, by name. @throws HubError unavailable */
  heartbeat(note: NodeNote): Promise<readonly Member[]>;
  /** This node goes: the others need not wait until it is missed. @throws HubError unavailable */
  leave(): Promise<void>;
}

/** A node that was not heard for so long is gone, in milliseconds. */
export const memberMs = 5000;

// Notes about the services that the other nodes of a cluster reach. A node that loses one of the two services asks by
// the other one, and so learns whether it alone is cut off.

/** Notes in one service about the other one. */
export interface ReachNotes {
  /** Notes whether this node reaches the other service. @throws HubError unavailable */
  note(node: string, isReached: boolean): Promise<void>;
  /**
   * True if another node noted within the last `withinMs` that it reaches the other service.
   * @throws HubError unavailable
   */
  isReachedElsewhere(node: string, withinMs: number): Promise<boolean>;
}

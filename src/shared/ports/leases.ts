// Leases: which node owns a thing for a few seconds. A lease is time-limited and its epoch rises, which exposes an
// owner that lost it without noticing. Adapters keep promise P15.

/** A thing that a node owns for a while. */
export interface Lease {
  readonly name: string;
  /** Rises with every acquisition by whichever node: the fencing token. Compare it, never count on steps of one. */
  readonly epoch: number;
  /**
   * In milliseconds of the node's monotonic clock: from then on the owner must not act on the lease, unless renewed.
   * Never later than the true end.
   */
  readonly until: number;
}

/** Takes, renews and gives back leases. */
export interface Leases {
  /**
   * Takes those that are free or ended; answers those that this node holds now, in the order asked for. Asking again
   * for one that this node holds renews it under the same epoch: safe to repeat.
   * @throws HubError('unavailable') when the owners cannot be reached; none is sure to be held then
   */
  acquire(names: readonly string[]): Promise<readonly Lease[]>;
  /**
   * Prolongs those that are still held under the same epoch; answers them with their new end. One that is missing is
   * lost, for good.
   * @throws HubError('unavailable') as above: the leases last until they end
   */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /** Frees those that are still held under the same epoch; the others are left alone. Safe to repeat. */
  release(leases: readonly Lease[]): Promise<void>;
}

/** How long a lease lasts after it was taken or renewed, and how often an owner renews it, in milliseconds. */
export const leaseMs = 5000;
export const leaseRenewMs = 1500;

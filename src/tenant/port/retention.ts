// Store port of retention: removes a tenant's old records, a slice at a time.
//
// A decision bundle contains all events and approvals of a run, so a run loses its events together: none goes while the
// run had anything at the cutoff or later, and the same holds for its approvals. A run that loses records is marked in
// the same write (`Run.isTrimmed`), and no bundle is signed for it from then on. Pending approvals always stay, and so
// do the runs that they belong to. Links of the audit chain are not touched.
import type { RetentionCounts, RetentionKind } from '../rules/retention.ts';

export interface RetentionSlice {
  readonly removed: number;
  /** Beginning of the next slice; null when none is left. Opaque. */
  readonly next: string | null;
}

export interface RetentionStore {
  /**
   * How many records of a kind `remove` would take.
   * @throws HubError search_timeout
   */
  count(tenantId: string, kind: RetentionKind, before: number): Promise<number>;
  /**
   * Looks at about `limit` records that the hub received before `before`, and removes those that may go: at least one
   * is looked at. Deliveries count from their end. Safe to repeat, from any place.
   * @param after where the slice before ended; null: the beginning
   */
  remove(
    tenantId: string,
    kind: RetentionKind,
    before: number,
    after: string | null,
    limit: number,
  ): Promise<RetentionSlice>;
  /**
   * Takes the counts of all that `remove` took since the last call; null when that is nothing. Counts survive a crash;
   * where nodes share the store, a crash may lose the count of one slice.
   */
  settle(tenantId: string): Promise<RetentionCounts | null>;
}

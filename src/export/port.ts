// Store port of exports (promise P68): events with their outcomes, and changes of approvals, in the order of commits.
import type { ExportLine, OrderedKind } from './record.ts';

export interface ExportPage {
  /** In order, at most the limit; fewer once they hold `maxPageBytes` of JSON. */
  readonly lines: readonly ExportLine[];
  /** Beginning of the next page: no line is between the last of these and this place. Null: nothing was ever stored. */
  readonly end: string | null;
  /** True when more lines may follow at once. */
  readonly hasMore: boolean;
  /** Number of lines of the kind that the store has removed so far. Never falls. */
  readonly removed: number;
  /** True if at least one of them was behind the place where this page begins. */
  readonly isTrimmed: boolean;
}

/** The order of a kind is total, and no clock decides it. */
export interface ExportStore {
  /**
   * Lines behind a place. A reader that continues from the place of any line gets each later line exactly once: nothing
   * appears before a place that was returned. A line is there at the latest 2 s after its write was acknowledged, or
   * 30 s after the node that wrote it died. The events of the sample run are left out. Lines of its approval are for
   * callers to leave out: it has the same id after a removal, so a store may give them once, or each time.
   * @param after a place of this tenant and kind; null: the beginning
   * @throws HubError bad_request for a place of another store
   */
  list(tenantId: string, kind: OrderedKind, after: string | null, limit: number): Promise<ExportPage>;
}

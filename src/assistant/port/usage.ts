// Store port of what AI assistance used: sums per tenant and day.
import type { AiDay, AiUse } from '../record.ts';

/** Usage of AI assistance. */
export interface AiUsageStore {
  /**
   * Adds one question to its day. A cost that is not known adds nothing, and a day is of unknown cost while no
   * question's was known.
   */
  add(tenantId: string, day: string, use: AiUse): Promise<void>;
  /** The days with questions from `since` on, in order. */
  listDays(tenantId: string, since: string): Promise<readonly AiDay[]>;
  /** Removes days before `before`, of all tenants; returns how many. */
  removeBefore(before: string): Promise<number>;
}

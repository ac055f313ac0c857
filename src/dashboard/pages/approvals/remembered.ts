// Limits a tab's memory for decided and read approvals. A tab may stay open for a week.
import { maxRows } from '../../lib/text.ts';

/** Approvals in that memory: twice the rows that a person can select and decide together. */
export const maxRemembered = 2 * maxRows;

/** The entries with this one as the newest, without the oldest beyond the limit. */
export function withNewest<T>(entries: ReadonlyMap<string, T>, id: string, value: T): ReadonlyMap<string, T> {
  const next = new Map(entries);
  next.delete(id);
  next.set(id, value);
  for (const oldest of next.keys()) {
    if (next.size <= maxRemembered) break;
    next.delete(oldest);
  }
  return next;
}

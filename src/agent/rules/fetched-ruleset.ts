// The document that an agent runs, inferred from its fetches: the one name that it fetched within a day. Pure.
import { dayMs } from '../../shared/duration.ts';

/** The recorded fetches of an agent. Times are epoch milliseconds. */
export interface FetchedRuleset {
  /** The name that it fetched last. */
  readonly bundleName: string;
  readonly at: number;
  /** Until then another name counts too; 0: there was none. */
  readonly otherUntil: number;
}

/** Time for which a fetch counts, in milliseconds. */
export const fetchedMs = dayMs;

/** Merges the records of two nodes about an agent, or a record and a new fetch. */
export function mergedFetches(one: FetchedRuleset | null, other: FetchedRuleset): FetchedRuleset {
  if (one === null) return other;
  const [earlier, later] = one.at <= other.at ? [one, other] : [other, one];
  const sinceOther = earlier.bundleName === later.bundleName ? 0 : earlier.at + fetchedMs;
  return { ...later, otherUntil: Math.max(one.otherUntil, other.otherUntil, sinceOther) };
}

/** The one name that counts; null when none does, or several. */
export const fetchedName = (fetched: FetchedRuleset | null, now: number): string | null =>
  fetched !== null && now < fetched.at + fetchedMs && now >= fetched.otherUntil ? fetched.bundleName : null;

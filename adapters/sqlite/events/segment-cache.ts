// The segment that the writer of events read last, so that what is done event by event reads it once.
import { type EventInput, keyAsOutcome } from '../../../src/event/record.ts';
import { type Database, givenText } from '../database.ts';
import { hourOf, type Place } from '../usage/rows.ts';
import { type Counted, countedIn, positionOf, segmentEventsOf, segmentOf } from './segment.ts';

type CountedEvents = readonly (Counted | null)[];

export type SegmentCache = ReturnType<typeof segmentCache>;

export function segmentCache(db: Database) {
  /** The segment that was read last: a batch that is sent again repeats one event of it after the other. */
  let last: { readonly segment: number; readonly events: readonly (EventInput | null)[] } | null = null;

  /** The verdict and the contract of the event at a place, as the key of an outcome; null when it is gone. */
  function storedKey(place: number): string | null {
    const segment = segmentOf(place);
    if (last?.segment !== segment) last = { segment, events: segmentEventsOf(db, segment) };
    const event = last.events[positionOf(place)];
    return event ? keyAsOutcome(event) : null;
  }

  /** The segment whose counts were read last, for the same reason. */
  let counts: {
    readonly segment: number;
    /** Null for the sample run, which is counted nowhere. */
    readonly place: Place | null;
    readonly events: CountedEvents;
  } | null = null;

  function countsOf(segment: number): NonNullable<typeof counts> {
    if (counts?.segment === segment) return counts;
    const row =
      db.get('SELECT tenant, env, agent, max_ts, sample FROM segments WHERE id = ?', [segment]) ?? [];
    const [tenant, env, agent, ts, sample] = row;
    const hour = hourOf(Number(ts));
    const place = { tenant: Number(tenant), env: String(env), agent: givenText(String(agent)), hour };
    counts = {
      segment,
      place: sample === 1 ? null : place,
      events: countedIn(db, segment),
    };
    return counts;
  }

  /** For the start of every step: rows from an earlier step may be out of date. */
  function forget(): void {
    last = null;
    counts = null;
  }

  const envOf = (segment: number): string | null => {
    const env = db.get('SELECT env FROM segments WHERE id = ?', [segment])?.[0];
    return typeof env === 'string' ? env : null;
  };

  return { storedKey, countsOf, envOf, forget };
}

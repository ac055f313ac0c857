// Stores encoded batches and removes old ones. Runs on the writer; every call is one step, inside the caller's
// transaction.

import type { AuditNote } from '../../src/domain/audit.ts';
import {
  type EventInput,
  type EventOutcome,
  type Ingested,
  keyAsOutcome,
  maxOutcomes,
  outcomeKey,
} from '../../src/domain/event.ts';
import { joinFacts, placedAt, type RunFacts } from '../../src/domain/run.ts';
import { appendNotes } from './audit.ts';
import { type CallIndex, codeOfEntry, placeOfEntry } from './calls.ts';
import { type Database, givenText } from './database.ts';
import {
  callKey,
  type EncodedBatch,
  type EncodedGroup,
  type Report,
  reportOf,
  sessionFacts,
  verdictOfCode,
} from './events-encode.ts';
import { forgetRuns, runWriter } from './runs.ts';
import {
  bodyEvents,
  bodyText,
  type Counted,
  countedIn,
  countedOf,
  outcomesOf,
  placeOf,
  positionOf,
  readRuns,
  readTallies,
  segmentOf,
  summarize,
  tenantNumber,
} from './segment.ts';
import { type RemovedFrom, usageRemover } from './usage-purge.ts';
import { entryOf, hourOf, keyOf, minuteMs, outcomeCounts, type Place, type Removed } from './usage-rows.ts';
import type { UsageWriter } from './usage-write.ts';

type CountedEvents = readonly (Counted | null)[];

/** Most events that one removal takes, however many are asked for: other writes wait meanwhile. */
const removalSlice = 5000;

const insertSegment = `INSERT INTO segments
  (tenant, max_ts, min_ts, received_at, batch, env, agent, events, tallies, names, places, marks, sample, versions)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** What repeats say of runs, joined: a run is written once for a batch. */
class RunReports {
  readonly byAgent = new Map<string, Map<string, RunFacts>>();

  add(agent: string, session: string, facts: RunFacts): void {
    const sessions = entryOf(this.byAgent, agent, () => new Map<string, RunFacts>());
    const before = sessions.get(session);
    sessions.set(session, before ? joinFacts(before, facts) : facts);
  }
}

const nothingTold = () => ({ outcomes: new RunReports(), notes: [] as AuditNote[] });

export function eventWriter(db: Database, calls: CallIndex, usage: UsageWriter) {
  const removeUsage = usageRemover(db, usage);

  const numberOf = (tenantId: string): number =>
    tenantNumber(db, tenantId) ?? db.insert('INSERT INTO tenant_numbers (tenant_id) VALUES (?)', [tenantId]);

  /** The segment that was read last: a batch that is sent again repeats one event of it after the other. */
  let last: { readonly segment: number; readonly events: readonly (EventInput | null)[] } | null = null;

  function storedKey(place: number): string | null {
    const segment = segmentOf(place);
    if (last?.segment !== segment) last = { segment, events: bodyEvents(bodyText(db, segment) ?? '[]') };
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
      db.get('SELECT tenant, env, agent, max_ts, tallies, sample FROM segments WHERE id = ?', [segment]) ??
      [];
    const [tenant, env, agent, ts, tallies, sample] = row;
    const hour = hourOf(Number(ts));
    const place = { tenant: Number(tenant), env: String(env), agent: givenText(String(agent)), hour };
    counts = {
      segment,
      place: sample === 1 ? null : place,
      events: countedIn(db, { id: segment, tallies: String(tallies) }),
    };
    return counts;
  }

  /** Counts a contract that a repeat names: once for its call. */
  function countOutcome(segment: number, position: number, outcome: EventOutcome): void {
    if (outcome.decision_name === null) return;
    const { place, events } = countsOf(segment);
    const event = events[position];
    if (!place || !event || !outcomeCounts(event, outcome)) return;
    const said = db.all('SELECT outcome FROM outcomes WHERE segment = ? AND position = ? ORDER BY id', [
      segment,
      position,
    ]);
    // The last one is the one that was added just now.
    const before = said.slice(0, -1).map(([text]) => JSON.parse(String(text)) as EventOutcome);
    usage.addOutcome(place, event, before, outcome);
  }

  /** What the batch told of its runs by repeats, and for the audit chain. */
  let told: { readonly outcomes: RunReports; readonly notes: AuditNote[] } = nothingTold();

  /** Adds what a repeat says to the stored event, unless it was said before. */
  function addOutcome(entry: number, { outcome, agent, run, note }: Report): void {
    const place = placeOfEntry(entry);
    const key = outcomeKey(outcome.verdict, outcome.decision_name);
    const known = verdictOfCode(codeOfEntry(entry));
    // Only a repeat with the stored verdict needs the stored event.
    if ((known === null || known === outcome.verdict) && storedKey(place) === key) return;
    const segment = segmentOf(place);
    const [count] = db.get('SELECT count(*) FROM outcomes WHERE segment = ? AND position = ?', [
      segment,
      positionOf(place),
    ]) ?? [0];
    if (Number(count) >= maxOutcomes) return;
    const added = db.run(
      'INSERT OR IGNORE INTO outcomes (segment, position, key, outcome) VALUES (?, ?, ?, ?)',
      [segment, positionOf(place), key, JSON.stringify(outcome)],
    );
    if (added === 0) return;
    if (run) told.outcomes.add(agent, run[0], placedAt(run[1], place));
    if (note) told.notes.push(note);
    countOutcome(segment, positionOf(place), outcome);
    const later = db.get('SELECT later FROM segments WHERE id = ?', [segment])?.[0];
    const verdicts = new Set(typeof later === 'string' ? (JSON.parse(later) as string[]) : []);
    verdicts.add(outcome.verdict);
    db.run('UPDATE segments SET outcomes = outcomes + 1, later = ? WHERE id = ?', [
      JSON.stringify([...verdicts]),
      segment,
    ]);
  }

  const runs = runWriter(db);

  /** The group without what is stored already; its positions stay. */
  function withoutKnown(batch: EncodedBatch, group: EncodedGroup, known: ReadonlyMap<number, number>) {
    const given = bodyEvents(Buffer.from(group.body).toString('utf8'));
    for (const [position, entry] of known) {
      const event = given[position];
      if (event) addOutcome(entry, reportOf(event, batch));
    }
    const events = given.map((event, position) => (known.has(position) ? null : event));
    return {
      ...group,
      ...summarize(events),
      runs: sessionFacts(events, batch),
      notes: group.notes.filter(([position]) => !known.has(position)),
      body: jsonBytes(events),
    };
  }

  /** Stores what is new of a group. @param first the batch's first segment, once there is one */
  function storeGroup(tenant: number, batch: EncodedBatch, group: EncodedGroup, first: number | null) {
    const looked = calls.look(tenant, group.calls);
    const kept = looked.known.size === 0 ? group : withoutKnown(batch, group, looked.known);
    if (kept.count === 0) return { segment: null, accepted: 0 };
    const { minTs, maxTs, agent, count, tallies, names, places, marks, versions, body } = kept;
    const { receivedAt, env, sample } = batch;
    const place = [tenant, maxTs, minTs, receivedAt, first, env, agent];
    const summary = [...place, count, tallies, names, places, marks, sample ? 1 : 0, versions];
    const segment = db.insert(insertSegment, summary);
    db.run('INSERT INTO segment_bodies (segment, body) VALUES (?, ?)', [segment, body]);
    calls.add(segment, looked, group.verdicts, body.byteLength);
    runs.apply(batch, agent, placeOf(segment, 0), kept.runs);
    for (const [, note] of kept.notes) told.notes.push(note);
    if (!sample) {
      const counted = readRuns(readTallies(kept), versions, marks, minuteMs);
      usage.add({ tenant, env, agent, hour: hourOf(maxTs) }, counted, receivedAt);
    }
    return { segment, accepted: count };
  }

  /** Removes up to `limit` events of a segment, first positions first. */
  function removeFrom(tenant: number, segment: number, limit: number) {
    const events = bodyEvents(bodyText(db, segment) ?? '[]');
    const outcomes = outcomesOf(db, segment);
    const { place } = countsOf(segment);
    const removed: Removed[] = [];
    events.forEach((event, position) => {
      if (!event || removed.length === limit) return;
      calls.remove(tenant, callKey(event.call_id), placeOf(segment, position));
      db.run('DELETE FROM outcomes WHERE segment = ? AND position = ?', [segment, position]);
      events[position] = null;
      removed.push({ event: countedOf(event), outcomes: outcomes.get(position) ?? [] });
    });
    rewrite(segment, events);
    return { place, events: removed };
  }

  /** Writes what is left of a segment, or removes it with its last event. */
  function rewrite(segment: number, events: readonly (EventInput | null)[]): void {
    const { count, minTs, maxTs, tallies, names, marks, versions } = summarize(events);
    if (count === 0) {
      db.run('DELETE FROM segments WHERE id = ?', [segment]);
      db.run('DELETE FROM segment_bodies WHERE segment = ?', [segment]);
      return;
    }
    db.run(
      `UPDATE segments SET events = ?, min_ts = ?, max_ts = ?, tallies = ?, names = ?, marks = ?, versions = ?
         WHERE id = ?`,
      [count, minTs, maxTs, tallies, names, marks, versions, segment],
    );
    db.run('UPDATE segment_bodies SET body = ? WHERE segment = ?', [jsonBytes(events), segment]);
  }

  return {
    ingest(batch: EncodedBatch): Ingested {
      if (batch.events === 0) return { accepted: 0, duplicates: 0 };
      const tenant = numberOf(batch.tenantId);
      last = null;
      counts = null;
      told = nothingTold();
      let accepted = 0;
      let first: number | null = null;
      for (const group of batch.groups) {
        const stored = storeGroup(tenant, batch, group, first);
        first ??= stored.segment;
        accepted += stored.accepted;
      }
      for (const { call, report } of batch.repeats) {
        const entry = calls.find(tenant, call);
        if (entry !== null) addOutcome(entry, report);
      }
      for (const [agent, sessions] of told.outcomes.byAgent) runs.apply(batch, agent, 0, [...sessions]);
      // What one batch reports is one link of the chain.
      appendNotes(db, told.notes);
      return { accepted, duplicates: batch.events - accepted };
    },

    removeSample(tenantId: string): void {
      const tenant = tenantNumber(db, tenantId);
      const segments = db.all('SELECT id FROM segments WHERE tenant = ? AND sample = 1', [tenant]);
      for (const [segment] of segments) removeFrom(Number(tenant), Number(segment), Number.MAX_SAFE_INTEGER);
      db.run('DELETE FROM runs WHERE tenant_id = ? AND sample = 1', [tenantId]);
    },

    purge(tenantId: string, before: number, limit: number): number {
      const tenant = tenantNumber(db, tenantId);
      const asked = Math.min(limit, removalSlice);
      const places = new Map<string, RemovedFrom>();
      let left = asked;
      counts = null;
      while (tenant !== null && left > 0) {
        const row = db.get(
          'SELECT id FROM segments WHERE tenant = ? AND received_at < ? ORDER BY received_at, id LIMIT 1',
          [tenant, before],
        );
        if (!row) break;
        const { place, events } = removeFrom(tenant, Number(row[0]), left);
        left -= events.length;
        if (place === null) continue;
        entryOf(places, keyOf(place, ''), () => ({ place, events: [] as Removed[] })).events.push(...events);
      }
      if (left === asked) forgetRuns(db, tenantId, before, limit);
      removeUsage(places.values());
      return asked - left;
    },
  };
}

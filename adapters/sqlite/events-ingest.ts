// Stores encoded batches and removes old ones. Runs on the writer; every call is one step, inside the caller's transaction.
import {
  type EventInput,
  type Ingested,
  keyAsOutcome,
  maxOutcomes,
  type Outcome,
  outcomeKey,
  outcomeOf,
} from '../../src/domain/event.ts';
import { type CallIndex, codeOfEntry, placeOfEntry } from './calls.ts';
import type { Database } from './database.ts';
import {
  callKey,
  type EncodedBatch,
  type EncodedGroup,
  sessionFacts,
  verdictOfCode,
} from './events-encode.ts';
import { forgetRuns, runWriter } from './runs.ts';
import { bodyEvents, bodyText, placeOf, positionOf, segmentOf, summarize, tenantNumber } from './segment.ts';

/** Most events that one removal takes, however many are asked for: other writes wait meanwhile. */
const removalSlice = 5000;

const insertSegment = `INSERT INTO segments
  (tenant, max_ts, min_ts, received_at, batch, env, agent, events, tallies, names, places, marks, sample)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

export function eventWriter(db: Database, calls: CallIndex) {
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

  /** Adds what a repeat says to the stored event, unless it was said before. */
  function addOutcome(entry: number, outcome: Outcome): void {
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
      if (event) addOutcome(entry, outcomeOf(event));
    }
    const events = given.map((event, position) => (known.has(position) ? null : event));
    return { ...group, ...summarize(events), runs: sessionFacts(events, batch), body: jsonBytes(events) };
  }

  /** Stores what is new of a group. @param first the batch's first segment, once there is one */
  function storeGroup(tenant: number, batch: EncodedBatch, group: EncodedGroup, first: number | null) {
    const looked = calls.look(tenant, group.calls);
    const kept = looked.known.size === 0 ? group : withoutKnown(batch, group, looked.known);
    if (kept.count === 0) return { segment: null, accepted: 0 };
    const { minTs, maxTs, agent, count, tallies, names, places, marks, body } = kept;
    const { receivedAt, env, sample } = batch;
    const place = [tenant, maxTs, minTs, receivedAt, first, env, agent];
    const summary = [...place, count, tallies, names, places, marks, sample ? 1 : 0];
    const segment = db.insert(insertSegment, summary);
    db.run('INSERT INTO segment_bodies (segment, body) VALUES (?, ?)', [segment, body]);
    calls.add(segment, looked, group.verdicts, body.byteLength);
    runs.apply(batch, agent, segment, kept.runs);
    return { segment, accepted: count };
  }

  /** Removes up to `limit` events of a segment, first positions first; returns how many. */
  function removeFrom(tenant: number, segment: number, limit: number): number {
    const events = bodyEvents(bodyText(db, segment) ?? '[]');
    let removed = 0;
    events.forEach((event, position) => {
      if (!event || removed === limit) return;
      calls.remove(tenant, callKey(event.call_id), placeOf(segment, position));
      db.run('DELETE FROM outcomes WHERE segment = ? AND position = ?', [segment, position]);
      events[position] = null;
      removed++;
    });
    rewrite(segment, events);
    return removed;
  }

  /** Writes what is left of a segment, or removes it with its last event. */
  function rewrite(segment: number, events: readonly (EventInput | null)[]): void {
    const { count, minTs, maxTs, tallies, names, marks } = summarize(events);
    if (count === 0) {
      db.run('DELETE FROM segments WHERE id = ?', [segment]);
      db.run('DELETE FROM segment_bodies WHERE segment = ?', [segment]);
      return;
    }
    db.run(
      'UPDATE segments SET events = ?, min_ts = ?, max_ts = ?, tallies = ?, names = ?, marks = ? WHERE id = ?',
      [count, minTs, maxTs, tallies, names, marks, segment],
    );
    db.run('UPDATE segment_bodies SET body = ? WHERE segment = ?', [jsonBytes(events), segment]);
  }

  return {
    ingest(batch: EncodedBatch): Ingested {
      if (batch.events === 0) return { accepted: 0, duplicates: 0 };
      const tenant = numberOf(batch.tenantId);
      last = null;
      let accepted = 0;
      let first: number | null = null;
      for (const group of batch.groups) {
        const stored = storeGroup(tenant, batch, group, first);
        first ??= stored.segment;
        accepted += stored.accepted;
      }
      for (const { call, outcome } of batch.repeats) {
        const entry = calls.find(tenant, call);
        if (entry !== null) addOutcome(entry, outcome);
      }
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
      let left = asked;
      while (tenant !== null && left > 0) {
        const row = db.get(
          'SELECT id FROM segments WHERE tenant = ? AND received_at < ? ORDER BY received_at, id LIMIT 1',
          [tenant, before],
        );
        if (!row) break;
        left -= removeFrom(tenant, Number(row[0]), left);
      }
      if (left === asked) forgetRuns(db, tenantId, before, limit);
      return asked - left;
    },
  };
}

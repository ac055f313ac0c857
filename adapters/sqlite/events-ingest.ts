// Stores encoded batches and removes old ones. Runs on the writer; every call is one step, inside the caller's transaction.
import { type EventInput, type Ingested, type Outcome, outcomeOf } from '../../src/domain/event.ts';
import type { Database } from './database.ts';
import {
  type CallKey,
  callKey,
  type EncodedBatch,
  type EncodedGroup,
  verdictOfCode,
} from './events-encode.ts';
import { bodyEvents, bodyText, placeOf, positionOf, segmentOf, summarize } from './segment.ts';

/** Most events that one removal takes, however many are asked for: other writes wait meanwhile. */
const removalSlice = 5000;

const insertCall = 'INSERT OR IGNORE INTO calls (tenant, call_id, place, verdict) VALUES (?, ?, ?, ?)';
const insertPacked = `INSERT OR IGNORE INTO calls (tenant, call_id, place, verdict)
  SELECT ?1, substr(?2, n * 16 + 1, 16), ?3 + n, substr(?4, n + 1, 1) FROM temp.numbers WHERE n < ?5`;
const findCall = 'SELECT place, verdict FROM calls WHERE tenant = ? AND call_id = ?';

/** Makes what `insertPacked` counts with; once per connection. */
export function prepareIngest(db: Database): void {
  db.exec(`CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY);
    WITH RECURSIVE up(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n < 255)
    INSERT INTO numbers SELECT n FROM up`);
}

/** The number of a tenant in the event tables, or null when it has none yet. */
export function tenantNumber(db: Database, tenantId: string): number | null {
  const row = db.get('SELECT number FROM tenant_numbers WHERE tenant_id = ?', [tenantId]);
  return row ? Number(row[0]) : null;
}

const keyAt = (calls: EncodedGroup['calls'], position: number): CallKey =>
  calls instanceof Uint8Array ? calls.subarray(position * 16, position * 16 + 16) : (calls[position] ?? '');

export function eventWriter(db: Database) {
  const numberOf = (tenantId: string): number =>
    tenantNumber(db, tenantId) ?? db.insert('INSERT INTO tenant_numbers (tenant_id) VALUES (?)', [tenantId]);

  function storedVerdict(place: number, code: string): string | null {
    const known = verdictOfCode(code);
    if (known !== null) return known;
    const text = bodyText(db, segmentOf(place));
    return text === null ? null : (bodyEvents(text)[positionOf(place)]?.verdict ?? null);
  }

  /** Adds what a repeat says, unless its verdict is known. */
  function addOutcome(tenant: number, call: CallKey, outcome: Outcome): void {
    const found = db.get(findCall, [tenant, call]);
    if (!found) return;
    const place = Number(found[0]);
    if (storedVerdict(place, String(found[1])) === outcome.verdict) return;
    const segment = segmentOf(place);
    const added = db.run(
      'INSERT OR IGNORE INTO outcomes (segment, position, verdict, outcome) VALUES (?, ?, ?, ?)',
      [segment, positionOf(place), outcome.verdict, JSON.stringify(outcome)],
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

  function insertCalls(tenant: number, segment: number, group: EncodedGroup): number {
    const first = placeOf(segment, 0);
    if (group.calls instanceof Uint8Array) {
      return db.run(insertPacked, [tenant, group.calls, first, group.verdicts, group.count]);
    }
    return group.calls.reduce(
      (sum, call, i) => sum + db.run(insertCall, [tenant, call, first + i, group.verdicts[i] ?? '?']),
      0,
    );
  }

  /** Takes those out of a new segment that were stored before; returns how many stay. */
  function withoutKnown(
    tenant: number,
    segment: number,
    group: EncodedGroup,
  ): { body: Uint8Array; count: number } {
    const events = bodyEvents(Buffer.from(group.body).toString('utf8'));
    const known: { call: CallKey; event: EventInput }[] = [];
    events.forEach((event, position) => {
      const call = keyAt(group.calls, position);
      if (!event || Number(db.get(findCall, [tenant, call])?.[0]) === placeOf(segment, position)) return;
      known.push({ call, event });
      events[position] = null;
    });
    rewrite(segment, events);
    for (const { call, event } of known) addOutcome(tenant, call, outcomeOf(event));
    return { body: Buffer.from(JSON.stringify(events)), count: events.length - known.length };
  }

  /** Writes the summary of what is left, or removes the segment with its last event. */
  function rewrite(segment: number, events: readonly (EventInput | null)[]): void {
    const { count, minTs, maxTs, tallies, names } = summarize(events);
    if (count === 0) {
      db.run('DELETE FROM segments WHERE id = ?', [segment]);
      return;
    }
    db.run('UPDATE segments SET events = ?, min_ts = ?, max_ts = ?, tallies = ?, names = ? WHERE id = ?', [
      count,
      minTs,
      maxTs,
      tallies,
      names,
      segment,
    ]);
  }

  function storeGroup(
    tenant: number,
    batch: EncodedBatch,
    group: EncodedGroup,
    first: number | null,
  ): { segment: number; accepted: number } {
    const { minTs, maxTs, agent, count, tallies, names, places } = group;
    const segment = db.insert(
      `INSERT INTO segments (tenant, max_ts, min_ts, received_at, batch, env, agent, events, tallies, names, places)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [tenant, maxTs, minTs, batch.receivedAt, first, batch.env, agent, count, tallies, names, places],
    );
    const whole = { body: group.body, count };
    const kept = insertCalls(tenant, segment, group) === count ? whole : withoutKnown(tenant, segment, group);
    if (kept.count > 0) {
      db.run('INSERT INTO segment_bodies (segment, body) VALUES (?, ?)', [segment, kept.body]);
    }
    return { segment, accepted: kept.count };
  }

  return {
    ingest(batch: EncodedBatch): Ingested {
      if (batch.events === 0) return { accepted: 0, duplicates: 0 };
      const tenant = numberOf(batch.tenantId);
      let accepted = 0;
      let first: number | null = null;
      for (const group of batch.groups) {
        const stored = storeGroup(tenant, batch, group, first);
        first ??= stored.segment;
        accepted += stored.accepted;
      }
      for (const { call, outcome } of batch.repeats) addOutcome(tenant, call, outcome);
      return { accepted, duplicates: batch.events - accepted };
    },

    purge(tenantId: string, before: number, limit: number): number {
      const tenant = tenantNumber(db, tenantId);
      let left = Math.min(limit, removalSlice);
      const asked = left;
      while (tenant !== null && left > 0) {
        const row = db.get(
          'SELECT id FROM segments WHERE tenant = ? AND received_at < ? ORDER BY received_at, id LIMIT 1',
          [tenant, before],
        );
        if (!row) break;
        left -= removeFrom(tenant, Number(row[0]), left);
      }
      return asked - left;
    },
  };

  /** Removes up to `limit` events of a segment, first positions first; returns how many. */
  function removeFrom(tenant: number, segment: number, limit: number): number {
    const events = bodyEvents(bodyText(db, segment) ?? '[]');
    let removed = 0;
    events.forEach((event, position) => {
      if (!event || removed === limit) return;
      db.run('DELETE FROM calls WHERE tenant = ? AND call_id = ? AND place = ?', [
        tenant,
        callKey(event.call_id),
        placeOf(segment, position),
      ]);
      db.run('DELETE FROM outcomes WHERE segment = ? AND position = ?', [segment, position]);
      events[position] = null;
      removed++;
    });
    rewrite(segment, events);
    if (events.some((event) => event !== null)) {
      db.run('UPDATE segment_bodies SET body = ? WHERE segment = ?', [
        Buffer.from(JSON.stringify(events)),
        segment,
      ]);
    } else {
      db.run('DELETE FROM segment_bodies WHERE segment = ?', [segment]);
    }
    return removed;
  }
}

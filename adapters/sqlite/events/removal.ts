// Removes events: those past their retention, and the sample run. Runs on the writer; every call is one step, inside
// the caller's transaction.
import type { EventInput } from '../../../src/event/record.ts';
import { sessionOf } from '../../../src/event/rules/decision.ts';
import { runNoteIds } from '../../../src/run/rules/report.ts';
import { keepRunNoteIds } from '../audit.ts';
import type { Database } from '../database.ts';
import type { ReceiptPlace, RemoveOldEvents } from '../retention.ts';
import { removeRuns, runTrimmer } from '../runs.ts';
import { type RemovedFrom, UsageRemover } from '../usage/purge.ts';
import { entryOf, keyOf, type Place, type Removed } from '../usage/rows.ts';
import type { UsageWriter } from '../usage/write.ts';
import type { CallIndex } from './calls.ts';
import { callKey, sha256 } from './encode.ts';
import { RemovedLines, removeOutcomes } from './removed-lines.ts';
import {
  bodyText,
  countedOf,
  outcomesOf,
  placeOf,
  segmentEventsOf,
  segmentSpanMs,
  summarize,
  tenantNumber,
} from './segment.ts';
import type { SegmentCache } from './segment-cache.ts';

/** Most events that one removal takes, however many a caller requests: other writes wait for the removal. */
const removalSlice = 5000;

/** Milliseconds after which a slice of retention takes no further segment. */
const maxSegmentsMs = 8;

export class EventRemover {
  readonly #db: Database;
  readonly #calls: CallIndex;
  readonly #usage: UsageWriter;
  readonly #cache: SegmentCache;
  readonly #removeUsage: UsageRemover;

  constructor(db: Database, calls: CallIndex, usage: UsageWriter, cache: SegmentCache) {
    this.#db = db;
    this.#calls = calls;
    this.#usage = usage;
    this.#cache = cache;
    this.#removeUsage = new UsageRemover(db, usage);
  }

  /** Removes the oldest events, at most some thousand. @returns how many */
  remove(tenantId: string, before: number, limit: number): number {
    this.#usage.flush();

    const tenant = tenantNumber(this.#db, tenantId);
    const maxEvents = Math.min(limit, removalSlice);
    const places = new Map<string, RemovedFrom>();
    const trim = runTrimmer(this.#db, tenantId);
    const trimRun = (event: EventInput): true => {
      const session = sessionOf(event);
      if (session !== null) trim(event.agentId, session);
      return true;
    };
    let left = maxEvents;
    this.#cache.forget();
    let last: Place | null = null;
    while (tenant !== null && left > 0) {
      const id: number | null = (last && this.#alsoOf(last, before)) ?? this.#oldest(tenant, before);
      if (id === null) break;
      const { place, events } = this.#removeFrom(tenantId, tenant, id, left, trimRun);
      left -= events.length;
      last = place;
      if (place === null) continue;
      entryOf(places, keyOf(place, ''), () => ({ place, events: [] as Removed[] })).events.push(...events);
    }
    this.#removeUsage.remove(places.values());
    return maxEvents - left;
  }

  removeIdleRuns(tenantId: string, before: number, limit: number): number {
    // A run may have had something that is not written to it yet.
    this.#usage.flush();
    return removeRuns(this.#db, tenantId, before, limit);
  }

  /** To be called after a flush of the usage. */
  removeOld(
    tenantId: string,
    before: number,
    after: ReceiptPlace | null,
    limit: number,
    mayGo: (event: EventInput) => boolean,
  ): ReturnType<RemoveOldEvents> {
    const tenant = tenantNumber(this.#db, tenantId);
    if (tenant === null) return { removed: 0, next: null };
    this.#cache.forget();
    const places = new Map<string, RemovedFrom>();
    const end = performance.now() + maxSegmentsMs;
    let removed = 0;
    let last = after ?? { at: Number.MIN_SAFE_INTEGER, id: 0 };
    let isEnd = false;
    do {
      const segment = this.#nextSegment(tenant, before, last);
      if (segment === null) {
        isEnd = true;
        break;
      }
      last = segment;
      const { place, events } = this.#removeFrom(
        tenantId,
        tenant,
        segment.id,
        Number.MAX_SAFE_INTEGER,
        mayGo,
      );
      removed += events.length;
      if (place === null || events.length === 0) continue;
      entryOf(places, keyOf(place, ''), () => ({ place, events: [] as Removed[] })).events.push(...events);
    } while (removed < limit && performance.now() < end);
    this.#removeUsage.remove(places.values());
    return { removed, next: isEnd ? null : last };
  }

  removeSample(tenantId: string): void {
    this.#usage.flush();
    const tenant = tenantNumber(this.#db, tenantId);
    const segments = this.#db.all('SELECT id FROM segments WHERE tenant = ? AND sample = 1', [tenant]);
    for (const [segment] of segments)
      this.#removeFrom(tenantId, Number(tenant), Number(segment), Number.MAX_SAFE_INTEGER);
    this.#db.run('DELETE FROM runs WHERE tenant_id = ? AND sample = 1', [tenantId]);
  }

  /** Purges all events; overwriting their pages takes room, which a purge on a full disk does not have. */
  removeAll(tenantId: string, limit: number): number {
    this.#db.get('PRAGMA secure_delete = ON');
    try {
      return this.remove(tenantId, Number.MAX_SAFE_INTEGER, limit);
    } finally {
      this.#db.get('PRAGMA secure_delete = FAST');
    }
  }

  /** Removes up to `limit` events of a segment that may go, first positions first. */
  #removeFrom(
    tenantId: string,
    tenant: number,
    segment: number,
    limit: number,
    mayGo: (event: EventInput) => boolean = () => true,
  ) {
    const events = segmentEventsOf(this.#db, segment);
    const outcomes = outcomesOf(this.#db, segment);
    const { place } = this.#cache.countsOf(segment);
    const removed: Removed[] = [];
    const noteIds: string[] = [];
    const lines = new RemovedLines();
    events.forEach((event, position) => {
      if (!event || removed.length === limit || !mayGo(event)) return;
      this.#calls.remove(tenant, callKey(event.callId), placeOf(segment, position));
      lines.add(placeOf(segment, position), removeOutcomes(this.#db, segment, position));
      events[position] = null;
      const added = outcomes.get(position) ?? [];
      removed.push({ event: countedOf(event), outcomes: added });
      noteIds.push(...runNoteIds(tenantId, event, added, sha256));
    });
    // The sample run is in no export, and not in the audit chain.
    if (place !== null) {
      keepRunNoteIds(this.#db, tenantId, noteIds);
      lines.write(this.#db, tenantId);
    }
    if (removed.length > 0) this.#rewrite(segment, events);
    return { place, events: removed };
  }

  /** Writes what is left of a segment, or removes it with its last event. */
  #rewrite(segment: number, events: readonly (EventInput | null)[]): void {
    const { count, minTs, maxTs, tallies, names, marks, versions } = summarize(events);
    if (count === 0) {
      this.#db.run('DELETE FROM segments WHERE id = ?', [segment]);
      this.#db.run('DELETE FROM segment_bodies WHERE segment = ?', [segment]);
      return;
    }
    this.#db.run(
      `UPDATE segments SET events = ?, min_ts = ?, max_ts = ?, tallies = ?, names = ?, marks = ?, versions = ?
         WHERE id = ?`,
      [count, minTs, maxTs, tallies, names, marks, versions, segment],
    );
    this.#db.run(
      'UPDATE segment_bodies SET body = ?, form = 0, sender = NULL, call_keys = NULL WHERE segment = ?',
      [Buffer.from(bodyText(events)), segment],
    );
  }

  #oldest(tenant: number, before: number): number | null {
    const row = this.#db.get(
      'SELECT id FROM segments WHERE tenant = ? AND received_at < ? ORDER BY received_at, id LIMIT 1',
      [tenant, before],
    );
    return row ? Number(row[0]) : null;
  }

  /**
   * Another segment of an agent's hour. A slice removes as many of one hour as there are. Each agent's hour that a
   * slice touches costs a look over all segments of the hour, which puts its counts right.
   */
  #alsoOf({ tenant, agent, hour, env }: Place, before: number): number | null {
    const row = this.#db.get(
      `SELECT id FROM segments INDEXED BY segments_agent
         WHERE tenant = ? AND agent = ? AND max_ts >= ? AND max_ts < ? AND env = ? AND sample = 0 AND received_at < ?
         ORDER BY max_ts LIMIT 1`,
      [tenant, agent, hour * segmentSpanMs, (hour + 1) * segmentSpanMs, env, before],
    );
    return row ? Number(row[0]) : null;
  }

  #nextSegment(tenant: number, before: number, { at, id }: ReceiptPlace): ReceiptPlace | null {
    const row = this.#db.get(
      `SELECT received_at, id FROM segments INDEXED BY segments_arrival
         WHERE tenant = ? AND received_at >= ? AND received_at < ? AND (received_at > ? OR id > ?)
         ORDER BY received_at, id LIMIT 1`,
      [tenant, at, before, at, id],
    );
    return row ? { at: Number(row[0]), id: Number(row[1]) } : null;
  }
}

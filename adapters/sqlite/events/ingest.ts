// Stores encoded batches; events that are stored already get the outcomes that a repeat adds. Runs on the writer; every
// call is one step, inside the caller's transaction.

import type { SeenAgent } from '../../../src/agent/port.ts';
import type { IngestResult } from '../../../src/event/port.ts';
import { addVerdicts, countVerdicts } from '../../../src/event/record.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import { agentSeen } from '../agent-seen.ts';
import type { Database } from '../database.ts';
import type { RemoveOldEvents } from '../retention.ts';
import { hourOf } from '../usage/rows.ts';
import type { UsageWriter } from '../usage/write.ts';
import { packJson } from './body.ts';
import type { CallIndex } from './calls.ts';
import { type EncodedBatch, type EncodedGroup, reportOf, sessionFacts } from './encode.ts';
import { nothingTold, outcomeWriter, type Told } from './outcomes.ts';
import { EventRemover } from './removal.ts';
import {
  bodyText,
  eventsIn,
  formCode,
  placeOf,
  readRuns,
  readTallies,
  summarize,
  tenantNumber,
} from './segment.ts';
import { type SegmentCache, segmentCache } from './segment-cache.ts';
import { keyBytes, loadedBytes } from './segment-calls.ts';

const insertSegment = `INSERT INTO segments
  (tenant, max_ts, min_ts, received_at, batch, env, agent, events, tallies, names, places, marks, sample, versions)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const insertBody =
  'INSERT INTO segment_bodies (segment, body, form, sender, call_keys) VALUES (?, ?, ?, ?, ?)';

const noVerdicts = countVerdicts([]);

/** Stores batches, and adds the outcomes of repeats to stored events. */
class BatchWriter {
  readonly #db: Database;
  readonly #calls: CallIndex;
  readonly #usage: UsageWriter;
  readonly #cache: SegmentCache;
  readonly #addOutcome: ReturnType<typeof outcomeWriter>;
  readonly #noteAgent: ReturnType<typeof agentSeen>;

  constructor(db: Database, calls: CallIndex, usage: UsageWriter, cache: SegmentCache) {
    this.#db = db;
    this.#calls = calls;
    this.#usage = usage;
    this.#cache = cache;
    this.#addOutcome = outcomeWriter(db, cache, usage);
    this.#noteAgent = agentSeen(db);
  }

  ingest(batch: EncodedBatch): IngestResult {
    const agents = this.#noteAgents(batch);
    const noted = agents.length === 0 ? {} : { agents };
    if (batch.events === 0)
      return { accepted: 0, duplicates: 0, verdicts: noVerdicts, outcomes: 0, ...noted };
    const tenant = this.#numberOf(batch.tenantId);
    this.#cache.forget();
    const tally = nothingTold();
    let accepted = 0;
    let verdicts = noVerdicts;
    let first: number | null = null;
    for (const group of batch.groups) {
      const stored = this.#storeGroup(tenant, batch, group, first, tally);
      first ??= stored.segment;
      accepted += stored.accepted;
      verdicts = addVerdicts(verdicts, stored.verdicts);
    }
    for (const { call, report } of batch.repeats) {
      const entry = this.#calls.find(tenant, call);
      if (entry !== null) this.#addOutcome(entry, report, batch.env, tally);
    }
    for (const [agent, sessions] of tally.outcomes.byAgent)
      this.#usage.runs.add(batch, agent, 0, [...sessions]);
    this.#usage.notes.add(tally.notes);
    return { accepted, duplicates: batch.events - accepted, verdicts, outcomes: tally.added, ...noted };
  }

  #numberOf(tenantId: string): number {
    return (
      tenantNumber(this.#db, tenantId) ??
      this.#db.insert('INSERT INTO tenant_numbers (tenant_id) VALUES (?)', [tenantId])
    );
  }

  /** The group without what is stored already; its positions stay. */
  #withoutKnown(batch: EncodedBatch, group: EncodedGroup, entries: ReadonlyMap<number, number>, tally: Told) {
    const eventsOfGroup = eventsIn(group);
    for (const [position, entry] of entries) {
      const event = eventsOfGroup[position];
      if (event) this.#addOutcome(entry, reportOf(event, batch), batch.env, tally);
    }
    const events = eventsOfGroup.map((event, position) => (entries.has(position) ? null : event));
    return {
      ...group,
      ...summarize(events),
      runs: sessionFacts(events, batch),
      notes: group.notes.filter(([position]) => !entries.has(position)),
      ...packJson(Buffer.from(bodyText(events))),
      form: 'written' as const,
      sender: null,
    };
  }

  /** Stores what is new of a group. @param first the batch's first segment, once there is one */
  #storeGroup(tenant: number, batch: EncodedBatch, group: EncodedGroup, first: number | null, tally: Told) {
    const looked = this.#calls.look(tenant, group.calls);
    const kept = looked.entries.size === 0 ? group : this.#withoutKnown(batch, group, looked.entries, tally);
    if (kept.count === 0) return { segment: null, accepted: 0, verdicts: noVerdicts };
    const { minTs, maxTs, agent, count, tallies, names, places, marks, versions } = kept;
    const { body, isPacked, form, sender } = kept;
    const { receivedAt, env, sample } = batch;
    const place = [tenant, maxTs, minTs, receivedAt, first, env, agent];
    const summary = [...place, count, tallies, names, places, marks, sample ? 1 : 0, versions];
    const segment = this.#db.insert(insertSegment, summary);
    const keys = isPacked ? keyBytes(group.calls) : null;
    this.#db.run(insertBody, [segment, body, formCode(form, isPacked), sender, keys]);
    const { calls, verdicts: codes } = group;
    this.#calls.add(segment, looked, codes, loadedBytes(calls, isPacked ? body : null, kept.jsonBytes));
    this.#usage.noteSegment(segment);
    this.#usage.runs.add(batch, agent, placeOf(segment, 0), kept.runs);
    for (const [, note] of kept.notes) tally.notes.push(note);
    const counts = readTallies(kept);
    if (!sample) {
      const counted = readRuns(counts, versions, marks, minuteMs);
      this.#usage.add({ tenant, env, agent, hour: hourOf(maxTs) }, counted, receivedAt);
    }
    const verdicts = countVerdicts(
      counts.map(([, verdict, mode, events]) => ({ verdict, mode, count: events })),
    );
    return { segment, accepted: count, verdicts };
  }

  #noteAgents({ tenantId, env, receivedAt, agents }: EncodedBatch): SeenAgent[] {
    return agents.map(({ agentId, newId, on }) =>
      this.#noteAgent(tenantId, agentId, env, receivedAt, newId, on),
    );
  }
}

/** Writes of events on one connection: batches, and their removal. */
export function eventWriter(db: Database, calls: CallIndex, usage: UsageWriter) {
  const cache = segmentCache(db);
  const batches = new BatchWriter(db, calls, usage, cache);
  const remover = new EventRemover(db, calls, usage, cache);
  return {
    ingest: (batch: EncodedBatch): IngestResult => batches.ingest(batch),
    removeBefore: (tenantId: string, before: number, limit: number): number =>
      remover.remove(tenantId, before, limit),
    removeIdleRuns: (tenantId: string, before: number, limit: number): number =>
      remover.removeIdleRuns(tenantId, before, limit),
    removeAll: (tenantId: string, limit: number): number => remover.removeAll(tenantId, limit),
    removeSample: (tenantId: string): void => remover.removeSample(tenantId),
    removeOld: ((tenantId, before, after, limit, mayGo) =>
      remover.removeOld(tenantId, before, after, limit, mayGo)) satisfies RemoveOldEvents,
  };
}

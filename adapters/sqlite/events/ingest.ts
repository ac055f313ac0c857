// Stores encoded batches; what is stored already gets the outcomes that a repeat adds. Runs on the writer; every call
// is one step, inside the caller's transaction.

import type { SeenAgent } from '../../../src/agent/port.ts';
import type { IngestResult } from '../../../src/event/port.ts';
import { addVerdicts, countVerdicts } from '../../../src/event/record.ts';
import { minuteMs } from '../../../src/shared/duration.ts';
import { agentSeen } from '../agent-seen.ts';
import type { Database } from '../database.ts';
import { hourOf } from '../usage/rows.ts';
import type { UsageWriter } from '../usage/write.ts';
import { packJson } from './body.ts';
import { type CallIndex, keyBytes } from './calls.ts';
import { type EncodedBatch, type EncodedGroup, reportOf, sessionFacts } from './encode.ts';
import { nothingTold, outcomeWriter, type Told } from './outcomes.ts';
import { eventRemover } from './removal.ts';
import {
  eventsIn,
  formCode,
  jsonBytes,
  placeOf,
  readRuns,
  readTallies,
  summarize,
  tenantNumber,
} from './segment.ts';
import { segmentCache } from './segment-cache.ts';

const insertSegment = `INSERT INTO segments
  (tenant, max_ts, min_ts, received_at, batch, env, agent, events, tallies, names, places, marks, sample, versions)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const insertBody =
  'INSERT INTO segment_bodies (segment, body, form, sender, call_keys) VALUES (?, ?, ?, ?, ?)';

const noVerdicts = countVerdicts([]);

export function eventWriter(db: Database, calls: CallIndex, usage: UsageWriter) {
  const cache = segmentCache(db);
  const addOutcome = outcomeWriter(db, cache, usage);

  const numberOf = (tenantId: string): number =>
    tenantNumber(db, tenantId) ?? db.insert('INSERT INTO tenant_numbers (tenant_id) VALUES (?)', [tenantId]);

  const noteAgent = agentSeen(db);

  /** The group without what is stored already; its positions stay. */
  function withoutKnown(
    batch: EncodedBatch,
    group: EncodedGroup,
    known: ReadonlyMap<number, number>,
    told: Told,
  ) {
    const eventsOfGroup = eventsIn(group);
    for (const [position, entry] of known) {
      const event = eventsOfGroup[position];
      if (event) addOutcome(entry, reportOf(event, batch), batch.env, told);
    }
    const events = eventsOfGroup.map((event, position) => (known.has(position) ? null : event));
    return {
      ...group,
      ...summarize(events),
      runs: sessionFacts(events, batch),
      notes: group.notes.filter(([position]) => !known.has(position)),
      ...packJson(jsonBytes(events)),
      form: 'written' as const,
      sender: null,
    };
  }

  /** Stores what is new of a group. @param first the batch's first segment, once there is one */
  function storeGroup(
    tenant: number,
    batch: EncodedBatch,
    group: EncodedGroup,
    first: number | null,
    told: Told,
  ) {
    const looked = calls.look(tenant, group.calls);
    const kept = looked.known.size === 0 ? group : withoutKnown(batch, group, looked.known, told);
    if (kept.count === 0) return { segment: null, accepted: 0, verdicts: noVerdicts };
    const { minTs, maxTs, agent, count, tallies, names, places, marks, versions } = kept;
    const { body, isPacked, form, sender } = kept;
    const { receivedAt, env, sample } = batch;
    const place = [tenant, maxTs, minTs, receivedAt, first, env, agent];
    const summary = [...place, count, tallies, names, places, marks, sample ? 1 : 0, versions];
    const segment = db.insert(insertSegment, summary);
    const keys = isPacked ? keyBytes(group.calls) : null;
    db.run(insertBody, [segment, body, formCode(form, isPacked), sender, keys]);
    calls.add(segment, looked, group.verdicts, kept.jsonBytes);
    usage.noteSegment(segment);
    usage.runs.add(batch, agent, placeOf(segment, 0), kept.runs);
    for (const [, note] of kept.notes) told.notes.push(note);
    const counts = readTallies(kept);
    if (!sample) {
      const counted = readRuns(counts, versions, marks, minuteMs);
      usage.add({ tenant, env, agent, hour: hourOf(maxTs) }, counted, receivedAt);
    }
    const verdicts = countVerdicts(
      counts.map(([, verdict, mode, events]) => ({ verdict, mode, count: events })),
    );
    return { segment, accepted: count, verdicts };
  }

  const noteAgents = ({ tenantId, env, receivedAt, agents }: EncodedBatch): SeenAgent[] =>
    agents.map(({ agentId, newId, on }) => noteAgent(tenantId, agentId, env, receivedAt, newId, on));

  return {
    ...eventRemover(db, calls, usage, cache),

    ingest(batch: EncodedBatch): IngestResult {
      const agents = noteAgents(batch);
      const noted = agents.length === 0 ? {} : { agents };
      if (batch.events === 0) return { accepted: 0, duplicates: 0, verdicts: noVerdicts, ...noted };
      const tenant = numberOf(batch.tenantId);
      cache.forget();
      const told = nothingTold();
      let accepted = 0;
      let verdicts = noVerdicts;
      let first: number | null = null;
      for (const group of batch.groups) {
        const stored = storeGroup(tenant, batch, group, first, told);
        first ??= stored.segment;
        accepted += stored.accepted;
        verdicts = addVerdicts(verdicts, stored.verdicts);
      }
      for (const { call, report } of batch.repeats) {
        const entry = calls.find(tenant, call);
        if (entry !== null) addOutcome(entry, report, batch.env, told);
      }
      for (const [agent, sessions] of told.outcomes.byAgent) usage.runs.add(batch, agent, 0, [...sessions]);
      usage.notes.add(told.notes);
      return { accepted, duplicates: batch.events - accepted, verdicts, ...noted };
    },
  };
}

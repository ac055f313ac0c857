// Outcomes that repeats of a call add to its event in MongoDB. The update adds an outcome once; a second update does
// nothing.
import type { Collection } from 'mongodb';
import type { EventBatch } from '../../src/event/port.ts';
import {
  type EventInput,
  eventOutcomeOf,
  keyAsOutcome,
  maxOutcomes,
  outcomeKey,
  outcomeText,
} from '../../src/event/record.ts';
import { sessionOf } from '../../src/event/rules/decision.ts';
import { isRunDecision, reportFacts } from '../../src/run/rules/report.ts';
import { type EventRow, type OutcomeRow, toOutcome, toOutcomeFields } from './event-filter.ts';
import { type Entry, outcomeEntry } from './export-log.ts';
import { fromBsonText, toBsonText } from './form.ts';
import { runId } from './run-projection.ts';

/** There when a call has as many outcomes as it may have. */
const lastOutcome = `outcomes.${maxOutcomes - 1}`;

/** Outcome keys that a stored call has already. */
const keysOf = ({
  verdict,
  decisionName,
  outcomes,
}: Pick<EventRow, 'verdict' | 'decisionName' | 'outcomes'>) => [
  outcomeKey(fromBsonText(verdict), outcomeText(decisionName === null ? null : fromBsonText(decisionName))),
  ...outcomes.map(toOutcome).map((outcome) => outcomeKey(outcome.verdict, outcome.decisionName)),
];

const runIdIn = (tenantId: string, event: EventInput): string =>
  runId(tenantId, event.agentId, sessionOf(event) ?? '');

/** Outcomes that repeats added, and the entries that were stored before. */
export interface AddedOutcomes {
  /** Ids of the events that got an outcome, by the place of the repeat in its batch. */
  readonly eventIds: Map<number, string>;
  /** The outcomes in the order of exports. */
  readonly entries: readonly Entry[];
  /** Entries of these calls that were stored before, by the token of their batch. */
  readonly stored: ReadonlyMap<string, readonly Entry[]>;
}

const noOutcomes: AddedOutcomes = { eventIds: new Map(), entries: [], stored: new Map() };

function storedByToken(rows: readonly EventRow[]): ReadonlyMap<string, readonly Entry[]> {
  const entries = new Map<string, Entry[]>();
  const add = (token: string | undefined, entry: Entry): void => {
    if (token === undefined) return;
    const list = entries.get(token) ?? [];
    list.push(entry);
    entries.set(token, list);
  };
  for (const { _id, batch, outcomes, sample } of rows) {
    // The sample run is in no export.
    if (sample) continue;
    add(batch, _id);
    for (const [i, { by }] of outcomes.entries()) add(by, outcomeEntry(_id, i));
  }
  return entries;
}

/** An outcome as it is kept. */
function outcomeRow(repeat: EventInput, batch: EventBatch, by: string): OutcomeRow {
  const run = reportFacts(repeat, batch);
  return {
    ...toOutcomeFields(eventOutcomeOf(repeat)),
    by,
    receivedAt: batch.receivedAt,
    ...(batch.reporter && isRunDecision(repeat) ? { reporter: batch.reporter } : {}),
    ...(run
      ? {
          agent: toBsonText(repeat.agentId),
          session: toBsonText(run[0]),
          facts: JSON.stringify(run[1]),
        }
      : {}),
  };
}

const outcomeFields = {
  callId: 1,
  agentId: 1,
  session: 1,
  verdict: 1,
  decisionName: 1,
  outcomes: 1,
  batch: 1,
  sample: 1,
};

type StoredCall = Pick<EventRow, '_id' | 'agentId' | 'session'>;

/** The update that adds an outcome, unless the event has it. @param row the event, if the read saw it */
function outcomeUpdate(
  { tenantId, env }: EventBatch,
  repeat: EventInput,
  outcome: OutcomeRow,
  row: StoredCall | undefined,
) {
  const { verdict, decision_name: decisionName, agent, session } = outcome;
  // One that the read does not see is not yet on a majority: the write waits for that.
  const which = row ? { _id: row._id } : { tenantId, env, callId: toBsonText(repeat.callId) };
  const filter = {
    ...which,
    $nor: [{ verdict, decisionName }, { outcomes: { $elemMatch: { verdict, decision_name: decisionName } } }],
    [lastOutcome]: { $exists: false },
  };
  const isOfItsRun = row !== undefined && row.agentId === agent && row.session === session;
  const other = session === undefined || isOfItsRun ? {} : { alsoIn: runIdIn(tenantId, repeat) };
  const update = { $push: { outcomes: outcome }, $addToSet: { verdicts: verdict, ...other } };
  return { updateOne: { filter, update } };
}

/** The updates of a batch's repeats, and the place of each by its call and outcome. */
function outcomeUpdates(
  batch: EventBatch,
  repeats: ReadonlyMap<number, EventInput>,
  rows: readonly EventRow[],
  token: string,
) {
  const stored = new Map(rows.map((row) => [fromBsonText(row.callId), row]));
  const keysByCall = new Map(rows.map((row) => [fromBsonText(row.callId), new Set(keysOf(row))]));
  const full = new Set(rows.filter((row) => row.outcomes.length >= maxOutcomes).map(({ _id }) => _id));
  const places = new Map<string, number>();
  const countByCall = new Map<string, number>();
  const writes = [...repeats].flatMap(([place, repeat]) => {
    const row = stored.get(repeat.callId);
    const key = keyAsOutcome(repeat);
    const word = JSON.stringify([repeat.callId, key]);
    if (keysByCall.get(repeat.callId)?.has(key) || places.has(word)) return [];
    // This number fills a call's outcomes, whichever of them another batch adds: more would be refused one by one.
    const before = countByCall.get(repeat.callId) ?? 0;
    if (before >= maxOutcomes || (row && full.has(row._id))) return [];
    countByCall.set(repeat.callId, before + 1);
    places.set(word, place);
    return [outcomeUpdate(batch, repeat, outcomeRow(repeat, batch, token), row)];
  });
  return { writes, places };
}

/**
 * Adds the outcomes of repeats to their events. Reads first: most repeats have nothing to add, and a read takes no turn
 * from the inserts.
 * @param repeats by their place in the batch
 */
export async function addOutcomes(
  events: Collection<EventRow>,
  batch: EventBatch,
  repeats: ReadonlyMap<number, EventInput>,
  token: string,
): Promise<AddedOutcomes> {
  // Of this environment alone: readers of a call in another environment may not see outcomes from this one.
  const { tenantId, env } = batch;
  if (repeats.size === 0) return noOutcomes;
  const eventIds = new Map<number, string>();
  const callIds = [...new Set([...repeats.values()].map((repeat) => toBsonText(repeat.callId)))];
  const query = { tenantId, env, callId: { $in: callIds } };
  const rows = await events.find(query, { projection: outcomeFields }).toArray();
  const { writes, places } = outcomeUpdates(batch, repeats, rows, token);
  const before = storedByToken(rows);
  if (writes.length === 0) return { eventIds, entries: [], stored: before };
  // In order: the outcomes of one call stay in the order of their arrival.
  await events.bulkWrite(writes, { ordered: true });
  // Another batch may have added some of them at the same time: outcomes with the token are from this batch.
  const changed = await events
    .find({ ...query, 'outcomes.by': token }, { projection: outcomeFields })
    .toArray();
  const entries: Entry[] = [];
  for (const { _id, callId, sample, outcomes } of changed) {
    for (const [i, { by, ...outcome }] of outcomes.entries()) {
      if (by !== token) continue;
      if (!sample) entries.push(outcomeEntry(_id, i));
      const { verdict, decisionName } = toOutcome(outcome);
      const place = places.get(JSON.stringify([fromBsonText(callId), outcomeKey(verdict, decisionName)]));
      if (place !== undefined) eventIds.set(place, _id);
    }
  }
  return { eventIds, entries, stored: before };
}

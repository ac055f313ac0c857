// Filters, cursors and the form of audit events in MongoDB. Reads and writes nothing.
import type { Filter } from 'mongodb';
import type { EventOrder } from '../../src/event/port.ts';
import { fromOutcomeJson, type OutcomeJson, toOutcomeJson } from '../../src/event/record/json.ts';
import {
  type EventInput,
  type EventOutcome,
  policyVersionOf,
  type StoredEvent,
} from '../../src/event/record.ts';
import {
  knownVerdicts,
  parentSessionOf,
  sessionOf,
  type VerdictFilter,
} from '../../src/event/rules/decision.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { searchedTextsOf } from '../../src/event/rules/texts.ts';
import { isRunDecision, type Reporter } from '../../src/run/rules/report.ts';
import { HubError } from '../../src/shared/error.ts';
import { fieldTests } from './event-query.ts';
import type { EventRow, OutcomeRow } from './event-row.ts';
import { fromBsonText, fromText, inEnvs, textSearch, toBsonText, toText } from './form.ts';
import { idAfter, seqOf } from './uuidv7.ts';

export type { EventRow, OutcomeRow };

export function toEventRow(
  event: EventInput,
  batch: {
    readonly tenantId: string;
    readonly env: string;
    readonly receivedAt: number;
    readonly sample?: true;
    readonly reporter?: Reporter;
  },
  id: string,
  token?: string,
): EventRow {
  const name = event.payload?.decision_name;
  const [session, parentSession] = [sessionOf(event), parentSessionOf(event)];
  const run = event.payload?.run_id;
  const version = policyVersionOf(event);
  return {
    _id: id,
    tenantId: batch.tenantId,
    env: batch.env,
    callId: toBsonText(event.callId),
    agentId: toBsonText(event.agentId),
    ...(event.sentBy === undefined ? {} : { sentBy: toBsonText(event.sentBy) }),
    toolName: toBsonText(event.toolName),
    verdicts: [toBsonText(event.verdict)],
    verdict: toBsonText(event.verdict),
    mode: toBsonText(event.mode),
    ts: event.timestamp,
    payload: toText(event.payload),
    decisionName: typeof name === 'string' ? toBsonText(name) : null,
    ...(event.payload === null ? {} : { texts: searchedTextsOf(event).map(toBsonText) }),
    ...(typeof run === 'string' ? { runId: toBsonText(run) } : {}),
    ...(version === null ? {} : { policyVersion: toBsonText(version) }),
    outcomes: [],
    ...(event.unnamed ? { unnamed: true as const } : {}),
    ...(event.flat ? { flat: true as const } : {}),
    ...(event.givenCallId === undefined ? {} : { givenCallId: toBsonText(event.givenCallId) }),
    ...(session === null ? {} : { session: toBsonText(session) }),
    ...(parentSession === null ? {} : { parentSession: toBsonText(parentSession) }),
    ...(batch.sample ? { sample: true as const } : {}),
    ...(batch.reporter && isRunDecision(event) ? { reporter: batch.reporter } : {}),
    ...(event.truncated ? { truncated: event.truncated } : {}),
    receivedAt: batch.receivedAt,
    ...(token === undefined ? {} : { batch: token }),
  };
}

export const toEvent = (row: EventRow): StoredEvent => ({
  id: row._id,
  seq: seqOf(row._id),
  env: row.env,
  callId: fromBsonText(row.callId),
  agentId: fromBsonText(row.agentId),
  ...(row.sentBy === undefined ? {} : { sentBy: fromBsonText(row.sentBy) }),
  ...(row.unnamed ? { unnamed: true as const } : {}),
  ...(row.flat ? { flat: true as const } : {}),
  ...(row.givenCallId === undefined ? {} : { givenCallId: fromBsonText(row.givenCallId) }),
  ...(row.sample ? { sample: true as const } : {}),
  ...(row.truncated ? { truncated: row.truncated } : {}),
  toolName: fromBsonText(row.toolName),
  verdict: fromBsonText(row.verdict),
  mode: fromBsonText(row.mode),
  timestamp: row.ts,
  payload: fromText(row.payload),
  createdAt: row.receivedAt,
  outcomes: row.outcomes.map(toOutcome),
});

/** Fields of an outcome that readers see. */
export const toOutcome = ({
  by: _by,
  receivedAt: _at,
  agent: _agent,
  session: _session,
  facts: _facts,
  reporter: _reporter,
  ...outcome
}: OutcomeRow): EventOutcome => fromOutcomeJson(mapTexts(outcome, fromBsonText));

/** An outcome's fields in a document. */
export const toOutcomeFields = (outcome: EventOutcome): OutcomeJson =>
  mapTexts(toOutcomeJson(outcome), toBsonText);

const mapTexts = (outcome: OutcomeJson, map: (text: string) => string): OutcomeJson =>
  Object.fromEntries(
    Object.entries(outcome).map(([key, value]) => [key, typeof value === 'string' ? map(value) : value]),
  ) as unknown as OutcomeJson;

/** @param untilExclusive whether an event at `until` is left out */
export function eventQuery(tenantId: string, filter: EventFilter, untilExclusive = false): Filter<EventRow> {
  const { env, agentId, toolName, verdict, verdicts, mode, since, until, search } = filter;
  const { sessionId, parentSessionId, fromSeq, toSeq } = filter;
  const name = filter.decisionName === undefined ? null : toBsonText(filter.decisionName);
  const choices: Filter<EventRow>[] = [
    ...(verdicts === undefined ? [] : [wordsWanted(verdicts)]),
    ...(filter.callId === undefined ? [] : [callWanted(toBsonText(filter.callId), filter.isStoredCallId)]),
    ...(name === null ? [] : [{ $or: [{ decisionName: name }, { 'outcomes.decision_name': name }] }]),
    ...(filter.query === undefined ? [] : (fieldTests(filter.query) as Filter<EventRow>[])),
    ...(search ? [searchTest(search)] : []),
  ];
  return {
    // Written with `$eq`: one server of this protocol loses the first event of a range when it walks a descending index
    // by plain equality.
    tenantId: { $eq: tenantId },
    ...inEnvs(env),
    ...(agentId === undefined ? {} : { agentId: { $eq: toBsonText(agentId) } }),
    ...(toolName === undefined ? {} : { toolName: { $eq: toBsonText(toolName) } }),
    ...(verdict === undefined ? {} : { verdicts: { $eq: toBsonText(verdict) } }),
    ...(sessionId === undefined ? {} : { session: { $eq: toBsonText(sessionId) } }),
    ...(parentSessionId === undefined ? {} : { parentSession: { $eq: toBsonText(parentSessionId) } }),
    ...(fromSeq === undefined && toSeq === undefined
      ? {}
      : {
          _id: {
            ...(fromSeq === undefined ? {} : { $gt: idAfter(fromSeq - 1) }),
            ...(toSeq === undefined ? {} : { $lt: idAfter(toSeq) }),
          },
        }),
    ...(mode === undefined ? {} : { mode: { $eq: toBsonText(mode) } }),
    ...(since === undefined && until === undefined
      ? {}
      : {
          ts: {
            ...(since === undefined ? {} : { $gte: since }),
            ...(until === undefined ? {} : untilExclusive ? { $lt: until } : { $lte: until }),
          },
        }),
    ...(filter.runId === undefined ? {} : { runId: { $eq: toBsonText(filter.runId) } }),
    ...(choices.length > 0 ? { $and: choices } : {}),
  };
}

/** Condition for events with a searched text. */
export const searchTest = (search: string): Filter<EventRow> => ({
  $or: textSearch(search).flatMap(namesOrTexts),
});

const namesOrTexts = (text: object): Filter<EventRow>[] => [
  { agentId: text },
  { toolName: text },
  { givenCallId: text },
  { givenCallId: { $exists: false }, callId: text },
  { decisionName: text },
  { texts: { $elemMatch: text } },
];

/** Condition for events with this call id, whether or not the id identifies the event. */
const callWanted = (callId: string, isStoredId = false): Filter<EventRow> => ({
  $or: [
    { callId: { $eq: callId }, givenCallId: { $exists: false } },
    ...(isStoredId ? [] : [{ givenCallId: { $eq: callId } }]),
  ],
});

/** One of the words, or one that the hub does not know. */
const wordsWanted = ({ any, others }: VerdictFilter): Filter<EventRow> => {
  const byVerdict = { verdicts: { $in: any.map(toBsonText) } };
  return others
    ? { $or: [byVerdict, { verdicts: { $elemMatch: { $nin: [...knownVerdicts] } } }] }
    : byVerdict;
};

export const cursorAfter = (row: Pick<EventRow, 'ts' | '_id'>): string =>
  Buffer.from(JSON.stringify([row.ts, row._id])).toString('base64url');

/** Condition for the events after the cursor's event, in the order of pages. */
export function afterCursor(cursor: string, order: EventOrder): Filter<EventRow> {
  const [ts, id] = readCursor(cursor);
  if (order === 'oldest') return { $or: [{ ts: { $gt: ts } }, { ts: { $eq: ts }, _id: { $gt: id } }] };
  return { $or: [{ ts: { $lt: ts } }, { ts: { $eq: ts }, _id: { $lt: id } }] };
}

function readCursor(cursor: string): readonly [number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(value) && value.length === 2) {
      const [ts, id]: unknown[] = value;
      // Decoding forgives much: only what encodes to the same text is one of ours.
      const ours = Buffer.from(JSON.stringify(value)).toString('base64url') === cursor;
      if (ours && typeof ts === 'number' && typeof id === 'string') return [ts, id];
    }
  } catch {
    // Falls through to the refusal.
  }
  throw new HubError('bad_request', 'The cursor belongs to another list. Start again without a cursor.');
}

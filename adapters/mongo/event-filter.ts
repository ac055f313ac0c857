// Filters, cursors and the form of audit events in MongoDB. Reads and writes nothing.
import type { Filter } from 'mongodb';
import { HubError } from '../../src/domain/error.ts';
import type { EventInput, Outcome, StoredEvent } from '../../src/domain/event.ts';
import type { EventFilter } from '../../src/ports/events.ts';
import { fromText, literalPattern, toText } from './form.ts';

export interface EventRow {
  /** Rises with arrival (arrival.ts). */
  readonly _id: string;
  readonly tenantId: string;
  readonly env: string;
  readonly callId: string;
  readonly agentId: string;
  /** Absent when it is the agent's own. */
  readonly sentBy?: string;
  readonly toolName: string;
  /** The stored verdict, then those of the outcomes, each once. */
  readonly verdicts: readonly string[];
  readonly verdict: string;
  readonly mode: string;
  readonly ts: number;
  readonly payload: string | null;
  /** payload.decision_name, when it is a text. */
  readonly decisionName: string | null;
  readonly outcomes: readonly Outcome[];
  readonly receivedAt: number;
}

export function toEventRow(
  event: EventInput,
  batch: { readonly tenantId: string; readonly env: string; readonly receivedAt: number },
  id: string,
): EventRow {
  const name = event.payload?.decision_name;
  return {
    _id: id,
    tenantId: batch.tenantId,
    env: batch.env,
    callId: event.call_id,
    agentId: event.agent_id,
    ...(event.sent_by === undefined ? {} : { sentBy: event.sent_by }),
    toolName: event.tool_name,
    verdicts: [event.verdict],
    verdict: event.verdict,
    mode: event.mode,
    ts: event.timestamp,
    payload: toText(event.payload),
    decisionName: typeof name === 'string' ? name : null,
    outcomes: [],
    receivedAt: batch.receivedAt,
  };
}

export const toEvent = (row: EventRow): StoredEvent => ({
  id: row._id,
  env: row.env,
  call_id: row.callId,
  agent_id: row.agentId,
  ...(row.sentBy === undefined ? {} : { sent_by: row.sentBy }),
  tool_name: row.toolName,
  verdict: row.verdict,
  mode: row.mode,
  timestamp: row.ts,
  payload: fromText(row.payload),
  createdAt: row.receivedAt,
  outcomes: row.outcomes,
});

/** @param untilExclusive whether an event at `until` is left out */
export function eventQuery(tenantId: string, filter: EventFilter, untilExclusive = false): Filter<EventRow> {
  const { env, agentId, toolName, verdict, mode, since, until, search } = filter;
  const pattern = search && { $regex: literalPattern(search), $options: 'i' };
  return {
    tenantId: { $eq: tenantId },
    ...(env === null ? {} : { env: { $eq: env } }),
    ...(agentId === undefined ? {} : { agentId: { $eq: agentId } }),
    ...(toolName === undefined ? {} : { toolName: { $eq: toolName } }),
    ...(verdict === undefined ? {} : { verdicts: { $eq: verdict } }),
    ...(mode === undefined ? {} : { mode: { $eq: mode } }),
    ...(since === undefined && until === undefined
      ? {}
      : {
          ts: {
            ...(since === undefined ? {} : { $gte: since }),
            ...(until === undefined ? {} : untilExclusive ? { $lt: until } : { $lte: until }),
          },
        }),
    ...(pattern
      ? { $or: [{ agentId: pattern }, { toolName: pattern }, { callId: pattern }, { decisionName: pattern }] }
      : {}),
  };
}

export const cursorAfter = (row: EventRow): string =>
  Buffer.from(JSON.stringify([row.ts, row._id])).toString('base64url');

/** What follows the cursor's event in the order of pages. */
export function afterCursor(cursor: string): Filter<EventRow> {
  const [ts, id] = readCursor(cursor);
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
  throw new HubError('bad_request', 'The cursor is not one of this list. Begin again without it.');
}

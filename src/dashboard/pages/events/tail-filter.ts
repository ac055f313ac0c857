// The query of the live tail. The stream applies the environment, and the browser the query, with the same result as a
// search in the hub. A time range does not apply to new events.
import type { JsonObject } from '../../../contract/record.ts';
import { eventGrammar } from '../../../event/rules/query/fields.ts';
import { type QueriedEvent, queryTest } from '../../../event/rules/query/match.ts';
import { parseQuery } from '../../../event/rules/query/parse.ts';
import { withVersionHashes } from '../../../event/rules/query/versions.ts';
import { camelKeys } from '../../../shared/snake-keys.ts';
import type { TailEvent, TailRow } from '../../live/tail.ts';
import type { EventRow } from './event-row.ts';

/** The part for the stream. */
export const tailQuery = (env: string | undefined): string =>
  new URLSearchParams(env ? { environment: env } : {}).toString();

type Fits = (event: TailEvent) => boolean;

const outcomesOf = (event: TailEvent): QueriedEvent['outcomes'] => {
  const { outcomes } = event as { readonly outcomes?: unknown };
  if (!Array.isArray(outcomes)) return [];
  return outcomes.map((one: { readonly action?: unknown }) => ({
    ...camelKeys(one),
    verdict: one.action,
  })) as never;
};

/** The event as the hub's search has it: the flat form has the payload's fields beside the others and in `extra`. */
const queriedOf = (event: TailEvent): QueriedEvent => ({
  event: {
    callId: event.call_id ?? '',
    agentId: event.agent_id,
    toolName: event.tool_name ?? '',
    verdict: event.action,
    mode: event.mode ?? 'enforce',
    timestamp: Date.parse(event.timestamp),
    payload: { ...event.extra, ...event } as JsonObject,
  },
  env: event.environment,
  sample: false,
  outcomes: outcomesOf(event),
});

/** Hashes of stored versions, by the numbers in a query. */
export interface VersionHashes {
  readonly [number: string]: readonly string[];
}

/** @param text a query; one with a mistake matches everything */
export function tailFits(text: string, hashes: VersionHashes): Fits {
  const parsed = parseQuery(text, eventGrammar);
  if ('problem' in parsed) return () => true;
  const { fits } = queryTest(withVersionHashes(parsed.query, (number) => hashes[number] ?? []));
  return (event) => fits(queriedOf(event));
}

/** Events of a list in the form of the stream, the newest first. */
export const rowsOfList = (events: readonly EventRow[]): readonly TailRow[] =>
  events
    .filter(({ sample }) => !sample)
    .map(({ payload, verdict, env, outcomes, ...event }) => ({
      kind: 'event',
      id: event.id,
      event: {
        ...(payload as object | null),
        ...event,
        action: verdict,
        environment: env,
        outcomes: Array.isArray(outcomes) ? outcomes.map((one) => ({ ...one, action: one.verdict })) : [],
      } as unknown as TailEvent,
    }));

const listRows = new WeakMap<TailEvent, EventRow>();

/** An event of the stream in the form of a list, made once for all cells of its row. */
export function listRowOf(event: TailEvent): EventRow {
  let row = listRows.get(event);
  if (row === undefined) {
    row = asListRow(event);
    listRows.set(event, row);
  }
  return row;
}

const asListRow = (event: TailEvent): EventRow =>
  ({
    ...event,
    verdict: event.action,
    env: event.environment,
    payload: event,
    outcomes: Array.isArray(event.outcomes)
      ? event.outcomes.map((one) => ({ ...one, verdict: one.action }))
      : [],
  }) as unknown as EventRow;

/** Keeps gaps, because missing events may match. */
export const narrowed = (rows: readonly TailRow[], fits: Fits): readonly TailRow[] =>
  rows.filter((row) => row.kind === 'gap' || fits(row.event));

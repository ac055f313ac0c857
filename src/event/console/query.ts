// Queries for events: filters in the words of the console API.
import { shortenedMap } from '../../http/contract/listed.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { actionOf, consoleVerdict } from '../rules/decision.ts';
import type { EventFilter } from '../rules/filter.ts';
import type { Query } from '../rules/query/parse.ts';
import { render } from './render.ts';

export { render };

export interface EventQuery {
  readonly agent_id?: string | undefined;
  readonly tool_name?: string | undefined;
  readonly verdict?: string | undefined;
  readonly mode?: 'enforce' | 'observe' | undefined;
  readonly env?: 'production' | 'staging' | 'development' | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly decision_name?: string | undefined;
  readonly run_id?: string | undefined;
  readonly call_id?: string | undefined;
  readonly search?: string | undefined;
}

/** Filter of a query. The use case narrows it to the events that the caller may see. */
export const filterOf = (query: EventQuery, terms?: Query): EventFilter => ({
  env: query.env ?? null,
  ...(terms === undefined ? {} : { query: terms }),
  ...omitUndefined({
    agentId: query.agent_id,
    toolName: query.tool_name,
    ...(query.verdict === undefined ? {} : wordsOf(query.verdict)),
    mode: query.mode,
    since: query.since,
    until: query.until,
    decisionName: query.decision_name,
    runId: query.run_id,
    callId: query.call_id,
    search: query.search,
  }),
});

/** Words of the console that newer clients have another for: a filter finds both. */
function wordsOf(verdict: string): Pick<EventFilter, 'verdict' | 'verdicts'> {
  const action = actionOf(verdict);
  return consoleVerdict(action) === verdict && action !== verdict
    ? { verdicts: { any: [verdict, action], others: false } }
    : { verdict };
}

/** Fields that agents count and filter by stay readable beside a large argument. */
export const shortenPayload = (event: ReturnType<typeof render>): ReturnType<typeof render> =>
  event.payload === null ? event : { ...event, payload: shortenedMap(event.payload) };

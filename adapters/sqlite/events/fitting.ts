// Which events of a segment fit a filter: by what is counted of them where that suffices, else by their bodies.
import type { EventInput, EventOutcome } from '../../../src/event/record.ts';
import { callIdOf, isWanted, parentSessionOf, sessionOf } from '../../../src/event/rules/decision.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { type QueryTest, queryTest } from '../../../src/event/rules/query/match.ts';
import { needlesOf } from '../../../src/event/rules/query/needles.ts';
import { searchedTextsOf } from '../../../src/event/rules/texts.ts';
import { findsIn, foldedText } from '../../../src/shared/search-text.ts';
import type { Database } from '../database.ts';
import {
  bodyEvents,
  type Counted,
  countedIn,
  countedOf,
  decisionName,
  outcomesOf,
  placeOf,
  type SegmentBody,
  type Summary,
  segmentBody,
} from './segment.ts';

/** A query with what is made of it once. */
interface CompiledQuery extends QueryTest {
  readonly needles: readonly { readonly pattern: RegExp; readonly isInOutcomes: boolean }[];
}

/** A filter whose query was compiled before its first event. */
export interface CompiledFilter extends EventFilter {
  readonly compiled?: CompiledQuery;
}

export function compileFilter(filter: EventFilter): CompiledFilter {
  const { query } = filter;
  if (query === undefined) return filter;
  const needles = needlesOf(query).map(({ pattern, isInOutcomes }) => ({
    pattern: new RegExp(pattern, 'u'),
    isInOutcomes,
  }));
  return { ...filter, compiled: { ...queryTest(query), needles } };
}

/** Owner of an event. */
export interface EventOwner {
  readonly env: string;
  readonly agent: string;
}

/** True when what is counted of an event, with its outcomes, fits. */
function countsFit(
  event: Counted,
  outcomes: readonly EventOutcome[],
  filter: CompiledFilter,
  owner: EventOwner,
): boolean {
  const { toolName, verdict, verdicts, mode, since, until, decisionName: name, compiled } = filter;
  return (
    (toolName === undefined || event.tool === toolName) &&
    (verdict === undefined || event.verdict === verdict || outcomes.some((o) => o.verdict === verdict)) &&
    (verdicts === undefined ||
      isWanted(verdicts, event.verdict) ||
      outcomes.some((o) => isWanted(verdicts, o.verdict))) &&
    (mode === undefined || event.mode === mode) &&
    (since === undefined || event.ts >= since) &&
    (until === undefined || event.ts <= until) &&
    (name === undefined || event.name === name || outcomes.some((o) => o.decisionName === name)) &&
    (compiled === undefined ||
      compiled.fitsCounted({ ...event, env: owner.env, agent: owner.agent }, outcomes))
  );
}

/** True for a filter that needs more than the tallies and marks of a segment. */
export const needsBodies = (filter: CompiledFilter): boolean => {
  const { search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq, compiled } = filter;
  return (
    [search, runId, callId, sessionId, parentSessionId, fromSeq, toSeq].some(
      (value) => value !== undefined,
    ) || compiled?.needsPayload === true
  );
};

/** True when the event, with its outcomes, fits. @param seq its place in the order of arrival */
function fits(
  event: EventInput,
  outcomes: readonly EventOutcome[],
  filter: CompiledFilter,
  seq: number,
  { env, sample }: Pick<Summary, 'env' | 'sample'>,
): boolean {
  const { runId, callId, search, sessionId, parentSessionId, fromSeq, toSeq, compiled } = filter;
  return (
    (callId === undefined || (callIdOf(event) ?? event.callId) === callId) &&
    !(filter.isStoredCallId && event.givenCallId !== undefined) &&
    (runId === undefined || event.payload?.run_id === runId) &&
    (sessionId === undefined || sessionOf(event) === sessionId) &&
    (parentSessionId === undefined || parentSessionOf(event) === parentSessionId) &&
    (fromSeq === undefined || seq >= fromSeq) &&
    (toSeq === undefined || seq <= toSeq) &&
    (search === undefined || mentions(event, foldedText(search))) &&
    countsFit(countedOf(event), outcomes, filter, { env, agent: event.agentId }) &&
    (compiled === undefined || compiled.fits({ event, env, sample, outcomes }))
  );
}

const mentions = (event: EventInput, needle: string): boolean =>
  [
    event.agentId,
    event.toolName,
    callIdOf(event) ?? event.callId,
    decisionName(event) ?? '',
    ...searchedTextsOf(event),
  ].some((text) => findsIn(text, needle));

/** A number may stand otherwise in a body than it reads: `1e2` is 100. */
const mayBeNumber = (search: string): boolean => /^[-+.\de]+$/i.test(search);

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * False when the body cannot hold an event that fits. Cheaper than parsing it: whatever holds a text holds its JSON
 * form.
 */
function mayHold(body: string, filter: CompiledFilter, hasOutcomes: boolean): boolean {
  const { search, runId, callId, sessionId, parentSessionId, compiled } = filter;
  if (compiled !== undefined) {
    const isMissing = compiled.needles.some(
      ({ pattern, isInOutcomes }) => !(isInOutcomes && hasOutcomes) && !pattern.test(body),
    );
    if (isMissing) return false;
  }
  if (search !== undefined && !mayBeNumber(search) && !findsIn(body, foldedText(inJson(search))))
    return false;
  return [runId, callId, sessionId, parentSessionId].every(
    (text) => text === undefined || body.includes(inJson(text)),
  );
}

/** The events of a segment that fit, with their outcomes and positions. */
export function* fitting(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
): Generator<{ event: EventInput; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  const body = segmentBody(db, segment.id);
  if (body !== null) yield* fittingIn(db, segment, filter, body);
}

/** The same in a body that was read. */
export function* fittingIn(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
  body: SegmentBody,
): Generator<{ event: EventInput; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  if (!mayHold(body.text, filter, segment.outcomes > 0)) return;
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of bodyEvents(body).entries()) {
    if (!event) continue;
    const eventOutcomes = outcomes?.get(position) ?? [];
    if (fits(event, eventOutcomes, filter, placeOf(segment.id, position), segment))
      yield { event, outcomes: eventOutcomes, position };
  }
}

/** The same with what is counted of the events alone; reads no body where it need not. */
export function* fittingCounts(
  db: Database,
  segment: Summary,
  filter: CompiledFilter,
): Generator<{ event: Counted; outcomes: readonly EventOutcome[]; position: number }, void, undefined> {
  if (needsBodies(filter)) {
    for (const { event, outcomes, position } of fitting(db, segment, filter)) {
      yield { event: countedOf(event), outcomes, position };
    }
    return;
  }
  const counted = countedIn(db, segment.id);
  const outcomes = segment.outcomes > 0 ? outcomesOf(db, segment.id) : null;
  for (const [position, event] of counted.entries()) {
    const eventOutcomes = outcomes?.get(position) ?? [];
    if (event && countsFit(event, eventOutcomes, filter, segment))
      yield { event, outcomes: eventOutcomes, position };
  }
}

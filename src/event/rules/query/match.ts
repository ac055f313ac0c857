// The test of an event against a query. Both stores and the browser's tail use it, so their answers agree. Pure.

import type { ThenWord, VerdictWord } from '../../record/words.ts';
import {
  type CountedAs,
  countedAs,
  durationOf,
  type EventInput,
  type EventOutcome,
  policyVersionOf,
} from '../../record.ts';
import { actionOf, callIdOf, runIdOf, sessionOf } from '../decision.ts';
import { durationMsOf, type Query, type QueryTerm } from './parse.ts';
import { anyOf, comparison, globs, isText, pathTest, someText, textsIn } from './values.ts';
import { visibleText, wordTest } from './words.ts';

/** The parts of an event that stores count by; they decide many terms without the event's payload. */
export interface CountedParts {
  readonly env: string;
  readonly agent: string;
  readonly tool: string;
  readonly verdict: string;
  readonly mode: string;
  /** payload.decision_name. */
  readonly name: string | null;
  /** payload.policy_version; empty without one. */
  readonly version: string;
}

export type QueriedOutcome = Pick<
  EventOutcome,
  'verdict' | 'decisionName' | 'reason' | 'toolSuccess' | 'postconditionsPassed' | 'durationMs' | 'error'
>;

export interface QueriedEvent {
  readonly event: EventInput;
  readonly env: string;
  readonly sample: boolean;
  readonly outcomes: readonly QueriedOutcome[];
}

type CountedTest = (parts: CountedParts, outcomes: readonly QueriedOutcome[]) => boolean;
type EventTest = (queried: QueriedEvent) => boolean;

export interface QueryTest {
  /** The terms that the counted parts decide. */
  fitsCounted: CountedTest;
  /** All terms. */
  fits: EventTest;
  /** False if the counted parts decide every term. */
  readonly needsPayload: boolean;
}

/** The words of the screen. */
export const verdictWords: { readonly [C in CountedAs]: VerdictWord } = {
  allowed: 'allowed',
  denied: 'denied',
  pending: 'asked',
  observed: 'would_deny',
};

/** The word of the screen for an event's verdict: its first one, and a denial in mode observe is "would deny". */
export const verdictWordOf = (verdict: string, mode: string): VerdictWord =>
  verdictWords[countedAs(verdict, mode)];

const namedBy =
  (test: (name: string) => boolean) =>
  ({ decisionName }: QueriedOutcome): boolean =>
    decisionName !== null && test(decisionName);

/** The test of a term that counted parts decide; null for another field. */
function countedTest(term: QueryTerm): CountedTest | null {
  const test = globs(term);
  switch (term.field) {
    case 'verdict':
      return ({ verdict, mode }) => test(verdictWordOf(verdict, mode));
    case 'tool':
      return ({ tool }) => test(tool);
    case 'agent':
      return ({ agent }) => test(agent);
    case 'env':
      return ({ env }) => test(env);
    case 'mode':
      return ({ mode }) => test(mode);
    case 'version':
      return ({ version }) => version !== '' && test(version);
    case 'contract':
      return ({ name }, outcomes) => (name !== null && test(name)) || outcomes.some(namedBy(test));
    default:
      return null;
  }
}

function durationTest({ operator, values }: QueryTerm): EventTest {
  const compare = comparison(operator, durationMsOf(values[0]?.text ?? '') ?? 0);
  return ({ event, outcomes }) => {
    const own = durationOf(event);
    if (own !== null && compare(own)) return true;
    return outcomes.some(({ durationMs }) => durationMs !== undefined && compare(durationMs));
  };
}

const thenActions: ReadonlyMap<string, ThenWord> = new Map([
  ['call_approval_granted', 'approved'],
  ['call_approval_blocked', 'denied'],
  ['call_approval_timeout', 'expired'],
  ['call_executed', 'succeeded'],
  ['call_failed', 'failed'],
  ['postcondition_warning', 'warned'],
]);

const isTimeout = (error: unknown): boolean =>
  typeof error === 'string' && /\btimed?[ _-]?out\b/i.test(error);

type ReportedEnd = { readonly [F in 'toolSuccess' | 'postconditionsPassed' | 'error']?: unknown };

const endIn = (payload: EventInput['payload']): ReportedEnd => ({
  toolSuccess: payload?.tool_success,
  postconditionsPassed: payload?.postconditions_passed,
  error: payload?.error,
});

/** Words for the outcomes of a call after its first verdict. */
export function thenWordsOf(
  event: Pick<EventInput, 'verdict' | 'payload'>,
  outcomes: readonly QueriedOutcome[],
): ReadonlySet<ThenWord> {
  const words = new Set<ThenWord>();
  const add = (verdict: string, end: ReportedEnd): void => {
    const word = thenActions.get(actionOf(verdict));
    if (word) words.add(word);
    if (end.toolSuccess === true) words.add('succeeded');
    if (end.toolSuccess === false) words.add(isTimeout(end.error) ? 'timed_out' : 'failed');
    if (end.postconditionsPassed === false) words.add('warned');
  };
  add(event.verdict, endIn(event.payload));
  for (const outcome of outcomes) add(outcome.verdict, outcome);
  return words;
}

const decisions: readonly ThenWord[] = ['approved', 'denied', 'expired'];

function isPending({ event, outcomes }: QueriedEvent): boolean {
  if (verdictWordOf(event.verdict, event.mode) !== 'asked') return false;
  const words = thenWordsOf(event, outcomes);
  return !decisions.some((word) => words.has(word)) && !words.has('succeeded') && !words.has('failed');
}

const stateTests: { readonly [word: string]: EventTest } = {
  pending: isPending,
  sample: ({ sample }) => sample,
  truncated: ({ event }) => (event.truncated?.length ?? 0) > 0,
};

const reasonsOf = ({ event, outcomes }: QueriedEvent): readonly string[] => [
  ...textsIn(event.payload, 'reason', 'message'),
  ...outcomes.map(({ reason }) => reason).filter(isText),
];

function wordsTest({ values }: QueryTerm, isAnywhere: boolean): EventTest {
  const test = anyOf(values.map(wordTest));
  const isIn = (text: string): boolean => test(visibleText(text) ?? '');
  return (queried) => {
    if (reasonsOf(queried).some(isIn)) return true;
    if (!isAnywhere) return false;
    const { event, outcomes } = queried;
    return (
      [event.agentId, event.toolName, callIdOf(event) ?? ''].some(isIn) ||
      textsIn(event.payload, 'decision_name').some(isIn) ||
      outcomes.some(namedBy(isIn)) ||
      someText(event.payload?.tool_args, test)
    );
  };
}

function payloadTest(term: QueryTerm): EventTest {
  const test = globs(term);
  switch (term.field) {
    case null:
      return wordsTest(term, true);
    case 'reason':
      return wordsTest(term, false);
    case 'then':
      return ({ event, outcomes }) => [...thenWordsOf(event, outcomes)].some(test);
    case 'bundle':
      return ({ event }) => textsIn(event.payload, 'bundle_name').some(test);
    case 'run':
      return ({ event }) => [sessionOf(event), runIdOf(event)].some((id) => id !== null && test(id));
    case 'call':
      return ({ event }) => {
        const callId = callIdOf(event);
        return callId !== null && test(callId);
      };
    case 'args': {
      const fits = pathTest(term);
      return ({ event }) => fits(event.payload?.tool_args);
    }
    case 'principal': {
      const fits = pathTest(term);
      return ({ event }) => fits(event.payload?.principal);
    }
    case 'duration':
      return durationTest(term);
    case 'is': {
      const tests = term.values.map(({ text }) => stateTests[text]);
      return (queried) => tests.some((one) => one?.(queried));
    }
    default:
      return () => false;
  }
}

/** Makes the test of a query that was parsed with the grammar of events. */
export function queryTest({ terms }: Query): QueryTest {
  const counted: CountedTest[] = [];
  const others: EventTest[] = [];
  for (const term of terms) {
    const byParts = countedTest(term);
    if (byParts) counted.push((parts, outcomes) => byParts(parts, outcomes) !== term.isNegated);
    else {
      const test = payloadTest(term);
      others.push((queried) => test(queried) !== term.isNegated);
    }
  }
  const fitsCounted: CountedTest = (parts, outcomes) => counted.every((test) => test(parts, outcomes));
  return {
    fitsCounted,
    fits: (queried) =>
      fitsCounted(countedPartsOf(queried), queried.outcomes) && others.every((test) => test(queried)),
    needsPayload: others.length > 0,
  };
}

const countedPartsOf = ({ event, env }: QueriedEvent): CountedParts => ({
  env,
  agent: event.agentId,
  tool: event.toolName,
  verdict: event.verdict,
  mode: event.mode,
  name: typeof event.payload?.decision_name === 'string' ? event.payload.decision_name : null,
  version: policyVersionOf(event) ?? '',
});

// Audit events: the ingest form, the stored form, outcomes of repeated call ids, and how verdicts are counted. Pure.
import { isolations } from 'reeve-agent/rules';
import { HubError } from '../shared/error.ts';
import { omitUndefined } from '../shared/omit-undefined.ts';
import type { SparseRecordOf } from '../shared/record-fields.ts';
import { snakeKeys } from '../shared/snake-keys.ts';
import type { eventFields, outcomeFields } from './record/fields.ts';
import { conditionResults } from './record/words.ts';

export type StoredEvent = SparseRecordOf<typeof eventFields> & {
  readonly outcomes: readonly EventOutcome[];
};

/** The event as an agent sends it. */
export type EventInput = Omit<StoredEvent, 'id' | 'seq' | 'env' | 'createdAt' | 'outcomes' | 'sample'>;

/**
 * The event as it is kept: a key may write events of any agent, and those of another than the request's own name it.
 * @param sender agent of the request; undefined: all its events are its own
 */
export const withSender = (event: EventInput, sender: string | undefined): EventInput =>
  sender === undefined || event.agentId === sender ? event : { ...event, sentBy: sender };

/** The part of a repeated call id's report that is added to the stored event. */
export type EventOutcome = SparseRecordOf<typeof outcomeFields>;

const maxVersionLength = 255;

/** The policy version that an event's agent ran, when the payload holds a text that can be one. */
export function policyVersionOf({ payload }: Pick<EventInput, 'payload'>): string | null {
  const version = payload?.policy_version;
  const fits = typeof version === 'string' && version !== '' && version.length <= maxVersionLength;
  return fits ? version : null;
}

/** A longer run of a tool is not believed. Milliseconds. */
const maxDurationMs = 30 * 86_400_000;

/** Time that the tool of a call ran, as its event reports it, in milliseconds; null if the event has none. */
export function durationOf({ payload, flat }: Pick<EventInput, 'payload' | 'flat'>): number | null {
  const duration = payload?.duration_ms;
  if (typeof duration !== 'number' || !(duration >= 0 && duration <= maxDurationMs)) return null;
  // A call that has not run has no duration, and clients of the flat form that do not measure send 0.
  const isMeasured = typeof payload?.tool_success === 'boolean' && !(flat && duration === 0);
  return isMeasured ? duration : null;
}

export interface ManifestContract {
  readonly id: string;
  readonly type: string;
  readonly tool: string | readonly string[];
  readonly mode: string;
}

export interface AgentManifest {
  readonly agentId: string;
  readonly policyVersion: string;
  readonly contracts: readonly ManifestContract[];
}

export interface StoredManifest extends AgentManifest {
  readonly updatedAt: number;
}

export type VerdictClass = 'allowed' | 'denied' | 'pending' | 'would_deny';

const classes: { readonly [verdict: string]: VerdictClass } = {
  call_denied: 'denied',
  denied: 'denied',
  deny: 'denied',
  call_blocked: 'denied',
  blocked: 'denied',
  block: 'denied',
  call_approval_denied: 'denied',
  call_approval_blocked: 'denied',
  // An event does not report the effect of the timeout. The default effect is a denial.
  call_approval_timeout: 'denied',
  call_would_deny: 'would_deny',
  would_deny: 'would_deny',
  call_would_block: 'would_deny',
  would_block: 'would_deny',
  observed: 'would_deny',
  observe: 'would_deny',
  call_approval_requested: 'pending',
  call_asked: 'pending',
  ask: 'pending',
  approve: 'pending',
  pending: 'pending',
  pending_approval: 'pending',
};

/** Ends of an approval. As a later report, each answers the question of a contract; the contract denied nothing. */
const approvalEnds: ReadonlySet<string> = new Set([
  'call_approval_denied',
  'call_approval_blocked',
  'call_approval_timeout',
]);

/** The class a verdict is counted in; unknown verdicts count as allowed. */
export const verdictClass = (verdict: string): VerdictClass =>
  Object.hasOwn(classes, verdict) ? (classes[verdict] ?? 'allowed') : 'allowed';

/** The verdicts of a class, for stores that count by value. */
export const verdictsOf = (className: VerdictClass): readonly string[] =>
  Object.keys(classes).filter((verdict) => classes[verdict] === className);

/** The column of the statistics an event stands in: a denial that was only observed counts as observed. */
export type CountedAs = 'allowed' | 'denied' | 'pending' | 'observed';

export type VerdictCounts = { readonly [V in CountedAs]: number };

/** Class by which a stored event is counted: from its first verdict and its mode; outcomes are not counted again. */
export function countedAs(verdict: string, mode: string): CountedAs {
  const classOfVerdict = verdictClass(verdict);
  if (classOfVerdict === 'would_deny') return 'observed';
  return classOfVerdict === 'denied' && mode === 'observe' ? 'observed' : classOfVerdict;
}

/** Class of a later report about an event, for the contract that it names. @param mode of the stored event */
export const outcomeCountedAs = (verdict: string, mode: string): CountedAs =>
  approvalEnds.has(verdict) ? 'pending' : countedAs(verdict, mode);

/** @param events with how many of them there are; default: one */
export function countVerdicts(
  events: Iterable<{ readonly verdict: string; readonly mode: string; readonly count?: number }>,
): VerdictCounts {
  const counts = { allowed: 0, denied: 0, pending: 0, observed: 0 };
  for (const { verdict, mode, count = 1 } of events) counts[countedAs(verdict, mode)] += count;
  return counts;
}

export const addVerdicts = (a: VerdictCounts, b: VerdictCounts): VerdictCounts => ({
  allowed: a.allowed + b.allowed,
  denied: a.denied + b.denied,
  pending: a.pending + b.pending,
  observed: a.observed + b.observed,
});

/** Effect of a call on the counts of one contract in its event. */
export interface ContractMark {
  readonly denied: boolean;
  /** The contract only observed, or would have denied. */
  readonly observed: boolean;
}

/**
 * The contracts that a call names, each once however often it is named: in the stored event, and in its repeats. The
 * mode is the stored event's.
 * @param names what else a contract may be called, and its name: what happens under several of its names happens once
 */
export function contractMarks(
  event: { readonly name: string | null; readonly verdict: string; readonly mode: string },
  outcomes: readonly Pick<EventOutcome, 'decisionName' | 'verdict'>[],
  names?: ReadonlyMap<string, string>,
): Map<string, ContractMark> {
  const marks = new Map<string, ContractMark>();
  const add = (word: string | null, as: CountedAs): void => {
    if (word === null) return;
    const name = names?.get(word) ?? word;
    const { denied = false, observed = false } = marks.get(name) ?? {};
    marks.set(name, { denied: denied || as === 'denied', observed: observed || as === 'observed' });
  };
  add(event.name, countedAs(event.verdict, event.mode));
  for (const { decisionName, verdict } of outcomes) add(decisionName, outcomeCountedAs(verdict, event.mode));
  return marks;
}

/** Outcomes that a stored event takes; those of later repeats are not kept. */
export const maxOutcomes = 50;
/** Characters of a text that an outcome keeps. */
const maxOutcomeText = 1000;

/** A text as an outcome keeps it; null for anything else. */
export const outcomeText = (value: unknown): string | null =>
  // The cut may leave half of a surrogate pair.
  typeof value === 'string' ? value.slice(0, maxOutcomeText).replace(/[\ud800-\udbff]$/, '') : null;

/** Conditions that an outcome keeps. */
const maxConditions = 50;
/** Their characters as JSON; longer ones are not kept. */
const maxOutcomeConditions = 20_480;

/** One comparison of the contract that decided, as it came out for the call. */
export interface EventCondition {
  readonly path: string;
  readonly operator: string;
  readonly expected: unknown;
  readonly actual: unknown;
  readonly result: (typeof conditionResults)[number];
}

function conditionIn(value: unknown): EventCondition | null {
  const { path, operator, expected = null, actual = null, result } = (value ?? {}) as Partial<EventCondition>;
  const word = conditionResults.find((one) => one === result);
  if (typeof path !== 'string' || typeof operator !== 'string' || word === undefined) return null;
  return { path, operator, expected, actual, result: word };
}

/** The conditions in a payload's list, at most 50; none in anything else. */
export const conditionsIn = (value: unknown): readonly EventCondition[] =>
  Array.isArray(value) ? value.slice(0, maxConditions).flatMap((item) => conditionIn(item) ?? []) : [];

function conditionsText(value: unknown): string | undefined {
  const conditions = conditionsIn(value);
  const text = JSON.stringify(conditions);
  return conditions.length > 0 && text.length <= maxOutcomeConditions ? text : undefined;
}

/** The conditions that an outcome keeps; absent when it has none. */
export const readConditions = (text: EventOutcome['conditions']): EventCondition[] | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as EventCondition[]);

const booleanOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

/** End of the tool's run, as a repeat reports it. */
function endOf(event: EventInput) {
  const { payload } = event;
  return omitUndefined({
    toolSuccess: booleanOf(payload?.tool_success),
    postconditionsPassed: booleanOf(payload?.postconditions_passed),
    durationMs: durationOf(event) ?? undefined,
    error: outcomeText(payload?.error) ?? undefined,
    policyError: booleanOf(payload?.policy_error),
    isolation: isolations.find((one) => one === payload?.isolation),
    conditions: conditionsText(payload?.conditions),
  });
}

/** The outcome that a repeated event adds. */
export function eventOutcomeOf(event: EventInput): EventOutcome {
  return {
    verdict: event.verdict,
    timestamp: event.timestamp,
    decisionSource: outcomeText(event.payload?.decision_source),
    decisionName: outcomeText(event.payload?.decision_name),
    reason: outcomeText(event.payload?.reason),
    sentBy: event.sentBy ?? event.agentId,
    ...endOf(event),
  };
}

/** A repeat of the event that adds the outcome: the reverse of `eventOutcomeOf`. */
export function repeatOf(event: EventInput, outcome: EventOutcome): EventInput {
  const { verdict, timestamp, sentBy, conditions, ...fields } = outcome;
  const { sentBy: _sender, ...rest } = event;
  return {
    ...rest,
    verdict,
    timestamp,
    payload: {
      ...snakeKeys(fields),
      ...(conditions === undefined ? {} : { conditions: JSON.parse(conditions) as unknown }),
    } as EventInput['payload'],
    ...(sentBy === undefined || sentBy === event.agentId ? {} : { sentBy }),
  };
}

/**
 * Distinguishes repeats of a call: two contracts in observe mode report the same verdict for one call, each with its
 * own name.
 */
export const outcomeKey = (verdict: string, decisionName: string | null): string =>
  JSON.stringify([verdict, decisionName]);

/** The key of an event as an outcome. */
export const keyAsOutcome = (event: EventInput): string =>
  outcomeKey(event.verdict, outcomeText(event.payload?.decision_name));

/** A search, or a count over events, that takes longer is ended. Milliseconds. */
export const maxSearchMs = 6000;

export const searchTimeout = (): HubError =>
  new HubError(
    'search_timeout',
    `The search took longer than ${maxSearchMs / 1000} seconds, so the hub ended it. Narrow it: a shorter time ` +
      'range, an agent, a tool or a verdict.',
  );

export interface Ingested {
  /** Events stored as new rows. */
  readonly accepted: number;
  /** Events whose call id was stored already, or stood earlier in the same batch. */
  readonly duplicates: number;
}

/** Fields for counts of events. `firstVerdict`: one of the four words of calls, once for each event. */
export const facetNames = [
  'agentId',
  'toolName',
  'verdict',
  'firstVerdict',
  'mode',
  'decisionName',
  'env',
] as const;

export type FacetName = (typeof facetNames)[number];

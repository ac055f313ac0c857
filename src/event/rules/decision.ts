// Decision events: one vocabulary for what became of a call, whichever API reported it. Pure.

import type { JsonObject } from '../../contract/record.ts';
import {
  type DecisionAction,
  type DecisionClass,
  decisionActions,
  decisionClasses,
} from '../record/words.ts';
import type { EventInput } from '../record.ts';

// Maps, because each event is looked up several times.
const classOfAction: ReadonlyMap<string, DecisionClass> = new Map<DecisionAction, DecisionClass>([
  ['call_allowed', 'allow'],
  ['call_executed', 'allow'],
  ['call_approval_granted', 'allow'],
  ['call_blocked', 'block'],
  ['call_approval_blocked', 'block'],
  ['call_asked', 'ask'],
  ['call_would_block', 'would_block'],
  ['call_approval_timeout', 'timeout'],
  ['call_failed', 'fail'],
  ['postcondition_warning', 'warn'],
  ['workflow_stage_advanced', 'workflow'],
  ['workflow_completed', 'workflow'],
  ['workflow_state_updated', 'workflow'],
]);

/** The other words that clients report the same with: those of the console API, and short ones. */
const actionOfWord: ReadonlyMap<string, DecisionAction> = new Map([
  ['call_denied', 'call_blocked'],
  ['call_would_deny', 'call_would_block'],
  ['call_approval_requested', 'call_asked'],
  ['call_approval_denied', 'call_approval_blocked'],
  ['allow', 'call_allowed'],
  ['allowed', 'call_allowed'],
  ['executed', 'call_executed'],
  ['deny', 'call_blocked'],
  ['denied', 'call_blocked'],
  ['would_deny', 'call_would_block'],
  ['pending', 'call_asked'],
  ['pending_approval', 'call_asked'],
]);

const consoleWords: ReadonlyMap<string, string> = new Map([
  ['call_blocked', 'call_denied'],
  ['call_would_block', 'call_would_deny'],
  ['call_asked', 'call_approval_requested'],
  ['call_approval_blocked', 'call_approval_denied'],
]);

/** The hosted word for what an event reports; a word that the hub does not know stays as it is. */
export const actionOf = (verdict: string): string => actionOfWord.get(verdict) ?? verdict;

/** The console's word for an action. */
export const consoleVerdict = (action: string): string => consoleWords.get(action) ?? action;

export const classOf = (verdict: string): DecisionClass => classOfAction.get(actionOf(verdict)) ?? 'other';

/** Every word that is stored for one of the actions that `wanted` accepts. */
const wordsWhere = (isIncluded: (action: DecisionAction) => boolean): readonly string[] => [
  ...decisionActions.filter(isIncluded),
  ...[...actionOfWord].flatMap(([word, action]) => (isIncluded(action) ? [word] : [])),
];

/**
 * A filter for events whose stored word is in `any`. With `others`, also for events with words that the hub does not
 * know.
 */
export interface VerdictFilter {
  readonly any: readonly string[];
  readonly others: boolean;
}

/** The words that the hub knows. */
export const knownVerdicts: readonly string[] = wordsWhere(() => true);
const allVerdicts = new Set(knownVerdicts);

/** True when the stored word is one that the filter asks for. */
export const isWanted = (filter: VerdictFilter, verdict: string): boolean =>
  filter.any.includes(verdict) || (filter.others && !allVerdicts.has(verdict));

/** The filter for classes and actions, as a query names them; null when one of the words is neither. */
export function verdictFilter(words: readonly string[]): VerdictFilter | null {
  const any = new Set<string>();
  let others = false;
  for (const word of words) {
    const action = actionOf(word);
    if (word === 'other') others = true;
    else if ((decisionClasses as readonly string[]).includes(word)) {
      for (const stored of wordsWhere((one) => classOfAction.get(one) === word)) any.add(stored);
    } else if ((decisionActions as readonly string[]).includes(action)) {
      for (const stored of wordsWhere((one) => one === action)) any.add(stored);
    } else return null;
  }
  return { any: [...any], others };
}

/** An id made of a digest: a UUID of version 8 (RFC 9562), which no client makes and which is kept in few bytes. */
export function contentId(sha256: string): string {
  const variant = '89ab'[Number.parseInt(sha256.charAt(16), 16) % 4] ?? '8';
  return [
    sha256.slice(0, 8),
    sha256.slice(8, 12),
    `8${sha256.slice(13, 16)}`,
    `${variant}${sha256.slice(17, 20)}`,
    sha256.slice(20, 32),
  ].join('-');
}

/** The call id that an event's sender gave it; null when it gave none. */
export const callIdOf = (event: Pick<EventInput, 'callId' | 'givenCallId' | 'unnamed'>): string | null =>
  event.unnamed ? null : (event.givenCallId ?? event.callId);

/** A text of an event's payload that is not empty. */
export const textIn = (payload: JsonObject | null, key: string): string | null => {
  const value = payload !== null && Object.hasOwn(payload, key) ? payload[key] : null;
  return typeof value === 'string' && value !== '' ? value : null;
};

/** UTF-16 units of a session id; a longer one names no run. */
const maxSession = 255;

/** The session that an event belongs to: that of its agent, else its run id; null when it names neither. */
export function sessionOf({ payload }: Pick<EventInput, 'payload'>): string | null {
  const session = textIn(payload, 'session_id') ?? textIn(payload, 'run_id');
  return session !== null && session.length <= maxSession ? session : null;
}

export const parentSessionOf = ({ payload }: Pick<EventInput, 'payload'>): string | null =>
  textIn(payload, 'parent_session_id');

export const runIdOf = ({ payload }: Pick<EventInput, 'payload'>): string | null => textIn(payload, 'run_id');

export const decisionNameOf = ({ payload }: Pick<EventInput, 'payload'>): string | null =>
  textIn(payload, 'decision_name');

/** Place of an event among those of its agent at one time; 0 if the event has none. */
export function callIndexOf({ payload }: Pick<EventInput, 'payload'>): number {
  const index = payload?.call_index;
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : 0;
}

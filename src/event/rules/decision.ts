// Decision events: one vocabulary for what became of a call, whichever API reported it, and the flat form of the hosted
// API. Pure.

import type { JsonObject } from '../../contract/record.ts';
import { dayMs } from '../../shared/duration.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import { maxJsonDepth } from '../../shared/json/json.ts';
import type { EventInput } from '../record.ts';
import { depthOf, type RepairContext, type Repaired, repairEvent, type Shortened } from './repair.ts';

/** Actions in events, in the words of the hosted API. */
export const decisionActions = [
  'call_allowed',
  'call_blocked',
  'call_would_block',
  'call_executed',
  'call_failed',
  'call_asked',
  'call_approval_granted',
  'call_approval_blocked',
  'call_approval_timeout',
  'postcondition_warning',
  'workflow_stage_advanced',
  'workflow_completed',
  'workflow_state_updated',
] as const;
export type DecisionAction = (typeof decisionActions)[number];

/** Classes of actions for counts and filters. `other` is a word that the hub does not know. */
export const decisionClasses = [
  'allow',
  'block',
  'ask',
  'would_block',
  'timeout',
  'fail',
  'warn',
  'workflow',
  'other',
] as const;
export type DecisionClass = (typeof decisionClasses)[number];

const classes: { readonly [A in DecisionAction]: DecisionClass } = {
  call_allowed: 'allow',
  call_executed: 'allow',
  call_approval_granted: 'allow',
  call_blocked: 'block',
  call_approval_blocked: 'block',
  call_asked: 'ask',
  call_would_block: 'would_block',
  call_approval_timeout: 'timeout',
  call_failed: 'fail',
  postcondition_warning: 'warn',
  workflow_stage_advanced: 'workflow',
  workflow_completed: 'workflow',
  workflow_state_updated: 'workflow',
};

/** The other words that clients report the same with: those of the console API, and short ones. */
const synonyms: { readonly [word: string]: DecisionAction } = {
  call_denied: 'call_blocked',
  call_would_deny: 'call_would_block',
  call_approval_requested: 'call_asked',
  call_approval_denied: 'call_approval_blocked',
  allow: 'call_allowed',
  allowed: 'call_allowed',
  executed: 'call_executed',
  deny: 'call_blocked',
  denied: 'call_blocked',
  would_deny: 'call_would_block',
  pending: 'call_asked',
  pending_approval: 'call_asked',
};

const consoleWords: { readonly [word: string]: string } = {
  call_blocked: 'call_denied',
  call_would_block: 'call_would_deny',
  call_asked: 'call_approval_requested',
  call_approval_blocked: 'call_approval_denied',
};

// Maps, because each event is looked up several times.
const actionOfWord = new Map(Object.entries(synonyms));
const wordOfAction = new Map(Object.entries(consoleWords));
const classOfAction = new Map<string, DecisionClass>(Object.entries(classes));

/** The hosted word for what an event reports; a word that the hub does not know stays as it is. */
export const actionOf = (verdict: string): string => actionOfWord.get(verdict) ?? verdict;

/** The console's word for an action. */
export const consoleVerdict = (action: string): string => wordOfAction.get(action) ?? action;

export const classOf = (verdict: string): DecisionClass => classOfAction.get(actionOf(verdict)) ?? 'other';

/** Every word that is stored for one of the actions that `wanted` accepts. */
const wordsWhere = (isIncluded: (action: DecisionAction) => boolean): readonly string[] => [
  ...decisionActions.filter(isIncluded),
  ...Object.keys(synonyms).filter((word) => {
    const action = synonyms[word];
    return action !== undefined && isIncluded(action);
  }),
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
      for (const stored of wordsWhere((one) => classes[one] === word)) any.add(stored);
    } else if ((decisionActions as readonly string[]).includes(action)) {
      for (const stored of wordsWhere((one) => one === action)) any.add(stored);
    } else return null;
  }
  return { any: [...any], others };
}

/**
 * An event from further in the future than this is refused: the agent's clock is wrong, and it would be the newest for
 * long.
 */
export const maxAheadMs = dayMs;

export type FlatRepaired = Repaired | { readonly code: 'timestamp_in_future'; readonly detail: string };

/**
 * An event in the flat form of the hosted API, made fit to be stored. One with a nested `payload` is taken, too. It is
 * told apart by its content, because several events report one call; the call id that it came with is kept beside that.
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param shortened of an event that was shortened
 */
export function repairFlatEvent(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  shortened?: Shortened,
): FlatRepaired {
  if (!isMapping(value) || depth > maxJsonDepth) return repairEvent(value, context, depth);
  const { call_id, agent_id, tool_name, action, verdict, decision, mode, timestamp, payload, ...rest } =
    value;
  const word = action ?? verdict ?? decision;
  const judgedAction = typeof word === 'string' ? actionOf(word) : word;
  const form = {
    call_id,
    agent_id,
    tool_name,
    verdict: judgedAction,
    mode,
    timestamp,
    payload: isMapping(payload) ? { ...payload, ...rest } : rest,
  };
  const agent = agent_id ?? context.agentId;
  const content = shortened
    ? canonicalJson([agent, shortened.digest])
    : canonicalJson({ ...form, agent_id: agent });
  const repaired = repairEvent(form, context, depth, content, shortened);
  if (!('event' in repaired)) return repaired;
  const { event } = repaired;
  if (event.timestamp > context.now + maxAheadMs) {
    return {
      code: 'timestamp_in_future',
      detail: "The timestamp is more than 24 hours in the future. Correct the agent's clock.",
    };
  }
  return {
    event: {
      ...event,
      call_id: contentId(context.sha256(content)),
      flat: true,
      ...(event.unnamed ? {} : { given_call_id: event.call_id }),
    },
  };
}

/**
 * An event as the console API takes it: nested, or in the flat form of newer clients, whose `action` is the verdict and
 * whose other fields are the payload. It is told apart by its call id in either form.
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param shortened of an event that was shortened
 * @param maxBytes the most that the event can have as JSON, where that is known before
 */
export function repairEitherForm(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  shortened?: Shortened,
  maxBytes?: number,
): Repaired {
  if (!isMapping(value) || !isFlat(value) || depth > maxJsonDepth)
    return repairEvent(value, context, depth, undefined, shortened, maxBytes);
  const { call_id, agent_id, tool_name, action, mode, timestamp, payload: _, ...payload } = value;
  const verdict = consoleVerdict(String(action));
  const nested = { call_id, agent_id, tool_name, verdict, mode, timestamp, payload };
  return repairEvent(nested, context, depth, undefined, shortened, maxBytes);
}

/** True if the console API treats the event as one in the flat form. */
export const isFlat = ({ action, verdict, decision, payload }: JsonObject): boolean =>
  typeof action === 'string' && verdict === undefined && decision === undefined && !isMapping(payload);

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

const isMapping = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The call id that an event's sender gave it; null when it gave none. */
export const callIdOf = (event: Pick<EventInput, 'call_id' | 'given_call_id' | 'unnamed'>): string | null =>
  event.unnamed ? null : (event.given_call_id ?? event.call_id);

/** A text of an event's payload that says something. */
const textIn = (payload: JsonObject | null, key: string): string | null => {
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

export const policyVersionOf = ({ payload }: Pick<EventInput, 'payload'>): string | null =>
  textIn(payload, 'policy_version');

export const decisionNameOf = ({ payload }: Pick<EventInput, 'payload'>): string | null =>
  textIn(payload, 'decision_name');

/** The place of an event among those of its agent at one time; 0 when it does not say. */
export function callIndexOf({ payload }: Pick<EventInput, 'payload'>): number {
  const index = payload?.call_index;
  return typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : 0;
}

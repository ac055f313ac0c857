// A report about a call: an event, or a repeat that adds an outcome to one. Both count alike in their run, and the
// audit chain can record both. Pure.

import type { AuditNote } from '../../audit/record.ts';
import type { DecisionAction } from '../../event/record/words.ts';
import { type EventInput, type EventOutcome, keyAsOutcome, outcomeKey } from '../../event/record.ts';
import {
  actionOf,
  callIdOf,
  contentId,
  decisionNameOf,
  runIdOf,
  sessionOf,
} from '../../event/rules/decision.ts';
import type { Env } from '../../shared/ids.ts';
import { renderInstant } from '../../shared/instant.ts';
import { decisionDetails, type RunFacts } from '../record.ts';
import { factsBySession } from './run.ts';

/** Name of each decision in the chain, and its words in a sentence. */
type Decision = readonly [name: AuditNote['action'], says: string];
const observed: Decision = ['run.would_block', 'would have been blocked'];
const decisions: ReadonlyMap<string, Decision> = new Map<DecisionAction, Decision>([
  ['call_blocked', ['run.blocked', 'was blocked']],
  ['call_would_block', observed],
  ['call_asked', ['run.asked', 'waits for a person']],
  ['call_approval_granted', ['run.approval_granted', 'was approved']],
  ['call_approval_blocked', ['run.approval_blocked', 'was not approved']],
  ['call_approval_timeout', ['run.approval_timeout', 'was not decided on in time']],
  ['workflow_completed', ['run.completed', 'completed the workflow']],
]);

/** The API key that brought events. */
export interface Reporter {
  readonly keyId: string;
  /** Visible part of the key. */
  readonly prefix: string;
}

interface Batch {
  readonly tenantId: string;
  readonly env: Env;
  readonly receivedAt: number;
  /** Absent where no key brought them, or none is recorded. */
  readonly reporter?: Reporter;
}

const decisionOf = ({ verdict }: { readonly verdict: string }) => decisions.get(actionOf(verdict));

/** True if the audit chain records the decision. */
export const isRunDecision = (event: EventInput): boolean =>
  decisionOf(event) !== undefined && sessionOf(event) !== null;

/** Hex SHA-256. */
type Sha256 = (text: string) => string;

const noteId = (tenantId: string, callId: string, key: string, sha256: Sha256): string =>
  contentId(sha256(JSON.stringify([tenantId, 'run', callId, key])));

/**
 * The ids of all entries that a stored event and its outcomes can have in the audit chain. An outcome may be of another
 * session than its event.
 */
export const runNoteIds = (
  tenantId: string,
  event: EventInput,
  outcomes: readonly EventOutcome[],
  sha256: Sha256,
): readonly string[] => [
  ...(isRunDecision(event) ? [noteId(tenantId, event.callId, keyAsOutcome(event), sha256)] : []),
  ...outcomes
    .filter(decisionOf)
    .map(({ verdict, decisionName }) =>
      noteId(tenantId, event.callId, outcomeKey(verdict, decisionName), sha256),
    ),
];

/**
 * The entry of a decision in a run; null for what is none, and for an event of no run. It records what a key reports,
 * which no person did and no approval has to be behind. Its id follows from the report: a repeat is recorded once. Of
 * the arguments nothing is kept.
 */
export function runNote(
  event: EventInput,
  { tenantId, env, receivedAt, reporter }: Batch,
  sha256: Sha256,
): AuditNote | null {
  const decision = decisionOf(event);
  const session = decision === undefined ? null : sessionOf(event);
  if (!decision || session === null) return null;
  // A contract that only observes refuses nothing.
  const isObserved = actionOf(event.verdict) === 'call_blocked' && event.mode === 'observe';
  const [name, says] = isObserved ? observed : decision;
  const { agentId, toolName: tool } = event;
  return {
    id: noteId(tenantId, event.callId, keyAsOutcome(event), sha256),
    tenantId,
    at: receivedAt,
    actor: reporter
      ? { type: 'key', id: reporter.keyId, display: reporter.prefix }
      : { type: 'agent', id: agentId, display: agentId },
    action: name,
    subject: { id: `${agentId}/${session}`, name: runIdOf(event) },
    summary:
      `Reported by ${reporter ? `key ${reporter.prefix}` : 'the agent'}: ` +
      `a call of ${tool.slice(0, 100)} by agent ${agentId.slice(0, 100)} ${says}.`,
    details: decisionDetails({
      env,
      rule: decisionNameOf(event)?.slice(0, 128) ?? null,
      toolName: tool.slice(0, 128),
      callId: callIdOf(event),
      reportedAt: renderInstant(event.timestamp),
      keyId: reporter?.keyId ?? null,
    }),
    agentId,
    sessionId: session,
  };
}

/**
 * The facts that a report adds to its run; null without a run. Places in the order of arrival are relative to the
 * event's.
 */
export function reportFacts(
  event: EventInput,
  batch: Pick<Batch, 'env' | 'receivedAt'>,
): readonly [session: string, facts: RunFacts] | null {
  const [sessionFacts] = factsBySession([event], batch, () => ({ seq: 0 }));
  return sessionFacts ?? null;
}

// A decision event in the hosted API's words.

import { z } from 'zod';
import type { RulesetVersionKey } from '../../bundle/record.ts';
import { instant } from '../../http/contract/fields.ts';
import { micros } from '../../http/contract/hosted-time.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { listed } from '../../shared/truncated.ts';
import { callEnd } from '../console/schemas.ts';
import { decisionClass } from '../record/decision-class.ts';
import { type EventOutcome, readConditions, type StoredEvent } from '../record.ts';
import { actionOf, callIdOf, classOf, parentSessionOf, sessionOf, textIn } from '../rules/decision.ts';
import { flatFields } from '../rules/flat.ts';

const object = z.record(z.string(), z.unknown());

const nullable = listed(z.unknown()).nullable();

const name = z.string();

/** A stored event. Fields that are listed neither here nor for events that are sent stand in `extra`. */
export const decisionEvent = z.looseObject({
  id: name,
  /** Its place in the order of arrival. */
  seq: z.number().int(),
  received_at: instant,
  /** Class that the action counts as. */
  decision: decisionClass,
  ruleset_name: name.nullable(),
  ruleset_version: z.number().int().nullable(),
  /** The run that it belongs to. */
  run_key: z.object({ agent_id: name, session_id: name }).nullable(),
  call_id: name.nullable(),
  agent_id: name,
  tool_name: name,
  /** Arguments that the agent sent; an empty object when it sent none. */
  tool_args: listed(z.unknown()),
  action: name,
  mode: name,
  timestamp: instant,
  /** The agent's own word if it sent one, else the environment that the event belongs to. */
  environment: name,
  session_id: name.nullable(),
  parent_session_id: name.nullable(),
  run_id: nullable,
  decision_source: nullable,
  decision_name: nullable,
  reason: nullable,
  policy_version: nullable,
  workflow: nullable,
  /** The agent id of the request that brought it, when that is another than `agent_id`. */
  sent_by: name.nullable(),
  /** Fields that were cut to make the event fit; absent when none was. */
  truncated: z.array(name).optional(),
  /**
   * Fields that the agent sent beyond those of this form, by name, up to 8 KiB of JSON; others are left out. Absent
   * when there are none.
   */
  extra: listed(object).optional(),
  /** True for an event of the sample run. */
  sample: z.boolean().optional(),
  /** Outcomes from repeats of the call id, for events that came to the console API; absent when there are none. */
  outcomes: listed(
    z.array(
      z.object({
        action: name,
        decision: decisionClass,
        timestamp: instant,
        decision_source: name.nullable(),
        decision_name: name.nullable(),
        reason: name.nullable(),
        ...callEnd,
      }),
    ),
  ).optional(),
});

/** End of a call, if the repeat contains it. */
const endOf = (outcome: EventOutcome) =>
  omitUndefined({
    tool_success: outcome.toolSuccess,
    postconditions_passed: outcome.postconditionsPassed,
    duration_ms: outcome.durationMs,
    error: outcome.error,
    policy_error: outcome.policyError,
    isolation: outcome.isolation,
    conditions: readConditions(outcome.conditions),
  });

/** @param ruleset the version that the event's policy version is */
export function renderEvent(event: StoredEvent, ruleset: RulesetVersionKey | null) {
  const { payload } = event;
  const action = actionOf(event.verdict);
  const sessionId = sessionOf(event);
  const environment = payload?.environment;
  return {
    side_effect: null,
    principal: null,
    decision_source: null,
    decision_name: null,
    reason: null,
    workflow: null,
    ...flatFields(payload),
    // The hub's fields come last, so that they replace those from the payload.
    id: event.id,
    seq: event.seq,
    received_at: micros(event.createdAt),
    decision: classOf(action),
    ruleset_name: ruleset?.name ?? null,
    ruleset_version: ruleset?.version ?? null,
    run_key: sessionId === null ? null : { agent_id: event.agentId, session_id: sessionId },
    call_id: callIdOf(event),
    agent_id: event.agentId,
    tool_name: event.toolName,
    // A call without arguments has no arguments, in whatever form its agent sent that.
    tool_args: payload?.tool_args ?? {},
    action,
    mode: event.mode,
    timestamp: micros(event.timestamp),
    environment: typeof environment === 'string' && environment !== '' ? environment : event.env,
    session_id: sessionId,
    parent_session_id: parentSessionOf(event),
    run_id: payload?.run_id || null,
    policy_version: textIn(payload, 'policy_version'),
    sent_by: event.sentBy ?? null,
    ...(event.truncated
      ? { truncated: event.truncated.map((field) => field.replace(/^payload\./, '')) }
      : {}),
    ...(event.sample ? { sample: true as const } : {}),
    ...(event.outcomes.length > 0
      ? {
          outcomes: event.outcomes.map((outcome) => ({
            action: actionOf(outcome.verdict),
            decision: classOf(outcome.verdict),
            timestamp: micros(outcome.timestamp),
            decision_source: outcome.decisionSource,
            decision_name: outcome.decisionName,
            reason: outcome.reason,
            ...endOf(outcome),
          })),
        }
      : {}),
  };
}

// Schemas of events that both APIs share.
import { z } from 'zod';
import { condition, outcomeRecord } from '../record/fields.ts';

export const name = z.string();

/** The four words of a call. */
export const callVerdict = z.enum(['allowed', 'denied', 'would_deny', 'asked']);

/** The part of both routes that take events that does not differ. */
export const intake = {
  audit: 'Events are a record of their own; the decisions among them are recorded as approvals and runs.',
  errors: [
    'invalid_json',
    'forbidden',
    'validation_failed',
    'rate_limited',
    'disk_full',
    'overloaded',
    'unavailable',
  ],
  limit: 'own',
} as const;

export const rejected = z.object({
  /** In the list that was sent. */
  index: z.number().int(),
  call_id: z.string().nullable(),
  /** `not_an_object`, `too_deep`, or `forbidden`: the API key is not bound to the event's agent. */
  code: z.string(),
  detail: z.string(),
});

/** The call and its end in an event that an agent sends. */
export const reportedCall = {
  call_index: z.number().int().nullish(),
  parent_call_id: name.nullish(),
  tool_success: z.boolean().nullish(),
  postconditions_passed: z.boolean().nullish(),
  /**
   * Run time of the tool, in milliseconds. On the console API, it counts if `tool_success` shows that the tool ran. On
   * the hosted API, 0 does not count, because many clients do not measure.
   */
  duration_ms: z.number().nullish(),
  error: name.nullish(),
  policy_error: z.boolean().nullish(),
  /** `bubblewrap` or `none`: containment of the programs that the tool has run. */
  isolation: name.nullish(),
  session_attempt_count: z.number().int().nullish(),
  session_execution_count: z.number().int().nullish(),
  /** True on a verdict that follows the decision on its call, such as a refusal after an approval. */
  follows_decision: z.boolean().nullish(),
  /** Of the contract that decided, at most 50. */
  conditions: z.array(condition).nullish(),
};

/** An outcome in the words of the console API. */
export const outcome = outcomeRecord.reply('console', 'one');

/** End of a call, if the event or the repeat contains it. */
export const callEnd = outcome.pick({
  tool_success: true,
  postconditions_passed: true,
  duration_ms: true,
  error: true,
  policy_error: true,
  isolation: true,
  conditions: true,
}).shape;

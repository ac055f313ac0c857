// Schemas of events that both APIs share.
import { z } from 'zod';
import { conditionResults } from '../record.ts';

export const name = z.string();

/** The four words of a call. */
export const callVerdict = z.enum(['allowed', 'denied', 'would_deny', 'asked']);

/** One comparison of the contract that decided, as it came out for the call. Values are redacted and cut. */
export const condition = z.object({
  /** The selector, such as `args.path`; `args` for a sandbox, `limits.<limit>` for a limit of a session. */
  path: z.string(),
  /** Of the rule language; for a sandbox the key of the boundary, such as `within`. */
  operator: z.string(),
  expected: z.unknown(),
  /** Null: the call has nothing there. */
  actual: z.unknown(),
  /** `yes` or `no`: the comparison holds or not. `fault`: it could not be made. `skipped`: earlier ones had decided. */
  result: z.enum(conditionResults),
});

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
  session_attempt_count: z.number().int().nullish(),
  session_execution_count: z.number().int().nullish(),
  /** True on a verdict that follows the decision on its call, such as a refusal after an approval. */
  follows_decision: z.boolean().nullish(),
  /** Of the contract that decided, at most 50. */
  conditions: z.array(condition).nullish(),
};

/** End of a call, if the event or the repeat contains it. */
export const callEnd = {
  tool_success: z.boolean().optional(),
  postconditions_passed: z.boolean().optional(),
  /** Run time of the tool. */
  duration_ms: z.number().optional(),
  error: z.string().optional(),
  /** A contract failed instead of answering. */
  policy_error: z.boolean().optional(),
  conditions: z.array(condition).optional(),
};

// The fields of an event and of its outcomes, declared once. Both stores keep events as the JSON of json.ts, which is
// written out, as is what reads events for ingest.
import { isolations } from 'reeve-agent/rules';
import { z } from 'zod';
import type { JsonObject } from '../../contract/record.ts';
import { field, instant, json, record } from '../../shared/record.ts';
import { anyObject, isoInstant } from '../../shared/schemas.ts';
import { conditionResults } from './words.ts';

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

/** Epoch milliseconds, fractions allowed (microseconds survive). */
const preciseInstant = field(z.number(), { schema: isoInstant });
/** The agent id of the request that brought it, when that is another than the event's own. */
const sentBy = field(z.string().optional(), { schema: z.string().nullable() });

export const outcomeFields = {
  verdict: field(z.string()),
  timestamp: preciseInstant,
  decisionSource: field(z.string().nullable()),
  decisionName: field(z.string().nullable()),
  reason: field(z.string().nullable()),
  /** Absent: as the event's. */
  sentBy,
  // The rest is absent where the repeat does not contain it.
  toolSuccess: field(z.boolean().optional()),
  postconditionsPassed: field(z.boolean().optional()),
  /** Run time of the tool, in milliseconds. */
  durationMs: field(z.number().optional()),
  error: field(z.string().optional()),
  policyError: field(z.boolean().optional()),
  /** Containment of the programs that the tool has run. */
  isolation: field(z.enum(isolations).optional()),
  /** JSON: the conditions of the contract that decided, as the repeat lists them. */
  conditions: field(z.string().optional(), { schema: z.array(condition).optional() }),
};
export const outcomeRecord = record('event_outcomes', outcomeFields);

const kept = { wire: false } as const;
/** Those that agents send, in the order of replies. */
export const eventFields = {
  id: field(z.string()),
  /** On the wire null for an event without one. */
  callId: field(z.string(), { schema: z.string().nullable() }),
  agentId: field(z.string()),
  sentBy,
  toolName: field(z.string()),
  verdict: field(z.string()),
  mode: field(z.string()),
  timestamp: preciseInstant,
  payload: field(json<JsonObject, typeof anyObject>(anyObject).nullable()),
  env: field(z.string()),
  createdAt: field(instant),
  /** Fields that were cut to fit, for example `tool_name` or `payload.tool_args`. */
  truncated: field(z.array(z.string()).optional()),
  /** Of the sample run: shown, and counted nowhere. */
  sample: field(z.literal(true).optional(), { schema: z.boolean().optional() }),
  /** Its place in the order of arrival: later events of a tenant have higher ones. Below 2^53. */
  seq: field(z.number().int(), kept),
  /** The event came without a call id: `callId` is made of its content, and readers get null. */
  unnamed: field(z.literal(true).optional(), kept),
  /**
   * It came in the flat form of the hosted API: `callId` is made of its content, because several events report one
   * call.
   */
  flat: field(z.literal(true).optional(), kept),
  /** With `flat`: the call id that its sender gave it. */
  givenCallId: field(z.string().optional(), kept),
};
export const eventRecord = record('events', eventFields);

// Route of the explanation of a stored call.
import { z } from 'zod';
import { callVerdict } from '../../event/console/schemas.ts';
import { condition } from '../../event/record/fields.ts';
import { env, instant, instantInput, pathId } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

const count = z.number().int();

export const explainedCondition = condition.extend({
  /** In the document, from 1; null: unknown. */
  line: count.nullable(),
  /**
   * `yes` or `no`: the comparison holds or does not. `fault`: it could not be made. `skipped`: the ones before it had
   * decided. `uncertain`: the event contains the value only in part.
   */
  result: z.enum(['yes', 'no', 'fault', 'skipped', 'uncertain']),
});

export const explainRoutes = routes({
  explainEvent: {
    method: 'GET',
    path: '/api/v1/events/{event_id}/explain',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'events',
    summary:
      'Why a call was decided so: each condition of the deciding contract with the compared values, as the agent ' +
      'recorded them or as the hub evaluates them on the stored call; the same call under the version that runs now; ' +
      'and similar calls in a range, by default of the last 24 hours',
    params: z.object({ event_id: pathId }),
    query: z.object({ env: env.optional(), since: instantInput.optional(), until: instantInput.optional() }),
    status: 200,
    reply: z.object({
      source: z.enum(['recorded', 'recomputed', 'unavailable']),
      /** Reason why there are no conditions; null if there are. */
      reason: z.string().nullable(),
      /** The document that decided; null: the hub does not have it. */
      bundle: z
        .object({
          name: z.string(),
          version: count,
          /** The deployment in force; null: the version was not deployed in the environment then. */
          deployment_id: z.string().nullable(),
          at: instant.nullable(),
          by: z.string().nullable(),
        })
        .nullable(),
      contract_id: z.string().nullable(),
      contract: z
        .object({
          id: z.string(),
          /** Its lines in the document, without their common indentation. */
          yaml: z.string(),
          /** From 1. */
          first_line: count,
        })
        .nullable(),
      conditions: z.array(explainedCondition),
      /** Paths of values that the event does not contain whole: redacted, cut, or never sent. */
      uncertain: z.array(z.string()),
      /** Null: the environment does not run the bundle now. */
      now: z
        .object({
          version: count,
          /** The contract's text is the same. */
          same_text: z.boolean(),
          /** Of the same call; null: uncertain. */
          verdict: callVerdict.nullable(),
        })
        .nullable(),
      /** Calls of the same tool, contract and verdict. */
      similar: z.object({ q: z.string(), count }),
    }),
    search: true,
    errors: ['not_found', 'validation_failed', 'unprocessable', 'search_timeout', 'rate_limited', 'too_busy'],
  },
});

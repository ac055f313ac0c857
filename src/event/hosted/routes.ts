// Routes of decision events. The schema of a batch is for readers and for the typed client: what is sent is judged
// event by event.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { instantInput, line, text } from '../../http/contract/fields.ts';
import {
  cursorQuery,
  hostedPaging,
  identifier,
  nextFields,
  pageFields,
} from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { maxBatchBytes } from '../console/batch.ts';
import { intake, rejected, reportedCall } from '../console/schemas.ts';
import { decisionActions } from '../record/words.ts';
import { decisionEvent } from './event.ts';

const name = z.string();
const object = z.record(z.string(), z.unknown());

/**
 * A decision event as agents send it, flat; one with a nested `payload` is taken, too. `extra` contains the fields
 * beyond these.
 * Fields that do not fit are repaired, not refused; `truncated` lists the repaired fields.
 */
export const decisionEventInput = z.object({
  call_id: name.nullish(),
  /** Default: the agent-id header's. */
  agent_id: name.nullish(),
  tool_name: name.nullish(),
  tool_args: object.nullish(),
  /** Verdict or outcome of the call. The console API's words are accepted, too. */
  action: z.union([z.enum(decisionActions), name]).nullish(),
  mode: name.nullish(),
  /**
   * RFC 3339, any offset; microseconds are kept. Missing or odd: the time of receipt. More than 24 hours ahead:
   * rejected.
   */
  timestamp: name.nullish(),
  /** Counts where the API key has no environment. */
  environment: name.nullish(),
  session_id: name.nullish(),
  parent_session_id: name.nullish(),
  run_id: name.nullish(),
  ...reportedCall,
  policy_version: name.nullish(),
  decision_source: name.nullish(),
  decision_name: name.nullish(),
  reason: name.nullish(),
  principal: object.nullish(),
  workflow: object.nullish(),
});

export const decisionEventBatch = z.object({ events: z.array(decisionEventInput).max(10_000) });

export const hostedEventRoutes = routes({
  hostedIngestEvents: {
    method: 'POST',
    path: '/v1/events',
    auth: ['hostedKey'],
    role: 'agent',
    envs: 'none',
    tag: 'hosted-events',
    summary:
      'Store a batch of up to 10,000 decision events; durable when answered, safe to repeat. An invalid event does not affect the others',
    body: decisionEventBatch,
    parse: 'bytes',
    canRepairAgentId: true,
    bodyLimit: maxBatchBytes,
    limits: [limits.eventPosts, limits.events],
    status: 200,
    reply: z.object({
      accepted: z.number().int(),
      duplicates: z.number().int(),
      /** Events that were not stored; the others were. */
      rejected: z.array(rejected),
    }),
    ...intake,
  },
  hostedSearchEvents: {
    method: 'GET',
    path: '/v1/events',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'viewer',
    envs: 'query',
    tag: 'hosted-events',
    summary: 'Decision events, newest first, including those that agents sent to the console API',
    query: z.object({
      agent_id: line(255).optional(),
      session_id: text(255, 1).optional(),
      parent_session_id: text(255, 1).optional(),
      /** A class of decisions, or an action; may be repeated. */
      decision: z.array(text(64, 1)).max(30).optional(),
      environment: identifier.optional(),
      tool_name: text(255, 1).optional(),
      /** Inclusive. */
      since: instantInput.optional(),
      /** Exclusive. */
      until: instantInput.optional(),
      /** Of their times: `desc`, newest first, or `asc`. */
      order: z.enum(['asc', 'desc']).default('desc'),
      ...hostedPaging(1000, 100),
      cursor: cursorQuery,
    }),
    repeated: ['decision'],
    search: true,
    status: 200,
    reply: z.object({
      events: z.array(decisionEvent),
      ...pageFields,
      ...nextFields,
    }),
    errors: ['forbidden', 'validation_failed', 'bad_request', 'rate_limited', 'search_timeout'],
  },
});

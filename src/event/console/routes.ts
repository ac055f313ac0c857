// Routes of audit events. The schema of a batch is for readers and for the typed client: what is sent is judged event
// by event.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import {
  contractType,
  env,
  instant,
  instantInput,
  intQuery,
  mode,
  pathId,
  text,
} from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { listed } from '../../shared/truncated.ts';
import { eventRecord } from '../record/fields.ts';
import { maxQueryLength } from '../rules/query/parse.ts';
import { maxBatchBytes } from './batch.ts';
import { intake, name, outcome, rejected, reportedCall } from './schemas.ts';

/**
 * An audit event as agents send it. Fields beyond these are ignored. Fields that do not fit are repaired, not refused:
 * names over 255 characters keep 200 and a digest, other types become texts or defaults, a payload over 64 KiB is cut.
 * `truncated` lists the repaired fields.
 */
export const eventInput = z.object({
  /** Absent or empty: events of the same content are one. */
  call_id: name.nullish(),
  /** Default: the agent-id header's. */
  agent_id: name.nullish(),
  tool_name: name.nullish(),
  /** Without one, a field `decision` counts (newer clients write it so). */
  verdict: name.nullish(),
  mode: name.nullish(),
  /** ISO 8601, any offset; microseconds are kept. Missing or odd: the time of receipt. */
  timestamp: name.nullish(),
  /** Any fields; the hub reads these. `environment` is ignored: the key's environment counts. */
  payload: z
    .looseObject({
      tool_args: z.record(z.string(), z.unknown()).nullish(),
      principal: z.record(z.string(), z.unknown()).nullish(),
      decision_source: name.nullish(),
      decision_name: name.nullish(),
      reason: name.nullish(),
      policy_version: name.nullish(),
      bundle_name: name.nullish(),
      /** The run that the call counts in, unless `session_id` names it. */
      run_id: name.nullish(),
      session_id: name.nullish(),
      ...reportedCall,
    })
    .nullish(),
});

export const manifest = z.object({
  /** Empty or absent: the events' agent. */
  agent_id: name.nullish(),
  policy_version: name.nullish(),
  contracts: z.array(
    z.object({
      id: name,
      type: contractType,
      /** One name or several; a session contract may name none. */
      tool: z.union([name, z.array(name)]).nullish(),
      mode: mode.nullish(),
    }),
  ),
});

export const eventBatch = z.object({
  /** At most 10,000, in 16 MiB, with 2,000,000 values, each nested at most 64 deep. */
  events: z.array(eventInput).max(10_000),
  agent_manifest: manifest.nullish(),
});

/** Times are ISO 8601; `truncated` and `sample` are absent where they do not apply. */
export const stored = eventRecord
  .reply('console', 'one')
  // Outcomes from repeats of the call id, if they differ from the earlier ones.
  .extend({ outcomes: z.array(outcome) });

const filters = {
  agent_id: text(255, 1).optional(),
  tool_name: text(255, 1).optional(),
  verdict: text(255, 1).optional(),
  mode: mode.optional(),
  env: env.optional(),
  /** Name in the event, or in a repeat of its call. */
  decision_name: text(255, 1).optional(),
  /** The event's `payload.run_id`. */
  run_id: text(255, 1).optional(),
  call_id: text(255, 1).optional(),
  /**
   * Text in the agent id, the tool name, the call id, the contract, the reason or a value of the arguments. Case does
   * not matter. Of the reason and the arguments, 64 texts are searched: 1,000 characters of each, 4,096 of all.
   */
  search: text(255, 1).optional(),
};

const terms = {
  /** A query (docs/query.md). Terms and the other filters narrow together. */
  q: text(maxQueryLength).optional(),
  /** Milliseconds after which a search with `q` returns the events so far. */
  budget_ms: intQuery(50, 2_000).default(1_000),
};

const range = { since: instantInput.optional(), until: instantInput.optional() };

/** Counts of one field's values: the 50 most frequent, and the others together. */
export const facet = z.object({
  top: z.array(z.object({ value: z.string(), count: z.number().int() })),
  rest: z.object({ values: z.number().int(), count: z.number().int() }),
});

export const eventRoutes = routes({
  ingestEvents: {
    method: 'POST',
    path: '/api/v1/events',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'events',
    summary:
      'Store a batch of up to 10,000 audit events; durable when answered, safe to repeat. An invalid event does not affect the others',
    body: eventBatch,
    parse: 'bytes',
    canRepairAgentId: true,
    bodyLimit: maxBatchBytes,
    limits: [limits.eventPosts, limits.events],
    status: 200,
    reply: z.object({
      accepted: z.number().int(),
      duplicates: z.number().int(),
      /** Events that were not stored, the others were; absent when there is none. */
      rejected: z.array(rejected).optional(),
      /**
       * When the manifest cannot be read, or its agent is not the events', not registered, or not bound to the key.
       */
      manifest: z.literal('refused').optional(),
    }),
    ...intake,
  },
  searchEvents: {
    method: 'GET',
    path: '/api/v1/events',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'events',
    summary:
      'Events, newest first; X-Next-Cursor and Link contain the cursor of the next page, even after a short page. ' +
      'With `q`, X-Search-Complete and X-Searched-To tell how far the search came. ' +
      'In a payload over 4 KiB, sizes replace the largest values',
    query: z.object({
      ...filters,
      ...terms,
      ...range,
      limit: intQuery(1, 1000).default(100),
      cursor: text(1024, 1).optional(),
    }),
    status: 200,
    reply: z.array(
      stored.extend({ payload: listed(stored.shape.payload), outcomes: listed(stored.shape.outcomes) }),
    ),
    search: true,
    errors: [
      'bad_request',
      'env_mismatch',
      'forbidden',
      'validation_failed',
      'search_timeout',
      'rate_limited',
      'too_busy',
    ],
  },
  getEvent: {
    method: 'GET',
    path: '/api/v1/events/{event_id}',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'events',
    summary: 'One event with its whole payload; an API key can read those in its environment',
    params: z.object({ event_id: pathId }),
    status: 200,
    reply: stored.extend({
      /**
       * The stored version whose hash is the payload's `policy_version`: of several names the one that the environment
       * runs. Null where the hub has none, and for API keys.
       */
      policy_bundle: z.object({ name: z.string(), version: z.number().int() }).nullable(),
    }),
    errors: ['not_found', 'validation_failed'],
  },
  eventFacets: {
    method: 'GET',
    path: '/api/v1/events/facets',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'events',
    summary:
      'Matching events counted by agent, tool, verdict, mode, contract and environment: the 50 most ' +
      'frequent values of each, and a sum of the others',
    query: z.object({ ...filters, ...terms, ...range }),
    status: 200,
    reply: z.object({
      /** Events that fit. */
      total: z.number().int(),
      /**
       * By the name of the filter. A count is the number of events that a filter by the value finds. `first_verdict`
       * has no filter: each event counts once, and `q=verdict:` finds as many.
       */
      facets: z.object({
        agent_id: facet,
        tool_name: facet,
        verdict: facet,
        first_verdict: facet,
        mode: facet,
        decision_name: facet,
        env: facet,
      }),
    }),
    search: true,
    errors: ['env_mismatch', 'forbidden', 'validation_failed', 'search_timeout', 'rate_limited', 'too_busy'],
  },
  exportEvents: {
    method: 'GET',
    path: '/api/v1/events/export',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'events',
    summary:
      'All matching events, newest first, as a download of any size: NDJSON, or CSV (text/csv), where cells that begin ' +
      'like a formula get a leading apostrophe. A tenant can run two at once; an export that fails ends early, without its terminator',
    query: z.object({
      ...filters,
      q: terms.q,
      ...range,
      format: z.enum(['ndjson', 'csv']).default('ndjson'),
    }),
    status: 200,
    media: 'application/x-ndjson',
    download: true,
    errors: ['forbidden', 'validation_failed', 'rate_limited'],
  },
  eventHistogram: {
    method: 'GET',
    path: '/api/v1/events/histogram',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'events',
    summary: 'Event counts by time bucket; empty buckets are left out, until is exclusive',
    query: z.object({
      ...filters,
      ...terms,
      since: instantInput,
      until: instantInput,
      /** Below 60 for ranges of at most 2 hours. */
      bucket_seconds: intQuery(5, 86_400).default(7200),
    }),
    status: 200,
    reply: z.array(
      z.object({
        bucket_start: instant,
        allowed: z.number().int(),
        denied: z.number().int(),
        pending: z.number().int(),
        observed: z.number().int(),
      }),
    ),
    search: true,
    errors: [
      'env_mismatch',
      'forbidden',
      'validation_failed',
      'unprocessable',
      'search_timeout',
      'rate_limited',
      'too_busy',
    ],
  },
});

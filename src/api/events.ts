// Routes of audit events (document 1, Audit event; document 3 §9). The ingest schema is written in what JSON Schema can say, because
// handlers/ingest.ts compiles its check from it; what JSON Schema cannot say (bytes, depth, real dates) is checked there.
import { z } from 'zod';
import { instantPattern } from '../domain/instant.ts';
import { contractType, env, instant, instantInput, intQuery, mode, text, uuid } from './fields.ts';
import { listed } from './listed.ts';
import { routes } from './route.ts';

/** No control characters, no lone surrogates. */
const plain = /^[^\p{Cc}\p{Surrogate}\u2028\u2029]*$/u;
const name = z.string().min(1).max(255).regex(plain);

/** An audit event as agents send it. Fields beyond these are ignored. */
export const eventInput = z.object({
  call_id: name,
  agent_id: name,
  tool_name: name,
  /** Without one, a field `decision` counts (newer clients write it so). */
  verdict: name,
  mode: mode,
  /** ISO 8601, any offset; microseconds are kept. */
  timestamp: z.string().max(40).regex(instantPattern),
  /** At most 64 KiB serialized, 32 levels deep. `environment` is ignored: the key's environment counts. */
  payload: z.looseObject({}).nullish(),
});

export const manifest = z.object({
  agent_id: name,
  policy_version: z.string().max(255).regex(plain),
  contracts: z
    .array(
      z.object({
        id: name,
        type: contractType,
        /** One name or several; a session contract may name none. */
        tool: z.union([z.string().max(4096).regex(plain), z.array(name).max(100)]).nullish(),
        mode: mode,
      }),
    )
    .max(1000),
});

export const eventBatch = z.object({
  events: z.array(eventInput).min(1).max(1000),
  agent_manifest: manifest.nullish(),
});

export const rejected = z.object({
  /** In the list that was sent. */
  index: z.number().int(),
  call_id: z.string(),
  /** `forbidden`: the API key is not bound to the event's agent. */
  code: z.string(),
  detail: z.string(),
});

export const outcome = z.object({
  verdict: z.string(),
  timestamp: instant,
  decision_source: z.string().nullable(),
  decision_name: z.string().nullable(),
  reason: z.string().nullable(),
  /** As the event's own. */
  sent_by: z.string().nullable(),
});

export const stored = z.object({
  id: z.string(),
  call_id: z.string(),
  agent_id: z.string(),
  /** The agent id of the request that brought it (`default` without the header), when that is another than `agent_id`. */
  sent_by: z.string().nullable(),
  tool_name: z.string(),
  verdict: z.string(),
  mode: z.string(),
  timestamp: instant,
  payload: z.record(z.string(), z.unknown()).nullable(),
  env: z.string(),
  created_at: instant,
  /** What repeats of the call id said, when they said something new. */
  outcomes: z.array(outcome),
});

const filters = {
  agent_id: text(255, 1).optional(),
  tool_name: text(255, 1).optional(),
  verdict: text(255, 1).optional(),
  mode: mode.optional(),
  env: env.optional(),
};

export const eventRoutes = routes({
  ingestEvents: {
    method: 'POST',
    path: '/api/v1/events',
    auth: ['key'],
    tag: 'events',
    summary: 'Store a batch of 1 to 1,000 audit events; durable when answered, safe to repeat',
    body: eventBatch,
    parse: 'bytes',
    status: 200,
    reply: z.object({
      accepted: z.number().int(),
      duplicates: z.number().int(),
      /** Events that were not stored, the others were; absent when there is none. */
      rejected: z.array(rejected).optional(),
      /** When the key is not bound to the manifest's agent. */
      manifest: z.literal('refused').optional(),
    }),
    errors: [
      'invalid_json',
      'forbidden',
      'validation_failed',
      'rate_limited',
      'disk_full',
      'overloaded',
      'unavailable',
    ],
    limit: 'ingest',
  },
  searchEvents: {
    method: 'GET',
    path: '/api/v1/events',
    auth: ['key', 'cookie'],
    ownEnvironment: true,
    tag: 'events',
    summary:
      'Events, newest first; X-Next-Cursor and Link carry the cursor of the next page, which may also follow a short one. ' +
      'The largest values of a payload over 4 KiB give way to their size',
    query: z.object({
      ...filters,
      since: instantInput.optional(),
      until: instantInput.optional(),
      search: text(255, 1).optional(),
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
    ],
  },
  getEvent: {
    method: 'GET',
    path: '/api/v1/events/{event_id}',
    auth: ['key', 'cookie'],
    tag: 'events',
    summary: 'One event with its whole payload; a key sees those of its own environment',
    params: z.object({ event_id: uuid }),
    status: 200,
    reply: stored,
    errors: ['not_found', 'validation_failed'],
  },
  eventHistogram: {
    method: 'GET',
    path: '/api/v1/events/histogram',
    auth: ['key', 'cookie'],
    ownEnvironment: true,
    tag: 'events',
    summary: 'Counts per bucket of time; buckets without events are left out, until is exclusive',
    query: z.object({
      ...filters,
      since: instantInput,
      until: instantInput,
      search: text(255, 1).optional(),
      bucket_seconds: intQuery(60, 86_400).default(7200),
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
    ],
  },
});

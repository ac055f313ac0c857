// The hosted API's streams: an agent's, and that of decision events. The live edge serves them.
import { z } from 'zod';
import { decisionEventFrames } from '../../event/frames.ts';
import { line, text } from '../../http/contract/fields.ts';
import { identifier } from '../../http/contract/hosted-fields.ts';
import { hostedAgentFrames } from '../../http/contract/hosted-frames.ts';
import { routes } from '../../http/contract/route.ts';

export const hostedStreamRoutes = routes({
  hostedAgentStream: {
    method: 'GET',
    path: '/v1/stream',
    auth: ['hostedKey', 'operatorJwt'],
    role: 'viewer',
    envs: 'query',
    tag: 'hosted streams',
    summary:
      'Stream of an agent: rulesets in its environment, its assignment and its decision events; or of an operator: one environment',
    query: z.object({
      /**
       * The key's environment, also when absent: another answers 403. A key of all environments: production when
       * absent. People name one.
       */
      env: z.string().max(255).optional(),
      bundle_name: z.string().max(255).optional(),
      policy_version: z.string().max(255).optional(),
      /** `any` when the client loads bundles of contracts and rulesets alike; anything else is ignored. */
      documents: z.string().max(255).optional(),
      /** Only decision events of this session. */
      session_id: z.string().max(255).optional(),
      /** JSON text of an object of at most 64 texts: names of 128 characters, values of 256. Anything else: 422. */
      tags: z.string().optional(),
      /** As the header Last-Event-ID, for clients that cannot send one. */
      last_event_id: z.string().max(255).optional(),
    }),
    status: 200,
    media: 'text/event-stream',
    frames: hostedAgentFrames,
    errors: ['env_mismatch', 'forbidden', 'validation_failed', 'rate_limited', 'overloaded', 'unavailable'],
    limit: 'stream',
  },
  hostedEventStream: {
    method: 'GET',
    path: '/v1/events/stream',
    auth: ['operatorJwt', 'hostedKey', 'cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'hosted streams',
    summary: 'Decision events as they are stored, from both APIs; also for a signed-in browser',
    query: z.object({
      agent_id: line(255).optional(),
      session_id: text(255, 1).optional(),
      environment: identifier.optional(),
      /** A class of decisions, or an action; may be repeated. */
      decision: z.array(text(64, 1)).max(30).optional(),
      tool_name: text(255, 1).optional(),
      /** As the header Last-Event-ID, for clients that cannot send one. */
      last_event_id: z.string().max(255).optional(),
    }),
    repeated: ['decision'],
    status: 200,
    media: 'text/event-stream',
    stream: 'events',
    frames: decisionEventFrames,
    errors: ['forbidden', 'origin_refused', 'validation_failed', 'rate_limited', 'overloaded', 'unavailable'],
    limit: 'stream',
  },
});

const maxTags = 64;

/** Released clients count characters as people do, so a pair of surrogates is one. */
const atMost = (max: number, min = 0) =>
  text(2 * max, min).refine((value) => [...value].length <= max, `must be at most ${max} characters`);

/** The tags of an agent's stream, once they are read: at most 64 pairs of texts. */
export const hostedTags = z
  .record(atMost(128, 1), atMost(256))
  .refine((value) => Object.keys(value).length <= maxTags, `must not contain more than ${maxTags} tags`);

/** The query of a stream, as its declaration reads it. */
export type HostedStreamQuery<N extends keyof typeof hostedStreamRoutes> = z.output<
  (typeof hostedStreamRoutes)[N]['query']
>;

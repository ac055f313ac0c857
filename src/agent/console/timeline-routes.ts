// Route of what happened to an agent over time.
import { z } from 'zod';
import {
  approvalStatus,
  env,
  instant,
  instantInput,
  intQuery,
  line,
  text,
  uuid,
} from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

export const agentTimelineRoutes = routes({
  agentTimeline: {
    method: 'GET',
    path: '/api/v1/agents/{agent_id}/timeline',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'agents',
    summary:
      'Streams of an agent, the documents that it should run and ran, and its approvals, in a range (by default ' +
      'the last 24 hours) and one environment (by default where it was last seen)',
    params: z.object({ agent_id: line(255) }),
    query: z.object({
      env: env.optional(),
      since: instantInput.optional(),
      /** Exclusive. */
      until: instantInput.optional(),
      limit: intQuery(1, 500).default(200),
      cursor: text(4096, 1).optional(),
    }),
    status: 200,
    reply: z.object({
      /** Null: the agent was never seen in an environment. */
      env: env.nullable(),
      /**
       * Open within the range, the newest first, at most 200 and for a week. A stream that another one continued within
       * ten seconds is one with it. Streams and documents are only on the first page.
       */
      streams: z.array(
        z.object({
          from: instant,
          /** Null: it is open. */
          to: instant.nullable(),
          /** True if its node died: it ended before `to`. Absent otherwise. */
          is_end_estimated: z.boolean().optional(),
          /** Null: not recorded. */
          transport: z.enum(['sse', 'websocket']).nullable(),
          /** Null for who is no admin. */
          node: z.string().nullable(),
        }),
      ),
      /** Oldest first, of the newest 200 deployments. */
      documents: z.array(
        z.object({
          at: instant,
          bundle_name: z.string(),
          version: z.number().int(),
          /** `running`: the agent's first event with the version since its deployment. */
          kind: z.enum(['deployed', 'undeployed', 'running']),
        }),
      ),
      /** Requested in the range, newest first. */
      approvals: z.array(
        z.object({
          id: uuid,
          from: instant,
          /** Time of the decision or the expiry; null: the approval is pending. */
          to: instant.nullable(),
          status: approvalStatus,
        }),
      ),
      next_cursor: z.string().nullable(),
    }),
    search: true,
    errors: [
      'bad_request',
      'not_found',
      'validation_failed',
      'search_timeout',
      'rate_limited',
      'unavailable',
    ],
  },
});

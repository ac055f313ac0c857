// Route of the calls of a run in the order of time.
import { z } from 'zod';
import { callVerdict } from '../../event/console/schemas.ts';
import { instant, intQuery, line, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

export const runTimelineRoutes = routes({
  runTimeline: {
    method: 'GET',
    path: '/api/v1/runs/{agent_id}/{session_id}/timeline',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'runs',
    summary: 'The calls of a run, oldest first, and the runs that it started',
    params: z.object({ agent_id: line(255), session_id: line(255) }),
    query: z.object({ limit: intQuery(1, 1_000).default(500), cursor: text(4096, 1).optional() }),
    status: 200,
    reply: z.object({
      calls: z.array(
        z.object({
          event_id: z.string(),
          at: instant,
          /** Null: not measured. */
          duration_ms: z.number().nullable(),
          verdict: callVerdict,
          tool_name: z.string(),
        }),
      ),
      /** Runs whose events name this session as their parent, at most 50; only on the first page. */
      children: z.array(
        z.object({
          agent_id: z.string(),
          session_id: z.string(),
          started_at: instant,
          last_activity_at: instant,
          calls: z.number().int(),
        }),
      ),
      next_cursor: z.string().nullable(),
    }),
    search: true,
    errors: ['bad_request', 'not_found', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
});

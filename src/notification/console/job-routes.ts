// Routes of dead background jobs, for the operator of an installation.

import { z } from 'zod';
import { instant, intQuery, line } from '../../http/contract/fields.ts';
import { operatorRoute } from '../../http/contract/operator-route.ts';
import { routes } from '../../http/contract/route.ts';
import { jobQueues } from '../../shared/job.ts';

export const jobQueue = z.enum(jobQueues);

export const jobRoutes = routes({
  listDeadJobs: {
    ...operatorRoute,
    method: 'GET',
    path: '/api/v1/operator/jobs/dead',
    summary: 'Dead background jobs in a queue, latest first',
    query: z.object({ queue: jobQueue, limit: intQuery(1, 1000).default(100) }),
    status: 200,
    reply: z.object({
      jobs: z.array(
        z.object({ id: z.string(), failures: z.number().int(), error: z.string(), died_at: instant }),
      ),
    }),
    errors: ['validation_failed', 'rate_limited', 'unavailable'],
  },
  retryDeadJob: {
    ...operatorRoute,
    method: 'POST',
    path: '/api/v1/operator/jobs/retry',
    summary: 'Run a dead job again now, with all its attempts',
    body: z.object({ queue: jobQueue, id: line(200) }),
    status: 202,
    reply: z.object({ queue: jobQueue, id: z.string() }),
    audit: 'It belongs to the installation and to no tenant; the log has a line.',
    errors: ['not_found', 'validation_failed', 'rate_limited', 'unavailable'],
  },
});

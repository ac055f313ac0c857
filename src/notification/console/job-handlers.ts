// Dead background jobs in the console API's words. The pipeline has checked the operator token.

import type { Handlers } from '../../http/contract/handler.ts';
import { iso } from '../../http/contract/render.ts';
import type { jobRoutes } from './job-routes.ts';

export const deadJobs: Handlers<typeof jobRoutes> = {
  async listDeadJobs({ app }, { query }) {
    const jobs = await app.deadJobs.list(query.queue, query.limit);
    return {
      jobs: jobs.map(({ id, failures, error, diedAt }) => ({ id, failures, error, died_at: iso(diedAt) })),
    };
  },

  async retryDeadJob({ app }, { body }) {
    await app.deadJobs.retry(body.queue, body.id);
    return { queue: body.queue, id: body.id };
  },
};

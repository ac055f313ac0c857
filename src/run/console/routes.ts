// Routes of the sample run, for the console; the hosted API has the same of its own.
import { limits } from '../../admission/limit.ts';
import { routes } from '../../http/contract/route.ts';
import { sampleRunRemoved, sampleRunReply } from './sample-schemas.ts';

export const sampleRunRoutes = routes({
  makeSampleRun: {
    method: 'POST',
    path: '/api/v1/sample-run',
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'events',
    summary:
      "Create the tenant's sample run: 201, or 200 if it exists. Statistics do not count it; 10 calls a minute",
    limits: [limits.sampleRuns],
    status: 201,
    reply: sampleRunReply,
    audit: 'The sample run is no act of an agent and can be removed at any time.',
    errors: ['rate_limited', 'unavailable'],
  },
  deleteSampleRun: {
    method: 'DELETE',
    path: '/api/v1/sample-run',
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'events',
    summary: 'Remove the sample run, its events and its approval; safe to repeat; its ruleset stays',
    limits: [limits.sampleRuns],
    status: 200,
    reply: sampleRunRemoved,
    audit: 'The sample run is no act of an agent.',
    errors: ['rate_limited', 'overloaded', 'unavailable'],
  },
});

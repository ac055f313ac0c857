// Routes of the sample run.
import { limits } from '../../admission/limit.ts';
import { routes } from '../../http/contract/route.ts';
import { sampleRunRemoved, sampleRunReply } from '../console/sample-schemas.ts';

export const hostedSampleRunRoutes = routes({
  hostedSampleRun: {
    method: 'POST',
    path: '/v1/sample-run',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'operator',
    envs: 'none',
    tag: 'hosted-runs',
    summary:
      "Create the workspace's sample run: 201, or 200 if it exists. Statistics do not count it; 10 calls a minute",
    limits: [limits.sampleRuns],
    idempotent: 'answer',
    status: 201,
    reply: sampleRunReply,
    audit: 'The sample run is no act of an agent and can be removed at any time.',
    errors: ['forbidden', 'rate_limited', 'unavailable', 'validation_failed', 'unprocessable', 'conflict'],
  },
  hostedDeleteSampleRun: {
    method: 'DELETE',
    path: '/v1/sample-run',
    auth: ['operatorJwt'],
    role: 'operator',
    envs: 'none',
    tag: 'hosted-runs',
    summary: 'Remove the sample run, its events and its approval; safe to repeat; its ruleset stays',
    limits: [limits.sampleRuns],
    status: 200,
    reply: sampleRunRemoved,
    audit: 'The sample run is no act of an agent.',
    errors: ['forbidden', 'rate_limited', 'overloaded', 'unavailable'],
  },
});

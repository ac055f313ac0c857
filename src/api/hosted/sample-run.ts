// Routes of the sample run.
import { z } from 'zod';
import { routes } from '../route.ts';

export const sampleRunReply = z.object({
  agent_id: z.string(),
  session_id: z.string(),
  run_id: z.string(),
  ruleset_name: z.string(),
  approval_id: z.string(),
});

export const sampleRunRemoved = z.object({ deleted: z.literal(true) });

export const hostedSampleRunRoutes = routes({
  hostedSampleRun: {
    method: 'POST',
    path: '/v1/sample-run',
    auth: ['operatorJwt', 'hostedKey'],
    role: 'operator',
    tag: 'hosted-runs',
    summary: 'Make the sample run of the workspace: 201; 200 when it is there. It is counted in no statistic',
    status: 201,
    reply: sampleRunReply,
    errors: ['forbidden', 'rate_limited', 'unavailable'],
  },
  hostedDeleteSampleRun: {
    method: 'DELETE',
    path: '/v1/sample-run',
    auth: ['operatorJwt'],
    role: 'operator',
    tag: 'hosted-runs',
    summary: 'Remove the sample run and its events, whether or not they are there; its ruleset stays',
    status: 200,
    reply: sampleRunRemoved,
    errors: ['forbidden'],
  },
});

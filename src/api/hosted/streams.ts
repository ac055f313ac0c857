// The hosted API's stream for agents. The live edge serves it.
import { z } from 'zod';
import { routes } from '../route.ts';
import { hostedAgentFrames } from './frames.ts';

export const hostedStreamRoutes = routes({
  hostedAgentStream: {
    method: 'GET',
    path: '/v1/stream',
    auth: ['hostedKey'],
    tag: 'hosted streams',
    summary: 'An agent follows the rulesets of its environment and its assignment',
    query: z.object({
      /** The key's environment, also when absent: another answers 403. A key of all environments: production when absent. */
      env: z.string().max(255).optional(),
      bundle_name: z.string().max(255).optional(),
      policy_version: z.string().max(255).optional(),
      /** Taken for the sake of older clients; nothing on this stream is filtered by it. */
      session_id: z.string().max(255).optional(),
      /** JSON text of an object of texts; anything else is ignored. */
      tags: z.string().optional(),
    }),
    status: 200,
    media: 'text/event-stream',
    frames: hostedAgentFrames,
    errors: ['env_mismatch', 'forbidden', 'validation_failed', 'overloaded', 'unavailable'],
    limit: 'stream',
  },
});

// Route of the first start: the first tenant and its admin.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { line, text, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { email, newPassword } from '../../user/record/credentials.ts';

export const setupRoutes = routes({
  setup: {
    method: 'POST',
    path: '/api/v1/setup',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'setup',
    summary: 'Create the first tenant and its admin; refused once they exist',
    body: z.object({
      email,
      password: newPassword,
      tenant_name: line(255).optional(),
      /** Needed when SETUP_TOKEN is set; the header X-Setup-Token may carry it instead. */
      setup_token: text(1024).optional(),
    }),
    status: 201,
    reply: z.object({ message: z.string(), user_id: uuid, tenant_id: uuid }),
    audit: ['user.created'],
    errors: ['forbidden', 'conflict', 'validation_failed', 'rate_limited'],
    limit: 'standard',
    limits: [limits.setupTokens],
    csrfMessage: 'Missing X-Requested-With header.',
    bodyLimit: smallBody,
  },
});

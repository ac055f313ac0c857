// Route of the rotation of the signing key.

import { z } from 'zod';
import { instant } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

export const signingRoutes = routes({
  rotateSigningKey: {
    method: 'POST',
    path: '/api/v1/settings/rotate-signing-key',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'settings',
    summary:
      'Create a signing key and sign every current deployment with it; agents receive the new signatures. With ' +
      'compromised, the old key does not attest the new one, and agents that pinned the old key must pin the new one',
    body: z.object({ compromised: z.boolean().optional() }),
    optionalBody: true,
    status: 201,
    reply: z.object({
      public_key: z.string(),
      rotated_at: instant,
      deployments_re_signed: z.number().int(),
      agents_follow: z.boolean(),
      warning: z.string().nullable(),
    }),
    audit: ['signing_key.rotated'],
    errors: ['validation_failed', 'overloaded', 'unavailable'],
  },
});

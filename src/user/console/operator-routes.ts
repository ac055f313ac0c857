// Routes of users and of links that sign them in, for the operator of an installation.

import { z } from 'zod';
import { instant, uuid } from '../../http/contract/fields.ts';
import { operatorRoute } from '../../http/contract/operator-route.ts';
import { routes } from '../../http/contract/route.ts';
import { email, newPassword } from '../record/credentials.ts';

export const operatorUserRoutes = routes({
  createUser: {
    ...operatorRoute,
    method: 'POST',
    path: '/api/v1/operator/users',
    summary: 'Add a user to a tenant',
    body: z.object({ tenant_id: uuid, email, password: newPassword, is_admin: z.boolean().default(false) }),
    status: 201,
    reply: z.object({ user_id: uuid }),
    audit: ['user.created'],
    errors: ['not_found', 'conflict', 'validation_failed', 'rate_limited'],
  },
  createLoginLink: {
    ...operatorRoute,
    method: 'POST',
    path: '/api/v1/operator/login-links',
    summary: 'Make a link that signs a person in, once, within 5 minutes',
    body: z.object({ email }),
    status: 201,
    reply: z.object({ url: z.string(), expires_at: instant }),
    audit: 'The sign-in by the link is recorded.',
    errors: ['not_found', 'validation_failed', 'rate_limited', 'unavailable'],
  },
});

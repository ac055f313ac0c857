// Routes of signing in and out.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { text, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { envRoles, newPassword } from '../wire.ts';

export const message = z.object({ message: z.string() });

export const authRoutes = routes({
  login: {
    method: 'POST',
    path: '/api/v1/auth/login',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'auth',
    summary: 'Sign in; sets the session cookie',
    body: z.object({ email: text(255, 1), password: text(1024, 1) }),
    status: 200,
    reply: message,
    errors: ['bad_request', 'unauthenticated', 'validation_failed', 'rate_limited'],
    limit: 'own',
    limits: [limits.logins, limits.loginsOfEmail, limits.loginsOfDevice],
    csrf: 'none',
    bodyLimit: smallBody,
  },
  loginByLink: {
    method: 'POST',
    path: '/api/v1/auth/link',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'auth',
    summary:
      'Sign in once with the token from a `reeve login-link` address; sets the session cookie. The Origin must be the hub’s own',
    body: z.object({ token: text(128, 1) }),
    status: 200,
    reply: message,
    errors: ['bad_request', 'unauthenticated', 'origin_refused', 'validation_failed', 'rate_limited'],
    limit: 'standard',
    csrfMessage: 'Missing X-Requested-With header.',
    bodyLimit: smallBody,
  },
  loginByInvite: {
    method: 'POST',
    path: '/api/v1/auth/invite',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'auth',
    summary: 'Choose a password by the token of an invitation, once, and sign in; sets the session cookie',
    body: z.object({ token: text(128, 1), password: newPassword }),
    status: 200,
    reply: message,
    errors: ['bad_request', 'unauthenticated', 'validation_failed', 'rate_limited'],
    limit: 'own',
    limits: [limits.logins],
    bodyLimit: smallBody,
  },
  logout: {
    method: 'POST',
    path: '/api/v1/auth/logout',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'auth',
    summary: 'Sign out and clear the cookie; 200 with or without a session',
    status: 200,
    reply: message,
    errors: ['rate_limited'],
    limit: 'standard',
    bodyLimit: smallBody,
  },
  me: {
    method: 'GET',
    path: '/api/v1/auth/me',
    auth: ['cookie'],
    role: 'person',
    envs: 'none',
    tag: 'auth',
    summary: 'The signed-in user',
    status: 200,
    reply: z.object({
      user_id: uuid,
      tenant_id: uuid,
      email: z.string(),
      is_admin: z.boolean(),
      roles: envRoles,
    }),
    errors: [],
  },
});

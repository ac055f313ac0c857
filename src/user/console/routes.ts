// Routes of people: the users of a tenant, for its admins, and everybody's own password.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { instant, paging, pathId, text, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { email, envRoles, newPassword } from '../record/credentials.ts';
import { message } from './login-routes.ts';

export const user = z.object({
  user_id: uuid,
  email: z.string(),
  is_admin: z.boolean(),
  roles: envRoles,
  created_at: instant,
  /** Until when an open invitation works; null: the user has a password. */
  invite_expires_at: instant.nullable(),
  /** In the answer to a new user without a password, and nowhere else. */
  invite_url: z.string().optional(),
});

const params = z.object({ user_id: pathId });

/** `is_admin` and `roles` mean the same thing, so one of them may be sent. */
const isOneOfBoth = (body: { readonly is_admin?: unknown; readonly roles?: unknown }): boolean =>
  body.is_admin === undefined || body.roles === undefined;
const oneOfBoth = { path: ['roles'], message: 'must not be sent beside is_admin' };

export const userRoutes = routes({
  listUsers: {
    method: 'GET',
    path: '/api/v1/users',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'users',
    summary: 'Users of the tenant, ordered by e-mail',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(user),
    errors: ['validation_failed'],
  },
  addUser: {
    method: 'POST',
    path: '/api/v1/users',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'users',
    summary:
      'Add a user, who signs in with this password and can change it; without a password the answer has a link by ' +
      'which the user chooses one, once and within 7 days',
    body: z
      .object({
        email,
        password: newPassword.optional(),
        is_admin: z.boolean().optional(),
        roles: envRoles.optional(),
      })
      .refine(isOneOfBoth, oneOfBoth),
    status: 201,
    reply: user,
    audit: ['user.created', 'user.invited'],
    errors: ['conflict', 'validation_failed'],
    bodyLimit: smallBody,
  },
  updateUser: {
    method: 'PATCH',
    path: '/api/v1/users/{user_id}',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'users',
    summary:
      'Replace the roles of a user, or grant and revoke the admin role; both hold at once, and sign nobody out. The ' +
      'last admin stays (409)',
    params,
    body: z
      .object({ is_admin: z.boolean().optional(), roles: envRoles.optional() })
      .refine(isOneOfBoth, oneOfBoth)
      .refine((body) => body.roles !== undefined || body.is_admin !== undefined, {
        path: ['roles'],
        message: 'is required unless is_admin is given',
      }),
    status: 200,
    reply: user,
    audit: ['user.roles_changed', 'user.made_admin', 'user.made_member'],
    errors: ['not_found', 'conflict', 'validation_failed'],
    bodyLimit: smallBody,
  },
  inviteUser: {
    method: 'POST',
    path: '/api/v1/users/{user_id}/invite',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'users',
    summary:
      'A new link by which the user chooses a password, also for a forgotten one: the old password, an older link and ' +
      'all logins of the user end',
    params,
    status: 201,
    reply: z.object({ invite_url: z.string(), expires_at: instant }),
    audit: ['user.invited'],
    errors: ['not_found', 'conflict', 'validation_failed'],
    bodyLimit: smallBody,
  },
  removeUser: {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'users',
    summary: 'Remove a user and sign the user out everywhere within a second. The last admin stays (409)',
    params,
    status: 204,
    audit: ['user.removed'],
    errors: ['not_found', 'conflict', 'validation_failed'],
  },
  changePassword: {
    method: 'POST',
    path: '/api/v1/auth/password',
    auth: ['cookie'],
    role: 'person',
    envs: 'none',
    tag: 'auth',
    summary: 'Change your own password; all your other logins end',
    body: z.object({ old_password: text(1024, 1), new_password: newPassword }),
    status: 200,
    reply: message,
    audit: ['user.given_a_new_password'],
    errors: ['forbidden', 'conflict', 'validation_failed', 'rate_limited'],
    limits: [limits.oldPasswords],
    bodyLimit: smallBody,
  },
});

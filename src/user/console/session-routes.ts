// Routes of sessions: where people are signed in. Everybody sees and ends their own, admins those of their users.
import { z } from 'zod';
import { instant, pathId, uuid } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { loginMethods } from '../record.ts';

const session = z.object({
  id: uuid,
  created_at: instant,
  last_seen_at: instant,
  network: z.string().nullable(),
  browser: z.string().nullable(),
  method: z.enum(loginMethods).nullable(),
  current: z.boolean(),
});

export const sessionList = z.array(session);
const params = z.object({ user_id: pathId });
const own = { auth: ['cookie'], role: 'person', envs: 'none', tag: 'auth' } as const;
const ofUsers = { auth: ['cookie'], role: 'admin', envs: 'none', peopleOnly: true, tag: 'users' } as const;

export const loginSessionRoutes = routes({
  listOwnSessions: {
    ...own,
    method: 'GET',
    path: '/api/v1/auth/sessions',
    summary:
      'Where you are signed in, the newest first: networks and browsers in short, and how you signed in',
    status: 200,
    reply: sessionList,
    errors: [],
  },
  endOwnSession: {
    ...own,
    method: 'DELETE',
    path: '/api/v1/auth/sessions/{login_id}',
    summary: 'End one of your sessions; its streams and tokens end within a second',
    params: z.object({ login_id: pathId }),
    status: 204,
    audit: ['login.ended'],
    errors: ['not_found', 'validation_failed'],
  },
  endOtherSessions: {
    ...own,
    method: 'DELETE',
    path: '/api/v1/auth/sessions',
    summary: 'End all of your sessions but this one',
    status: 204,
    audit: ['user.sessions_ended'],
    errors: [],
  },
  listUserSessions: {
    ...ofUsers,
    method: 'GET',
    path: '/api/v1/users/{user_id}/sessions',
    summary: 'Where a user is signed in',
    params,
    status: 200,
    reply: sessionList,
    errors: ['not_found', 'validation_failed'],
  },
  endUserSessions: {
    ...ofUsers,
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/sessions',
    summary: 'Sign a user out everywhere, within a second',
    params,
    status: 204,
    audit: ['user.sessions_ended'],
    errors: ['not_found', 'validation_failed'],
  },
});

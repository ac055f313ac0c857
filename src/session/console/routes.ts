// Routes of session values.

import { routes } from '../../http/contract/route.ts';
import { sessionParts } from './parts.ts';

const own = { auth: ['key'], tag: 'sessions' } as const;

export const sessionRoutes = routes({
  readSessions: { ...sessionParts.readMany, ...own, auth: ['key', 'cookie'], path: '/api/v1/sessions/batch' },
  getSession: { ...sessionParts.read, ...own, path: '/api/v1/sessions/{key+}' },
  setSession: { ...sessionParts.write, ...own, path: '/api/v1/sessions/{key+}' },
  incrementSession: { ...sessionParts.increment, ...own, path: '/api/v1/sessions/{key+}/increment' },
  deleteSession: { ...sessionParts.remove, ...own, path: '/api/v1/sessions/{key+}' },
});

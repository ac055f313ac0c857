// Routes of session values: as the console API's, for keys that may have no environment.

import { routes } from '../../http/contract/route.ts';
import { sessionRoutes } from '../wire.ts';

const { readSessions, getSession, setSession, incrementSession, deleteSession } = sessionRoutes;
const own = { auth: ['hostedKey'], tag: 'hosted-sessions' } as const;

export const hostedSessionRoutes = routes({
  hostedReadSessions: { ...readSessions, ...own, path: '/v1/sessions/batch' },
  hostedGetSession: { ...getSession, ...own, path: '/v1/sessions/{key+}' },
  hostedSetSession: { ...setSession, ...own, path: '/v1/sessions/{key+}' },
  hostedIncrementSession: { ...incrementSession, ...own, path: '/v1/sessions/{key+}/increment' },
  hostedDeleteSession: { ...deleteSession, ...own, path: '/v1/sessions/{key+}' },
});

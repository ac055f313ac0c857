// Routes of session values and health: as the console API's, for keys that may have no environment.

import { routes } from '../../http/contract/route.ts';
import { healthRoutes } from '../../hub/api/health-routes.ts';
import { sessionRoutes } from '../console/routes.ts';

const { readSessions, getSession, setSession, incrementSession, deleteSession } = sessionRoutes;
const own = { auth: ['hostedKey'], tag: 'hosted-sessions' } as const;

export const hostedSessionRoutes = routes({
  hostedReadSessions: { ...readSessions, ...own, path: '/v1/sessions/batch' },
  hostedGetSession: { ...getSession, ...own, path: '/v1/sessions/{key+}' },
  hostedSetSession: { ...setSession, ...own, path: '/v1/sessions/{key+}' },
  hostedIncrementSession: { ...incrementSession, ...own, path: '/v1/sessions/{key+}/increment' },
  hostedDeleteSession: { ...deleteSession, ...own, path: '/v1/sessions/{key+}' },
  hostedHealth: { ...healthRoutes.health, path: '/v1/health', tag: 'hosted-health' },
});

// Routes of session values: as the console API's, for keys that may have no environment.

import { routes } from '../../http/contract/route.ts';
import { sessionParts } from '../console/parts.ts';

const own = { auth: ['hostedKey'], tag: 'hosted-sessions' } as const;

export const hostedSessionRoutes = routes({
  hostedReadSessions: { ...sessionParts.readMany, ...own, path: '/v1/sessions/batch' },
  hostedGetSession: { ...sessionParts.read, ...own, path: '/v1/sessions/{key+}' },
  hostedSetSession: { ...sessionParts.write, ...own, path: '/v1/sessions/{key+}' },
  hostedIncrementSession: { ...sessionParts.increment, ...own, path: '/v1/sessions/{key+}/increment' },
  hostedDeleteSession: { ...sessionParts.remove, ...own, path: '/v1/sessions/{key+}' },
});

// Session values and health on the hosted API: the console's own handlers, with keys that may have no environment.
import type { hostedSessionRoutes } from '../../api/hosted/sessions.ts';
import { health } from '../console/health.ts';
import type { Handlers } from '../console/hub.ts';
import { sessions } from '../console/sessions.ts';
import { keyOf } from './principal.ts';

export const hostedSessions: Handlers<typeof hostedSessionRoutes> = {
  hostedReadSessions: (hub, input, caller, request) =>
    sessions.readSessions(hub, { ...input }, keyOf(caller), request),
  hostedGetSession: (hub, input, caller, request) =>
    sessions.getSession(hub, { ...input }, keyOf(caller), request),
  hostedSetSession: (hub, input, caller, request) =>
    sessions.setSession(hub, { ...input }, keyOf(caller), request),
  hostedIncrementSession: (hub, input, caller, request) =>
    sessions.incrementSession(hub, { ...input }, keyOf(caller), request),
  hostedDeleteSession: (hub, input, caller, request) =>
    sessions.deleteSession(hub, { ...input }, keyOf(caller), request),
  hostedHealth: (hub, input, caller, request) => health.health(hub, { ...input }, caller, request),
};

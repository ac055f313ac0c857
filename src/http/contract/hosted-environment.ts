// The environment that a request of the hosted API is about.

import { HubError } from '../../shared/error.ts';
import { type Env, isEnv } from '../../shared/ids.ts';
import type { HostedCaller } from './hosted-principal.ts';
import { RequestError } from './request-error.ts';

/** Environment of requests that name none. */
export const usualEnv: Env = 'production';

/**
 * The environment that is read: the key's own, else the one in the request, else production. An empty one counts as
 * absent. Null when the request names no environment of this hub: nothing is there.
 * @throws HubError env_mismatch when a key of one environment asks for another
 */
export function envRead(caller: HostedCaller, queryEnv: string | undefined): Env | null {
  const requestedEnv = queryEnv === '' ? undefined : queryEnv;
  const own = caller.kind === 'hostedKey' ? caller.env : null;
  if (requestedEnv !== undefined && own !== null && requestedEnv !== own) {
    throw new HubError(
      'env_mismatch',
      `API key is scoped to '${own}', cannot access env '${requestedEnv.slice(0, 64)}'.`,
    );
  }
  const env = requestedEnv ?? own ?? usualEnv;
  return isEnv(env) ? env : null;
}

/** The environment that is changed. @throws HubError validation_failed (env_required) */
export function envChanged(requested: Env | undefined): Env {
  if (requested !== undefined) return requested;
  throw new RequestError(
    'validation_failed',
    'The request has no environment. Send it in the query: ?env=production.',
    { reason: 'env_required', problems: [{ loc: ['query', 'env'], msg: 'is required' }] },
  );
}

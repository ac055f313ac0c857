// Session values in the hosted API's words, which are the console API's; its keys may have no environment.

import type { Handlers } from '../../http/contract/handler.ts';
import { keyPrincipalOf } from '../../http/contract/hosted-principal.ts';
import type { hostedSessionRoutes } from './routes.ts';

export const hostedSessions: Handlers<typeof hostedSessionRoutes> = {
  async hostedReadSessions({ app }, { body }, caller) {
    const values = await app.sessionValues.getMany(keyPrincipalOf(caller), body.keys);
    return { values: Object.fromEntries(values) };
  },

  hostedGetSession: async ({ app }, { params }, caller) => ({
    value: await app.sessionValues.get(keyPrincipalOf(caller), params.key),
  }),

  async hostedSetSession({ app }, { params, body }, caller) {
    await app.sessionValues.set(keyPrincipalOf(caller), params.key, body.value);
    return { value: body.value };
  },

  hostedIncrementSession: async ({ app }, { params, body }, caller) => ({
    value: await app.sessionValues.increment(keyPrincipalOf(caller), params.key, body.amount),
  }),

  async hostedDeleteSession({ app }, { params }, caller) {
    await app.sessionValues.remove(keyPrincipalOf(caller), params.key);
    return { value: null };
  },
};

// Session values in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import type { sessionRoutes } from './routes.ts';

export const sessions: Handlers<typeof sessionRoutes> = {
  async readSessions({ app }, { body }, caller) {
    const values = await app.sessionValues.getMany(principalOf(caller), body.keys);
    // fromEntries defines own properties, so that a key named __proto__ is a key like any other.
    return { values: Object.fromEntries(values) };
  },

  getSession: async ({ app }, { params }, caller) => ({
    value: await app.sessionValues.get(keyPrincipalOf(caller), params.key),
  }),

  async setSession({ app }, { params, body }, caller) {
    await app.sessionValues.set(keyPrincipalOf(caller), params.key, body.value);
    return { value: body.value };
  },

  incrementSession: async ({ app }, { params, body }, caller) => ({
    value: await app.sessionValues.increment(keyPrincipalOf(caller), params.key, body.amount),
  }),

  async deleteSession({ app }, { params }, caller) {
    await app.sessionValues.remove(keyPrincipalOf(caller), params.key);
    return { value: null };
  },
};

// Session values: one atomic store operation each. The key's environment does not divide them: they belong to the tenant.
import { maxValue, type sessionRoutes } from '../../api/sessions.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { Handlers } from './hub.ts';

export const sessions: Handlers<typeof sessionRoutes> = {
  async readSessions(hub, { body }, caller) {
    const found = await hub.store.values.getMany(caller.tenantId, body.keys, hub.clock.now());
    // fromEntries defines own properties, so that a key named __proto__ is a key like any other.
    return { values: Object.fromEntries(body.keys.map((key) => [key, found.get(key) ?? null])) };
  },

  async getSession(hub, { params }, caller) {
    const value = await hub.store.values.get(caller.tenantId, params.key, hub.clock.now());
    if (value === null) throw notFound('Key not found');
    return { value };
  },

  async setSession(hub, { params, body }, caller) {
    if (Buffer.byteLength(body.value) > maxValue) {
      throw new HubError('payload_too_large', 'Session value too large. Maximum allowed: 1MB.');
    }
    await hub.store.values.set(caller.tenantId, params.key, body.value, hub.clock.now());
    return { value: body.value };
  },

  async incrementSession(hub, { params, body }, caller) {
    const { tenantId } = caller;
    const value = await hub.store.values.increment(tenantId, params.key, body.amount, hub.clock.now());
    if (value === 'not_a_number') {
      throw new HubError('conflict', 'The value of this key is not a number, so it cannot be incremented.');
    }
    return { value };
  },

  async deleteSession(hub, { params }, caller) {
    await hub.store.values.remove(caller.tenantId, params.key);
    return { value: null };
  },
};

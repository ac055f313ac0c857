// API keys of a workspace in the hosted API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { pageOf } from '../../http/contract/hosted-pages.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { microsOrNull } from '../../http/contract/hosted-time.ts';
import { HubError, refused } from '../../shared/error.ts';
import { type ApiKey, hostedKeyRequest, keyRecord } from '../record.ts';
import type { hostedKeyRoutes } from './routes.ts';

/** Keys that a workspace has at once. */
const maxKeys = 100;

export const hostedKeys: Handlers<typeof hostedKeyRoutes> = {
  async hostedListKeys(hub, { query }, caller) {
    const list = await hub.app.keys.listValid(principalOf(caller), query);
    const rows = list.items.map((key) => ({ ...render(key), last_used_at: microsOrNull(key.lastUsedAt) }));
    const { items: keys, ...page } = pageOf(rows, query, list.more);
    return { keys, ...page };
  },

  async hostedCreateKey(hub, { body }, caller, request) {
    const principal = principalOf(caller);
    const { items } = await hub.app.keys.listValid(principal, { limit: 1, offset: maxKeys - 1 });
    if (items.length > 0) {
      throw new HubError(
        'quota_exceeded',
        `The workspace has ${maxKeys} API keys, which is the limit. Revoke one first.`,
      );
    }
    const making = hub.app.keys.create(principal, {
      id: request.newId,
      ...hostedKeyRequest.read(body),
    });
    const { record, key } = await making.catch((error: unknown) => {
      // Made by the first request of the Idempotency-Key, whose answer was lost with its node.
      const isMade = request.newId !== null && error instanceof HubError && error.code === 'conflict';
      throw isMade
        ? refused(
            'idempotency_replay_refused',
            'A request with this Idempotency-Key has already created an API key. Use a new Idempotency-Key to create another.',
          )
        : error;
    });
    return { ...render(record), key };
  },

  async hostedRevokeKey(hub, { params }, caller) {
    await hub.app.keys.revoke(principalOf(caller), params.key_id);
    return null;
  },
};

const render = (key: ApiKey) => keyRecord.render('hosted', key);

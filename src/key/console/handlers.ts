// API keys in the console's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { isoOrNull } from '../../http/contract/render.ts';
import { type ApiKey, consoleKeyRequest, keyRecord } from '../record.ts';
import type { keyRoutes } from './routes.ts';

export const keys: Handlers<typeof keyRoutes> = {
  async createKey(hub, { body }, caller) {
    const request = consoleKeyRequest.read(body);
    const { record, key } = await hub.app.keys.create(principalOf(caller), request);
    return { ...render(record), key };
  },

  async listKeys(hub, { query }, caller) {
    const principal = principalOf(caller);
    const [page, streams] = await Promise.all([
      hub.app.keys.list(principal, query),
      // The keys are worth more than their figures.
      hub.app.keys.streams(principal).catch(() => null),
    ]);
    return listOf(page, query, (key) => ({
      ...render(key),
      last_used_at: isoOrNull(key.lastUsedAt),
      streams: streams && (streams.get(key.id) ?? 0),
    }));
  },

  async revokeKey(hub, { params }, caller) {
    await hub.app.keys.revoke(principalOf(caller), params.key_id);
    return null;
  },
};

const render = (key: ApiKey) => keyRecord.render('console', key);

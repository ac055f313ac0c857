// API keys: made, listed, revoked. Decides nothing about who may: the declaration does.
import type { keyRoutes } from '../api/keys.ts';
import { notFound } from '../domain/error.ts';
import type { Handlers } from './hub.ts';
import { iso } from './render.ts';

export const keys: Handlers<typeof keyRoutes> = {
  async createKey(hub, { body }, caller) {
    const random = hub.secrets.token(32);
    const lead = `${hub.settings.wire.keyPrefix}${body.env}_`;
    const key = `${lead}${random}`;
    const now = hub.clock.now();
    const record = {
      id: hub.secrets.uuid(),
      tenantId: caller.tenantId,
      env: body.env,
      label: body.label,
      prefix: `${lead}${random.slice(0, 8)}`,
      hash: hub.secrets.sha256(key),
      createdBy: caller.email,
      createdAt: now,
      lastUsedAt: null,
      revokedAt: null,
    };
    await hub.store.keys.insert(record);
    const { id, tenantId, prefix, env, label } = record;
    await hub.announcer.announce([{ kind: 'apiKeyCreated', tenantId, keyId: id, env, label }]);
    return { id, key, prefix, env, label, created_at: iso(now) };
  },

  async listKeys(hub, _input, caller) {
    const list = await hub.store.keys.list(caller.tenantId);
    return list.map(({ id, prefix, env, label, createdAt, lastUsedAt }) => ({
      id,
      prefix,
      env,
      label,
      created_at: iso(createdAt),
      last_used_at: lastUsedAt === null ? null : iso(lastUsedAt),
    }));
  },

  async revokeKey(hub, { params }, caller) {
    const key = await hub.store.keys.revoke(caller.tenantId, params.key_id, hub.clock.now());
    if (!key) throw notFound('API key not found or already revoked.');
    await hub.broadcast.control({
      kind: 'key_revoked',
      tenantId: key.tenantId,
      keyId: key.id,
      keyHash: key.hash,
    });
    await hub.announcer.announce([{ kind: 'apiKeyRevoked', tenantId: key.tenantId, keyId: key.id }]);
    return null;
  },
};

// API keys: made, listed, revoked. Decides nothing about who may: the declaration does.
import type { keyRoutes } from '../../api/keys.ts';
import { validationFailed } from '../../api/validation.ts';
import { notFound } from '../../domain/error.ts';
import type { ApiKey } from '../../domain/tenant.ts';
import type { Handlers } from './hub.ts';
import { listOf } from './pages.ts';
import { iso, isoOrNull } from './render.ts';

export const keys: Handlers<typeof keyRoutes> = {
  async createKey(hub, { body }, caller) {
    const random = hub.secrets.token(32);
    const lead = `${hub.settings.wire.keyPrefix}${body.env}_`;
    const key = `${lead}${random}`;
    const now = hub.clock.now();
    const expiresAt = body.expires_at ?? null;
    if (expiresAt !== null && expiresAt <= now) {
      throw validationFailed([{ loc: ['body', 'expires_at'], msg: 'must be in the future' }]);
    }
    const record = {
      id: hub.secrets.uuid(),
      tenantId: caller.tenantId,
      env: body.env,
      label: body.label,
      prefix: `${lead}${random.slice(0, 8)}`,
      hash: hub.secrets.sha256(key),
      agentPattern: body.agent_pattern ?? null,
      createdBy: caller.email,
      createdAt: now,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
    };
    await hub.store.keys.insert(record);
    const { id, tenantId, env, label } = record;
    await hub.announcer.announce([{ kind: 'apiKeyCreated', tenantId, keyId: id, env, label }]);
    return { ...render(record), key };
  },

  async listKeys(hub, { query }, caller) {
    const page = await hub.store.keys.list(caller.tenantId, query);
    return listOf(page, query, (key) => ({ ...render(key), last_used_at: isoOrNull(key.lastUsedAt) }));
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

const render = ({ id, prefix, env, label, agentPattern, createdAt, expiresAt }: ApiKey) => ({
  id,
  prefix,
  env,
  label,
  agent_pattern: agentPattern,
  created_at: iso(createdAt),
  expires_at: isoOrNull(expiresAt),
});

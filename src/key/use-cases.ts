// API keys, for both APIs: made, listed, revoked. Those of the console are for one environment; the hosted API also
// makes keys for all.
import { environmentKey } from '../../actors/protocol.ts';
import { noted } from '../audit/note.ts';
import { requireRole, seesEnv, visibleEnvs } from '../shared/access.ts';
import { HubError, notFound } from '../shared/error.ts';
import { type Env, environments } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import { actorName, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { visiblePage } from '../shared/visible-page.ts';
import type { ApiKey } from './record.ts';

export interface NewKey {
  /** Null or absent: a new one. */
  readonly id?: string | null;
  /** Null: for every environment. */
  readonly env: Env | null;
  readonly label: string | null;
  readonly agentPattern: string | null;
  readonly expiresAt: number | null;
}

export interface Keys {
  /** The record, and the key itself, which is never shown again. @throws HubError forbidden, validation_failed */
  create(principal: Principal, newKey: NewKey): Promise<{ readonly record: ApiKey; readonly key: string }>;
  /** Keys that are not revoked, newest first. */
  list(principal: Principal, page: PageRequest): Promise<Page<ApiKey>>;
  /** Agent streams that are open now, by the id of the key that opened them; a key without one is left out. */
  streams(principal: Principal): Promise<ReadonlyMap<string, number>>;
  /** Its live streams end within a second. @throws HubError forbidden, not_found */
  revoke(principal: Principal, id: string): Promise<void>;
}

type Ports = Pick<
  AppPorts,
  'store' | 'actors' | 'announcer' | 'broadcast' | 'clock' | 'secrets' | 'settings'
>;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * 32 bytes as 43 digits and letters: no underscore, so that such a key cannot be read as one that names an environment.
 */
function base62(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let i = 0; i < 43; i++) {
    text = `${digits[Number(rest % 62n)]}${text}`;
    rest /= 62n;
  }
  return text;
}

export const createKeys = (ports: Ports): Keys => ({
  async create(principal, { id = null, env, label, agentPattern, expiresAt }) {
    const { clock, secrets, announcer } = ports;
    requireRole(principal, 'admin');
    const now = clock.now();
    if (expiresAt !== null && expiresAt <= now) {
      throw new HubError(
        'validation_failed',
        'The expiry time (expires_at) is in the past. Choose a later time.',
        {
          problems: [{ loc: ['body', 'expires_at'], msg: 'must be in the future' }],
        },
      );
    }
    const { key, prefix } = newKey(ports, env);
    const { tenantId, actor } = principal;
    const record: ApiKey = {
      id: id ?? secrets.uuid(),
      tenantId,
      env,
      label,
      prefix,
      hash: secrets.sha256(key),
      agentPattern,
      createdBy: actorName(actor),
      createdAt: now,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
    };
    await noted(ports, principal, {
      action: 'key.created',
      subject: { id: record.id, name: label },
      summary: `API key ${prefix}… was created${env === null ? '' : ` for ${env}`}.`,
      details: { prefix, env, agentPattern, expiresAt },
    }).keys.insert(record);
    await announcer.announce([{ kind: 'apiKeyCreated', tenantId, keyId: record.id, env, label }]);
    return { record, key };
  },

  async list(principal, page) {
    const { keys } = ports.store;
    if (visibleEnvs(principal) === null) return keys.list(principal.tenantId, page);
    return visiblePage(
      (part) => keys.list(principal.tenantId, part),
      ({ env }) => env === null || seesEnv(principal, env),
      page,
    );
  },

  async streams({ tenantId }) {
    const counted = await Promise.all(
      environments.map((env) =>
        ports.actors.ask('environment', environmentKey(tenantId, env), 'streamsByKey', null),
      ),
    );
    const sums = new Map<string, number>();
    for (const [keyId, count] of counted.flatMap((one) => Object.entries(one))) {
      sums.set(keyId, (sums.get(keyId) ?? 0) + count);
    }
    return sums;
  },

  async revoke(principal, id) {
    const { clock, broadcast, announcer } = ports;
    requireRole(principal, 'admin');
    const key = await noted(ports, principal, {
      action: 'key.revoked',
      subject: { id },
      summary: 'An API key was revoked.',
      fromAnswer: { prefix: 'prefix', name: 'label', env: 'env' },
    }).keys.revoke(principal.tenantId, id, clock.now());
    if (!key) throw notFound('API key not found or already revoked.');
    const { tenantId } = key;
    await broadcast.control({ kind: 'key_revoked', tenantId, keyId: key.id, keyHash: key.hash });
    await announcer.announce([{ kind: 'apiKeyRevoked', tenantId, keyId: key.id, env: key.env }]);
  },
});

function newKey(
  { secrets, settings }: Ports,
  env: Env | null,
): { readonly key: string; readonly prefix: string } {
  const random = secrets.token(32);
  if (env === null) {
    const key = `${settings.wire.keyPrefix}${base62(Buffer.from(random, 'base64url'))}`;
    return { key, prefix: key.slice(0, 12) };
  }
  const lead = `${settings.wire.keyPrefix}${env}_`;
  return { key: `${lead}${random}`, prefix: `${lead}${random.slice(0, 8)}` };
}

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
import { type ApiKey, isExpired } from './record.ts';

export interface NewKey {
  /** Null or absent: a new one. */
  readonly id?: string | null;
  /** Null: for every environment. */
  readonly env: Env | null;
  readonly label: string | null;
  readonly agentPattern: string | null;
  readonly expiresAt: number | null;
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

export class Keys {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** The record, and the key itself, which is never shown again. @throws HubError forbidden, validation_failed */
  async create(
    principal: Principal,
    { id = null, env, label, agentPattern, expiresAt }: NewKey,
  ): Promise<{ readonly record: ApiKey; readonly key: string }> {
    const { clock, secrets, announcer } = this.#ports;
    requireRole(principal, 'admin');
    const now = clock.now();
    if (expiresAt !== null && expiresAt <= now) {
      throw new HubError(
        'validation_failed',
        'The expiry time (expires_at) is in the past. Choose a later time.',
        {
          fields: [{ field: ['expiresAt'], message: 'must be in the future' }],
        },
      );
    }
    const { key, prefix } = this.#newKey(env);
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
    await noted(this.#ports, principal, {
      action: 'key.created',
      subject: { id: record.id, name: label },
      summary: `API key ${prefix}… was created${env === null ? '' : ` for ${env}`}.`,
      details: { prefix, env, agentPattern, expiresAt },
    }).keys.create(record);
    await announcer.announce([{ kind: 'apiKeyCreated', tenantId, keyId: record.id, env, label }]);
    return { record, key };
  }

  /** Keys that are not revoked, newest first. */
  async list(principal: Principal, page: PageRequest): Promise<Page<ApiKey>> {
    if (visibleEnvs(principal) === null) return this.#ports.store.keys.list(principal.tenantId, page);
    return this.#listWhere(principal, page, () => true);
  }

  /** Keys that are neither revoked nor expired, newest first. */
  listValid(principal: Principal, page: PageRequest): Promise<Page<ApiKey>> {
    const now = this.#ports.clock.now();
    return this.#listWhere(principal, page, (key) => !isExpired(key, now));
  }

  #listWhere(
    principal: Principal,
    page: PageRequest,
    isListed: (key: ApiKey) => boolean,
  ): Promise<Page<ApiKey>> {
    return visiblePage(
      (part) => this.#ports.store.keys.list(principal.tenantId, part),
      (key) => isListed(key) && (key.env === null || seesEnv(principal, key.env)),
      page,
    );
  }

  /** Agent streams that are open now, by the id of the key that opened them; a key without one is left out. */
  async streams({ tenantId }: Principal): Promise<ReadonlyMap<string, number>> {
    const counted = await Promise.all(
      environments.map((env) =>
        this.#ports.actors.ask('environment', environmentKey(tenantId, env), 'streamsByKey', null),
      ),
    );
    const sums = new Map<string, number>();
    for (const [keyId, count] of counted.flatMap((one) => Object.entries(one))) {
      sums.set(keyId, (sums.get(keyId) ?? 0) + count);
    }
    return sums;
  }

  /** Its live streams end within a second. @throws HubError forbidden, not_found */
  async revoke(principal: Principal, id: string): Promise<void> {
    const { clock, broadcast, announcer } = this.#ports;
    requireRole(principal, 'admin');
    const key = await noted(this.#ports, principal, {
      action: 'key.revoked',
      subject: { id },
      summary: 'An API key was revoked.',
      fromAnswer: { prefix: 'prefix', name: 'label', env: 'env' },
    }).keys.revoke(principal.tenantId, id, clock.now());
    if (!key) throw notFound('API key not found or already revoked.');
    const { tenantId } = key;
    await broadcast.control({ kind: 'key_revoked', tenantId, keyId: key.id, keyHash: key.hash });
    await announcer.announce([{ kind: 'apiKeyRevoked', tenantId, keyId: key.id, env: key.env }]);
  }

  #newKey(env: Env | null): { readonly key: string; readonly prefix: string } {
    const { secrets, settings } = this.#ports;
    const random = secrets.token(32);
    if (env === null) {
      const key = `${settings.wire.keyPrefix}${base62(Buffer.from(random, 'base64url'))}`;
      return { key, prefix: key.slice(0, 12) };
    }
    const lead = `${settings.wire.keyPrefix}${env}_`;
    return { key: `${lead}${random}`, prefix: `${lead}${random.slice(0, 8)}` };
  }
}

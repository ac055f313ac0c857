// Tokens with which people use the hosted API: those that the hub gives, and, where one is configured, those of an
// identity provider. One key signs the hub's own, sealed in the store and shared by all nodes.

import { noted } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { anyEnv, type EnvRole } from '../../shared/env-roles.ts';
import { HubError, notFound, refused } from '../../shared/error.ts';
import type { Claims, JwkSet } from '../../shared/ports/jwt.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import {
  actorName,
  isOperatorRole,
  type OperatorRole,
  operatorRoles,
  type Principal,
} from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { OperatorIdentity, OperatorTokenRecord, OperatorTokens } from '../port/operator-tokens.ts';

export interface GivenToken {
  readonly token: string;
  readonly expiresAt: number;
}

export interface OwnTokens extends OperatorTokens {
  /**
   * A token of an admin's choosing, for a program or a person without a login.
   * @throws HubError forbidden, not_found when switched off
   */
  create(
    principal: Principal,
    request: { readonly role: OperatorRole; readonly ttlMs: number },
  ): Promise<GivenToken & { readonly id: string }>;
  /** Tokens that admins made and that are good now, newest first. @throws HubError forbidden */
  list(principal: Principal, page: PageRequest): Promise<Page<OperatorTokenRecord>>;
  /** Every node refuses it from now on; its streams end. @throws HubError forbidden, not_found */
  revoke(principal: Principal, id: string): Promise<void>;
  /** A token of a signed-in person for 15 minutes, refused from the moment the login ends. */
  createForLogin(principal: Principal, tokenHash: string): Promise<GivenToken>;
  /** The public keys by which anybody can check the hub's own tokens. */
  keys(): Promise<JwkSet>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'jwts' | 'settings' | 'broadcast'> & {
  /** Tokens of the configured identity provider; null when there is none. */
  readonly provider: (Pick<OperatorTokens, 'identify'> & { readonly issuer: string }) | null;
};

const browserTokenMs = 15 * 60_000;

interface Pair {
  readonly publicKey: string;
  readonly seed: Uint8Array;
}

class SignedOperatorTokens implements OwnTokens {
  readonly #ports: Ports;
  #pair: Promise<Pair> | null = null;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async identify(token: string): Promise<OperatorIdentity> {
    const { jwts, settings, provider } = this.#ports;
    const issuerName = jwts.issuerOf(token);
    if (issuerName === settings.baseUrl) return this.#identifyOwn(token);
    if (provider && issuerName === provider.issuer) return provider.identify(token);
    throw new HubError(
      'unauthenticated',
      issuerName === null
        ? 'The bearer token is not valid. Send an API key or an operator token (a JSON Web Token).'
        : "This hub does not trust the token's issuer. Use a token from the configured identity provider or from this hub.",
    );
  }

  async create(
    principal: Principal,
    { role, ttlMs }: { readonly role: OperatorRole; readonly ttlMs: number },
  ): Promise<GivenToken & { readonly id: string }> {
    const { settings, secrets, clock } = this.#ports;
    requireRole(principal, 'admin');
    if (!settings.operatorTokens) {
      throw new HubError(
        'not_found',
        'This hub issues no operator tokens, because OPERATOR_TOKENS is off. Use a token from the identity provider.',
      );
    }
    const { tenantId } = principal;
    const [id, name] = [secrets.uuid(), actorName(principal.actor)];
    const claims = { jti: id, sub: `given:${secrets.uuid()}`, tenant: tenantId, role, name };
    const signed = await this.#give(claims, ttlMs);
    const { expiresAt } = signed;
    // Recorded before anybody has it.
    await noted(this.#ports, principal, {
      action: 'operator_token.created',
      subject: { id },
      summary: `An operator token with the role ${role} was created.`,
      details: { role, expiresAt },
    }).operatorTokens.create({
      id,
      tenantId,
      role,
      createdBy: name,
      createdAt: clock.now(),
      expiresAt,
      revokedAt: null,
    });
    return { ...signed, id };
  }

  async list(principal: Principal, page: PageRequest): Promise<Page<OperatorTokenRecord>> {
    requireRole(principal, 'admin');
    return this.#ports.store.operatorTokens.list(principal.tenantId, page, this.#ports.clock.now());
  }

  async revoke(principal: Principal, id: string): Promise<void> {
    requireRole(principal, 'admin');
    const revoked = await noted(this.#ports, principal, {
      action: 'operator_token.revoked',
      subject: { id },
      summary: 'An operator token was revoked.',
      fromAnswer: { role: 'role', createdBy: 'createdBy' },
    }).operatorTokens.revoke(principal.tenantId, id, this.#ports.clock.now());
    if (!revoked) throw notFound('Operator token not found, expired or already revoked.');
    await this.#ports.broadcast.control({ kind: 'operator_token_revoked', tokenId: id });
  }

  isRevoked(id: string): Promise<boolean> {
    return this.#ports.store.operatorTokens.isRevoked(id);
  }

  async createForLogin({ tenantId, roles, actor }: Principal, tokenHash: string): Promise<GivenToken> {
    if (actor.kind !== 'user')
      throw refused('operator_required', 'Only a signed-in person can get a token. Sign in first.');
    const role = operatorRoles.findLast((one) => roles.has(one)) ?? 'viewer';
    return this.#give(
      { sub: actor.id, tenant: tenantId, role, name: actor.email, login: tokenHash },
      browserTokenMs,
    );
  }

  async keys(): Promise<JwkSet> {
    return { keys: [this.#ports.jwts.publicJwk((await this.#ownPair()).publicKey)] };
  }

  /** The hub-wide key: the one that the first node to ask left in the store. */
  #ownPair(): Promise<Pair> {
    this.#pair ??= this.#readPair().catch((error: unknown) => {
      this.#pair = null;
      throw error;
    });
    return this.#pair;
  }

  async #readPair(): Promise<Pair> {
    const { secrets, store } = this.#ports;
    const fresh = secrets.newSigningKey();
    const bytes = Buffer.concat([Buffer.from(fresh.publicKey, 'hex'), fresh.seed]);
    const kept = await store.keyCheck.first('operator-token-key', secrets.seal('operator-token', bytes));
    const opened = Buffer.from(secrets.unseal('operator-token', kept));
    return { publicKey: opened.subarray(0, 32).toString('hex'), seed: opened.subarray(32) };
  }

  async #give(claims: Claims, ttlMs: number): Promise<GivenToken> {
    const { clock, settings, secrets, jwts } = this.#ports;
    const { publicKey, seed } = await this.#ownPair();
    // Whole seconds: a token contains no finer times.
    const issuedAt = Math.floor(clock.now() / 1000) * 1000;
    const expiresAt = issuedAt + ttlMs;
    const full = { iss: settings.baseUrl, aud: settings.baseUrl, jti: secrets.uuid(), ...claims };
    return { token: await jwts.sign(seed, publicKey, full, { issuedAt, expiresAt }), expiresAt };
  }

  /** Roles that the person of the login has now, whatever they were when the token was given. */
  async #rolesOfLogin(tokenHash: string, now: number): Promise<readonly EnvRole[]> {
    const login = await this.#ports.store.logins.get(tokenHash, now);
    const user = login && (await this.#ports.store.tenants.getUser(login.userId));
    if (user) return user.roles;
    throw new HubError('unauthenticated', 'The login that issued this token has ended. Sign in again.');
  }

  async #identifyOwn(token: string): Promise<OperatorIdentity> {
    const { clock, jwts, settings, store } = this.#ports;
    const now = clock.now();
    const claims = await jwts.verify(token, await this.keys(), {
      issuer: settings.baseUrl,
      audiences: [settings.baseUrl],
      now,
    });
    const { sub, exp, jti, tenant, role, name, login } = claims;
    if (typeof tenant !== 'string' || !isOperatorRole(role)) {
      throw new HubError('unauthenticated', 'The token is not valid for this API. Get a token for /v1.');
    }
    const roles =
      typeof login === 'string' ? await this.#rolesOfLogin(login, now) : [{ role, env: anyEnv } as const];
    const tokenId = typeof jti === 'string' && typeof login !== 'string' ? jti : null;
    // Asked each time: a revocation holds at once on every node.
    if (tokenId !== null && (await store.operatorTokens.isRevoked(tokenId))) {
      throw new HubError('unauthenticated', 'The token is revoked. Ask an admin for a new one.');
    }
    const subject = String(sub);
    return {
      tenantId: tenant,
      issuer: settings.baseUrl,
      subject,
      display: typeof name === 'string' ? name : subject,
      roles,
      loginHash: typeof login === 'string' ? login : null,
      tokenId,
      expiresAt: Number(exp) * 1000,
    };
  }
}

export const createOperatorTokens = (ports: Ports): OwnTokens => new SignedOperatorTokens(ports);

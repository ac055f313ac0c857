// Tokens with which people use the hosted API: those that the hub gives, and, where one is configured, those of an
// identity provider. One key signs the hub's own, sealed in the store and shared by all nodes.
import { HubError, refused } from '../domain/error.ts';
import { actorName, isOperatorRole, type OperatorRole, type Principal } from '../domain/principal.ts';
import type { Claims, JwkSet } from '../ports/jwt.ts';
import type { OperatorIdentity, OperatorTokens } from '../ports/operator-tokens.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';

export interface GivenToken {
  readonly token: string;
  readonly expiresAt: number;
}

export interface OwnTokens extends OperatorTokens {
  /**
   * A token of an admin's choosing, for a program or a person without a login.
   * @throws HubError forbidden, not_found when switched off
   */
  give(
    principal: Principal,
    wanted: { readonly role: OperatorRole; readonly ttlMs: number },
  ): Promise<GivenToken>;
  /** A token of a signed-in person for 15 minutes, refused from the moment the login ends. */
  giveToLogin(principal: Principal, tokenHash: string): Promise<GivenToken>;
  /** The public keys by which anybody can check the hub's own tokens. */
  keys(): Promise<JwkSet>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'jwts' | 'settings'> & {
  /** Tokens of the configured identity provider; null when there is none. */
  readonly provider: (OperatorTokens & { readonly issuer: string }) | null;
};

const browserTokenMs = 15 * 60_000;

interface Pair {
  readonly publicKey: string;
  readonly seed: Uint8Array;
}

export function createOperatorTokens({ store, secrets, clock, jwts, settings, provider }: Ports): OwnTokens {
  const issuer = settings.baseUrl;
  let pair: Promise<Pair> | null = null;

  /** The hub-wide key: the one that the first node to ask left in the store. */
  function ownPair(): Promise<Pair> {
    pair ??= readPair().catch((error: unknown) => {
      pair = null;
      throw error;
    });
    return pair;
  }

  async function readPair(): Promise<Pair> {
    const fresh = secrets.newSigningKey();
    const bytes = Buffer.concat([Buffer.from(fresh.publicKey, 'hex'), fresh.seed]);
    const kept = await store.keyCheck.first('operator-token-key', secrets.seal('operator-token', bytes));
    const opened = Buffer.from(secrets.unseal('operator-token', kept));
    return { publicKey: opened.subarray(0, 32).toString('hex'), seed: opened.subarray(32) };
  }

  async function give(claims: Claims, ttlMs: number): Promise<GivenToken> {
    const { publicKey, seed } = await ownPair();
    // Whole seconds: a token says no finer times.
    const issuedAt = Math.floor(clock.now() / 1000) * 1000;
    const expiresAt = issuedAt + ttlMs;
    const full = { iss: issuer, aud: issuer, jti: secrets.uuid(), ...claims };
    return { token: await jwts.sign(seed, publicKey, full, { issuedAt, expiresAt }), expiresAt };
  }

  async function keys(): Promise<JwkSet> {
    return { keys: [jwts.publicJwk((await ownPair()).publicKey)] };
  }

  async function identifyOwn(token: string): Promise<OperatorIdentity> {
    const now = clock.now();
    const claims = await jwts.verify(token, await keys(), { issuer, audiences: [issuer], now });
    const { sub, exp, tenant, role, name, login } = claims;
    if (typeof tenant !== 'string' || !isOperatorRole(role)) {
      throw new HubError('unauthenticated', 'The token is refused: it is not for this API.');
    }
    if (typeof login === 'string' && (await store.logins.get(login, now)) === null) {
      throw new HubError('unauthenticated', 'The login that this token was given to has ended.');
    }
    const subject = String(sub);
    return {
      tenantId: tenant,
      issuer,
      subject,
      display: typeof name === 'string' ? name : subject,
      role,
      loginHash: typeof login === 'string' ? login : null,
      expiresAt: Number(exp) * 1000,
    };
  }

  return {
    async identify(token) {
      const named = jwts.issuerOf(token);
      if (named === issuer) return identifyOwn(token);
      if (provider && named === provider.issuer) return provider.identify(token);
      throw new HubError(
        'unauthenticated',
        named === null
          ? 'Send an API key, or the token of an operator (a JSON Web Token), as a bearer token.'
          : 'The token is refused: its issuer is not known here.',
      );
    },

    async give(principal, { role, ttlMs }) {
      requireRole(principal, 'admin');
      if (!settings.operatorTokens) {
        throw new HubError('not_found', 'This hub gives no operator tokens: OPERATOR_TOKENS is off.');
      }
      const name = actorName(principal.actor);
      return give({ sub: `given:${secrets.uuid()}`, tenant: principal.tenantId, role, name }, ttlMs);
    },

    async giveToLogin({ tenantId, roles, actor }, tokenHash) {
      if (actor.kind !== 'user') throw refused('operator_required', 'Only a signed-in person gets a token.');
      const role: OperatorRole = roles.has('admin') ? 'admin' : 'operator';
      return give(
        { sub: actor.id, tenant: tenantId, role, name: actor.email, login: tokenHash },
        browserTokenMs,
      );
    },

    keys,
  };
}

// Identifies callers: one strategy for each authentication scheme that a route can declare. Also checks that a
// browser's page may call.

import type { KeyStore } from '../key/port.ts';
import { type ApiKey, isExpired } from '../key/record.ts';
import { includesRole, roleIn, rolesText } from '../shared/env-roles.ts';
import { HubError } from '../shared/error.ts';
import type { Control } from '../shared/frame.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { TenantRecordStore } from '../tenant/port/records.ts';
import type { TenantStore } from '../tenant/port/tenants.ts';
import type { LoginStore } from '../user/port/logins.ts';
import type { OperatorTokens } from '../user/port/operator-tokens.ts';
import type { ServiceAccountStore } from '../user/port/service-accounts.ts';
import { type ClosedTenants, createClosedTenants } from './closed-tenants.ts';
import type { Caller } from './contract/call.ts';
import { cookieOf } from './contract/cookie.ts';
import { RequestError } from './contract/request-error.ts';
import { type AuthScheme, isPersonRole, type RouteDeclaration, type RouteRole } from './contract/route.ts';
import type { StreamCaller } from './contract/stream.ts';
import {
  type AgentIdRepair,
  bearer,
  type Headers,
  type Identified,
  type KeyRequest,
  keyCaller,
  maxCredential,
  type Scheme,
  type WireNames,
} from './credentials.ts';
import { createHostedSchemes } from './hosted-callers.ts';
import { createKeyRing, type KeyRing } from './key-ring.ts';
import { createLoginSessions, type LoginSessions } from './login-sessions.ts';
import { createServiceTokens, type ServiceTokens } from './service-tokens.ts';

export interface CallersOptions {
  readonly keys: Pick<KeyStore, 'getByHash' | 'used'>;
  readonly logins: Pick<LoginStore, 'get' | 'extend'>;
  readonly users: Pick<TenantStore, 'getUser'>;
  readonly serviceAccounts: Pick<ServiceAccountStore, 'getByHash' | 'used'>;
  readonly tenants: Pick<TenantRecordStore, 'listClosed'>;
  readonly secrets: Pick<Secrets, 'sha256' | 'equal'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly wire: WireNames;
  readonly baseUrl: string;
  readonly sessionTtlMs: number;
  readonly oidcSessionMs: number;
  readonly operatorToken: string | null;
  /** Counts one try of an operator token. @throws HubError rate_limited */
  readonly operatorGuess: (network: string) => Promise<void>;
  /** Takes the count of a try back whose token was right: a file of many parts is sent with one request for each. */
  readonly rightOperatorToken?: (network: string) => Promise<void>;
  /** Called for a wrong OPERATOR_TOKEN. */
  readonly wrongOperatorToken?: () => void;
  readonly operatorTokens: OperatorTokens;
  /** Counts one wrong credential of the hosted API. @throws HubError rate_limited */
  readonly failedSignIn: (network: string) => Promise<void>;
}

/** The part of a route's declaration that decides who may call it. */
type IdentifiedRoute = Pick<RouteDeclaration, 'auth' | 'role' | 'peopleOnly' | 'canRepairAgentId'>;

export interface Callers {
  /**
   * The caller that one of the route's schemes identifies, and a Set-Cookie text when a login was extended.
   * @param network where the request came from, as limits count it
   * @throws HubError unauthenticated, forbidden, not_found, rate_limited
   */
  find(route: IdentifiedRoute, headers: Headers, network: string): Promise<Identified>;
  /**
   * The same at once, where nothing has to be read: a key that is remembered. Null: `find` is needed.
   * @throws HubError as `find`
   */
  remembered(route: IdentifiedRoute, headers: Headers, network: string): Identified | null;
  /** @throws RequestError csrf_header_missing */
  checkCsrf(
    route: Pick<RouteDeclaration, 'auth' | 'method' | 'csrf' | 'csrfMessage'>,
    headers: Headers,
  ): void;
  /** True when the request carries a login cookie. */
  hasCookie(headers: Headers): boolean;
  /**
   * True if the store still accepts the key or login that opened the stream.
   * @throws HubError unavailable
   */
  isStillValid(caller: StreamCaller): Promise<boolean>;
  /** Takes revocations and sign-outs of any node. */
  control(message: Control): void;
  /** Writes the gathered last uses of keys. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const isHosted = (name: AuthScheme): boolean => name === 'hostedKey' || name === 'operatorJwt';

const unauthenticated = (message: string): HubError => new HubError('unauthenticated', message);

const hasBearer = (headers: Headers): boolean => bearer(headers.get('authorization') ?? '') !== null;

class RequestCallers implements Callers {
  readonly #options: CallersOptions;
  readonly #ring: KeyRing;
  readonly #operatorHash: string | null;
  readonly #logins: LoginSessions;
  readonly #closed: ClosedTenants;
  readonly #services: ServiceTokens;
  readonly #schemes: { readonly [S in AuthScheme]: Scheme };

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#ring = createKeyRing(options);
    this.#operatorHash =
      options.operatorToken === null ? null : options.secrets.sha256(options.operatorToken);
    this.#logins = createLoginSessions({
      ...options,
      cookieName: options.wire.sessionCookie,
      secure: options.baseUrl.startsWith('https://'),
    });
    this.#closed = createClosedTenants(options);
    this.#services = createServiceTokens({
      store: options.serviceAccounts,
      secrets: options.secrets,
      clock: options.clock,
      log: options.log,
      prefix: options.wire.tokenPrefix,
    });
    this.#schemes = this.#makeSchemes();
  }

  async find(route: IdentifiedRoute, headers: Headers, network: string): Promise<Identified> {
    const { auth, role } = route;
    if (auth.length === 0) return { caller: { kind: 'none' }, cookie: null };
    const identity = await this.#chosen(auth, headers).identify(headers, network, this.#repairOf(route));
    await this.#closed.ready;
    this.#checkTenant(identity.caller);
    requirePerson(identity.caller, route);
    requireRole(identity.caller, role);
    return identity;
  }

  remembered(route: IdentifiedRoute, headers: Headers, network: string): Identified | null {
    const { auth, role } = route;
    if (auth.length === 0) return null;
    const identity =
      this.#chosen(auth, headers).remembered?.(headers, network, this.#repairOf(route)) ?? null;
    if (identity) {
      this.#checkTenant(identity.caller);
      requireRole(identity.caller, role);
    }
    return identity;
  }

  checkCsrf(
    {
      auth,
      method,
      csrf = method === 'GET' ? 'none' : 'header',
      csrfMessage,
    }: Pick<RouteDeclaration, 'auth' | 'method' | 'csrf' | 'csrfMessage'>,
    headers: Headers,
  ): void {
    if (csrf === 'none' || headers.get('x-requested-with')) return;
    // Routes that take no cookie have nothing that a page could make a browser send.
    if (auth.length > 0 && auth.every(isHosted)) return;
    // A page of another origin can make a browser send its cookie, and nothing else that proves who calls.
    const byToken =
      this.#hasKey(headers) ||
      this.#services.presented(headers) ||
      (auth.includes('operatorJwt') && this.#schemes.operatorJwt.presented(headers)) ||
      (auth.includes('operatorToken') && this.#schemes.operatorToken.presented(headers));
    if (byToken && !this.hasCookie(headers)) return;
    throw new RequestError('forbidden', csrfMessage ?? 'Missing CSRF header.', {
      wireCode: 'csrf_header_missing',
    });
  }

  async isStillValid(caller: StreamCaller): Promise<boolean> {
    if (this.#closed.isClosed(caller.tenantId)) return false;
    if (caller.kind !== 'key') {
      if (caller.kind === 'hostedOperator' && caller.tokenId) {
        return !(await this.#options.operatorTokens.isRevoked(caller.tokenId));
      }
      const hash = caller.kind === 'user' ? caller.tokenHash : caller.loginHash;
      if (hash === null) return true;
      if (caller.service) {
        const served = await this.#services.byHash(hash);
        return served !== null && rolesText(served.account.roles) === rolesText(caller.roles);
      }
      const login = await this.#options.logins.get(hash, this.#options.clock.now());
      const user = login && (await this.#options.users.getUser(login.userId));
      // A stream that was opened with other roles is opened again.
      return user !== null && rolesText(user.roles) === rolesText(caller.roles);
    }
    const key = await this.#options.keys.getByHash(caller.keyHash);
    return key !== null && key.revokedAt === null && !isExpired(key, this.#options.clock.now());
  }

  control(message: Control): void {
    this.#closed.control(message);
    this.#services.control(message);
    if (message.kind === 'missed' || message.kind === 'interruption') {
      this.#ring.forget();
      this.#logins.forget();
    }
    if (message.kind === 'key_revoked') this.#ring.revoked(message.keyHash);
    else if (message.kind === 'login_ended') this.#logins.ended(message.tokenHash);
    else if (message.kind === 'user_logins_ended' || message.kind === 'user_roles_changed')
      this.#logins.userEnded(message.userId);
  }

  flush(): Promise<void> {
    return this.#ring.flush();
  }

  close(): Promise<void> {
    this.#closed.close();
    return this.#ring.close();
  }

  hasCookie(headers: Headers): boolean {
    return cookieOf(headers.get('cookie'), this.#options.wire.sessionCookie) !== null;
  }

  #repairOf({ canRepairAgentId }: IdentifiedRoute): AgentIdRepair {
    return canRepairAgentId ? (text) => this.#options.secrets.sha256(text) : null;
  }

  /** True if the request carries a plausible API key: the key may still be unknown or revoked. */
  #hasKey(headers: Headers): boolean {
    const token = bearer(headers.get('authorization') ?? '');
    return (
      token?.startsWith(this.#options.wire.keyPrefix) === true &&
      token.length > this.#options.wire.keyPrefix.length
    );
  }

  /** Null for what cannot be a key. @throws HubError unauthenticated */
  #keyTextOf(headers: Headers): string | null {
    const header = headers.get('authorization');
    if (!header) throw unauthenticated('Authorization header is required.');
    const token = bearer(header);
    if (token === null) throw unauthenticated('Authorization header must be: Bearer <API key>.');
    return token.startsWith(this.#options.wire.keyPrefix) && token.length <= maxCredential ? token : null;
  }

  async #byKey(headers: Headers, network: string, repair: AgentIdRepair): Promise<Caller> {
    const text = this.#keyTextOf(headers);
    const key = text === null ? null : await this.#ring.find(text);
    if (!key) throw unauthenticated('Invalid or revoked API key.');
    return this.#callerOf(key, { headers, wire: this.#options.wire, network, repair });
  }

  #byRememberedKey(headers: Headers, network: string, repair: AgentIdRepair): Caller | null {
    const text = this.#keyTextOf(headers);
    const key = text === null ? null : this.#ring.remembered(text);
    return key && this.#callerOf(key, { headers, wire: this.#options.wire, network, repair });
  }

  /** @throws HubError unauthenticated, forbidden, bad_request */
  #callerOf(key: ApiKey, request: KeyRequest): Caller {
    if (isExpired(key, this.#options.clock.now())) throw unauthenticated('This API key has expired.');
    if (key.env === null) {
      throw unauthenticated(
        'This API key has no environment, so it works only for the API under /v1. Use a key for one environment.',
      );
    }
    return keyCaller('key', key.env, key, request);
  }

  /** @throws HubError tenant_suspended */
  #checkTenant(caller: Caller): void {
    if ('tenantId' in caller) this.#closed.check(caller.tenantId);
  }

  async #byServiceToken(headers: Headers): Promise<Identified> {
    const { account, token } = await this.#services.find(headers);
    const { id: userId, tenantId, name: email, roles } = account;
    const service = { tokenId: token.id, expiresAt: token.expiresAt };
    return {
      caller: { kind: 'user', userId, tenantId, email, roles, tokenHash: token.hash, service },
      cookie: null,
    };
  }

  async #byCookie(headers: Headers): Promise<Identified> {
    if (this.#services.presented(headers)) return this.#byServiceToken(headers);
    const token = cookieOf(headers.get('cookie'), this.#options.wire.sessionCookie);
    if (!token) throw unauthenticated('Not authenticated.');
    if (token.length > maxCredential) throw unauthenticated('Session expired or invalid.');
    const { user, tokenHash, renewed } = await this.#logins.find(token);
    const { id: userId, tenantId, email, roles } = user;
    return { caller: { kind: 'user', userId, tenantId, email, roles, tokenHash }, cookie: renewed };
  }

  #byOperatorToken(headers: Headers): Caller {
    if (this.#operatorHash === null) throw new HubError('not_found', 'Not Found');
    const token = bearer(headers.get('authorization') ?? '');
    // Hashed first, so that the comparison does not depend on the length either.
    if (
      token === null ||
      !this.#options.secrets.equal(this.#options.secrets.sha256(token), this.#operatorHash)
    ) {
      if (token !== null) this.#options.wrongOperatorToken?.();
      throw unauthenticated(
        'The operator token is absent or wrong. Send the OPERATOR_TOKEN as a bearer token.',
      );
    }
    return { kind: 'operator' };
  }

  #makeSchemes(): { readonly [S in AuthScheme]: Scheme } {
    return {
      ...createHostedSchemes({ ...this.#options, ring: this.#ring, services: this.#services }),
      key: {
        presented: (headers) => this.#hasKey(headers),
        attempted: (headers) => headers.has('authorization'),
        identify: async (...request) => ({ caller: await this.#byKey(...request), cookie: null }),
        remembered: (...request) => {
          const caller = this.#byRememberedKey(...request);
          return caller && { caller, cookie: null };
        },
      },
      cookie: {
        presented: (headers) => this.hasCookie(headers) || this.#services.presented(headers),
        attempted: () => false,
        identify: (headers) => this.#byCookie(headers),
      },
      operatorToken: {
        presented: hasBearer,
        attempted: () => false,
        identify: async (headers, network) => {
          // A token can be guessed at: guesses are counted before it is compared. Any page can send a request without
          // one.
          if (hasBearer(headers)) await this.#options.operatorGuess(network);
          const caller = this.#byOperatorToken(headers);
          await this.#options.rightOperatorToken?.(network);
          return { caller, cookie: null };
        },
      },
    };
  }

  /** The scheme whose credential the request carries; of several that it carries the one named first. */
  #chosen(auth: readonly AuthScheme[], headers: Headers): Scheme {
    // Where there is no operator's token nobody is asked for it.
    const offered =
      this.#operatorHash === null && auth.length > 1 ? auth.filter((name) => name !== 'operatorToken') : auth;
    const schemesOffered = offered.map((name) => this.#schemes[name]);
    const [only] = schemesOffered;
    const scheme =
      schemesOffered.length === 1
        ? only
        : (schemesOffered.find((one) => one.presented(headers)) ??
          schemesOffered.find((one) => one.attempted(headers)) ??
          // The hosted API has one text for no key and for a wrong one.
          schemesOffered[offered.findIndex(isHosted)]);
    if (!scheme) throw unauthenticated('Authentication required.');
    return scheme;
  }
}

export const createCallers = (options: CallersOptions): Callers => new RequestCallers(options);

/** @throws HubError person_required where a service account asks for what people alone may do */
function requirePerson(
  caller: Caller,
  { role, peopleOnly }: Pick<RouteDeclaration, 'role' | 'peopleOnly'>,
): void {
  const isService =
    (caller.kind === 'user' || caller.kind === 'hostedOperator') && caller.service !== undefined;
  if (!isService || (role !== 'person' && !peopleOnly)) return;
  throw new HubError('person_required', 'A service account may not do this. Sign in as a person.');
}

/**
 * The role in any environment; `checkNamedEnvironment` and use cases ask for that of the environment. A key of the
 * hosted API needs none where its scheme is taken.
 * @throws HubError forbidden when the caller has not the role
 */
function requireRole(caller: Caller, role: RouteRole): void {
  if (caller.kind !== 'user' && caller.kind !== 'hostedOperator') return;
  if (!isPersonRole(role)) return;
  const held = roleIn(caller.roles, null);
  if (includesRole(held, role)) return;
  if (caller.kind === 'user' && role === 'admin') throw new HubError('forbidden', 'Admin access required.');
  const bearer = caller.kind === 'user' ? 'you have' : 'the token has';
  throw new HubError(
    'role_required',
    `This request needs the role ${role}, but ${bearer} the role ${held ?? 'none'}. Ask an admin for the role.`,
  );
}

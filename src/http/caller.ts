// Identifies callers: one strategy for each authentication scheme that a route can declare. Also checks that a
// browser's page may call.

import { type ApiKey, isExpired } from '../key/record.ts';
import { includesRole, roleIn, rolesText } from '../shared/env-roles.ts';
import { HubError } from '../shared/error.ts';
import type { Control } from '../shared/frame.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { KeyStore, LoginStore, TenantStore } from '../tenant/port/identity.ts';
import type { TenantRecordStore } from '../tenant/port/records.ts';
import type { OperatorTokens } from '../user/port/operator-tokens.ts';
import type { ServiceAccountStore } from '../user/port/service-accounts.ts';
import { createClosedTenants } from './closed-tenants.ts';
import type { Caller } from './contract/call.ts';
import { cookieOf } from './contract/cookie.ts';
import { type AuthScheme, isPersonRole, type RouteDeclaration, type RouteRole } from './contract/route.ts';
import type { StreamCaller } from './contract/stream.ts';
import {
  bearer,
  type Headers,
  type Identified,
  keyFields,
  maxCredential,
  type Scheme,
  type WireNames,
} from './credentials.ts';
import { createHostedSchemes } from './hosted-callers.ts';
import { createKeyRing } from './key-ring.ts';
import { createLoginSessions } from './login-sessions.ts';
import { createServiceTokens } from './service-tokens.ts';

export interface CallersOptions {
  readonly keys: Pick<KeyStore, 'byHash' | 'used'>;
  readonly logins: Pick<LoginStore, 'get' | 'extend'>;
  readonly users: Pick<TenantStore, 'userById'>;
  readonly serviceAccounts: Pick<ServiceAccountStore, 'byHash' | 'used'>;
  readonly tenants: Pick<TenantRecordStore, 'closed'>;
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

export interface Callers {
  /**
   * The caller that one of the route's schemes identifies, and a Set-Cookie text when a login was extended.
   * @param network where the request came from, as limits count it
   * @throws HubError unauthenticated, forbidden, not_found, rate_limited
   */
  find(
    route: Pick<RouteDeclaration, 'auth' | 'role' | 'peopleOnly'>,
    headers: Headers,
    network: string,
  ): Promise<Identified>;
  /**
   * The same at once, where nothing has to be read: a key that is remembered. Null: `find` tells.
   * @throws HubError as `find`
   */
  remembered(
    route: Pick<RouteDeclaration, 'auth' | 'role' | 'peopleOnly'>,
    headers: Headers,
    network: string,
  ): Identified | null;
  /** @throws HubError csrf_header_missing */
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

export function createCallers(options: CallersOptions): Callers {
  const { wire, secrets, operatorToken } = options;
  const ring = createKeyRing(options);
  const operatorHash = operatorToken === null ? null : secrets.sha256(operatorToken);
  const hasCookie = (headers: Headers): boolean =>
    cookieOf(headers.get('cookie'), wire.sessionCookie) !== null;
  /** An API key that says something: it may still be unknown or revoked. */
  function hasKey(headers: Headers): boolean {
    const token = bearer(headers.get('authorization') ?? '');
    return token?.startsWith(wire.keyPrefix) === true && token.length > wire.keyPrefix.length;
  }

  const logins = createLoginSessions({
    ...options,
    cookieName: wire.sessionCookie,
    secure: options.baseUrl.startsWith('https://'),
  });

  /** Null for what cannot be a key. @throws HubError unauthenticated */
  function keyTextOf(headers: Headers): string | null {
    const header = headers.get('authorization');
    if (!header) throw unauthenticated('Authorization header is required.');
    const token = bearer(header);
    if (token === null) throw unauthenticated('Authorization header must be: Bearer <API key>.');
    return token.startsWith(wire.keyPrefix) && token.length <= maxCredential ? token : null;
  }

  async function byKey(headers: Headers, network: string): Promise<Caller> {
    const text = keyTextOf(headers);
    const key = text === null ? null : await ring.find(text);
    if (!key) throw unauthenticated('Invalid or revoked API key.');
    return callerOf(key, headers, network);
  }

  function byRememberedKey(headers: Headers, network: string): Caller | null {
    const text = keyTextOf(headers);
    const key = text === null ? null : ring.remembered(text);
    return key && callerOf(key, headers, network);
  }

  /** @throws HubError unauthenticated, forbidden, bad_request */
  function callerOf(key: ApiKey, headers: Headers, network: string): Caller {
    if (isExpired(key, options.clock.now())) throw unauthenticated('This API key has expired.');
    if (key.env === null) {
      throw unauthenticated(
        'This API key has no environment, so it works only for the API under /v1. Use a key for one environment.',
      );
    }
    return { kind: 'key', ...keyFields(key, headers, wire, network), env: key.env };
  }

  const closed = createClosedTenants(options);
  /** @throws HubError tenant_suspended */
  const checkTenant = (caller: Caller): void => {
    if ('tenantId' in caller) closed.check(caller.tenantId);
  };

  const services = createServiceTokens({
    store: options.serviceAccounts,
    secrets,
    clock: options.clock,
    log: options.log,
    prefix: wire.tokenPrefix,
  });

  async function byServiceToken(headers: Headers): Promise<Identified> {
    const { account, token } = await services.find(headers);
    const { id: userId, tenantId, name: email, roles } = account;
    const service = { tokenId: token.id, expiresAt: token.expiresAt };
    return {
      caller: { kind: 'user', userId, tenantId, email, roles, tokenHash: token.hash, service },
      cookie: null,
    };
  }

  async function byCookie(headers: Headers): Promise<Identified> {
    if (services.presented(headers)) return byServiceToken(headers);
    const token = cookieOf(headers.get('cookie'), wire.sessionCookie);
    if (!token) throw unauthenticated('Not authenticated.');
    if (token.length > maxCredential) throw unauthenticated('Session expired or invalid.');
    const { user, tokenHash, renewed } = await logins.find(token);
    const { id: userId, tenantId, email, roles } = user;
    return { caller: { kind: 'user', userId, tenantId, email, roles, tokenHash }, cookie: renewed };
  }

  function byOperatorToken(headers: Headers): Caller {
    if (operatorHash === null) throw new HubError('not_found', 'Not Found');
    const token = bearer(headers.get('authorization') ?? '');
    // Hashed first, so that the comparison does not depend on the length either.
    if (token === null || !secrets.equal(secrets.sha256(token), operatorHash)) {
      if (token !== null) options.wrongOperatorToken?.();
      throw unauthenticated(
        'The operator token is absent or wrong. Send the OPERATOR_TOKEN as a bearer token.',
      );
    }
    return { kind: 'operator' };
  }

  const schemes: { readonly [S in AuthScheme]: Scheme } = {
    ...createHostedSchemes({ ...options, ring, services }),
    key: {
      presented: hasKey,
      attempted: (headers) => headers.has('authorization'),
      identify: async (headers, network) => ({ caller: await byKey(headers, network), cookie: null }),
      remembered(headers, network) {
        const caller = byRememberedKey(headers, network);
        return caller && { caller, cookie: null };
      },
    },
    cookie: {
      presented: (headers) => hasCookie(headers) || services.presented(headers),
      attempted: () => false,
      identify: byCookie,
    },
    operatorToken: {
      presented: (headers) => bearer(headers.get('authorization') ?? '') !== null,
      attempted: () => false,
      async identify(headers, network) {
        // A token can be guessed at: guesses are counted before it is compared.
        await options.operatorGuess(network);
        const caller = byOperatorToken(headers);
        await options.rightOperatorToken?.(network);
        return { caller, cookie: null };
      },
    },
  };

  /** The scheme whose credential the request carries; of several that it carries the one named first. */
  function chosen(auth: readonly AuthScheme[], headers: Headers): Scheme {
    // Where there is no operator's token nobody is asked for it.
    const offered =
      operatorHash === null && auth.length > 1 ? auth.filter((name) => name !== 'operatorToken') : auth;
    const schemesOffered = offered.map((name) => schemes[name]);
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

  return {
    async find(route, headers, network) {
      const { auth, role } = route;
      if (auth.length === 0) return { caller: { kind: 'none' }, cookie: null };
      const identity = await chosen(auth, headers).identify(headers, network);
      await closed.ready;
      checkTenant(identity.caller);
      requirePerson(identity.caller, route);
      requireRole(identity.caller, role);
      return identity;
    },

    remembered({ auth, role }, headers, network) {
      if (auth.length === 0) return null;
      const identity = chosen(auth, headers).remembered?.(headers, network) ?? null;
      if (identity) {
        checkTenant(identity.caller);
        requireRole(identity.caller, role);
      }
      return identity;
    },

    checkCsrf({ auth, method, csrf = method === 'GET' ? 'none' : 'header', csrfMessage }, headers) {
      if (csrf === 'none' || headers.get('x-requested-with')) return;
      // Routes that take no cookie have nothing that a page could make a browser send.
      if (auth.length > 0 && auth.every(isHosted)) return;
      // A page of another origin can make a browser send its cookie, and nothing else that proves who calls.
      const byToken =
        hasKey(headers) ||
        services.presented(headers) ||
        (auth.includes('operatorJwt') && schemes.operatorJwt.presented(headers)) ||
        (auth.includes('operatorToken') && schemes.operatorToken.presented(headers));
      if (byToken && !hasCookie(headers)) return;
      throw new HubError('csrf_header_missing', csrfMessage ?? 'Missing CSRF header.');
    },

    hasCookie,

    async isStillValid(caller) {
      if (closed.isClosed(caller.tenantId)) return false;
      if (caller.kind !== 'key') {
        if (caller.kind === 'hostedOperator' && caller.tokenId) {
          return !(await options.operatorTokens.isRevoked(caller.tokenId));
        }
        const hash = caller.kind === 'user' ? caller.tokenHash : caller.loginHash;
        if (hash === null) return true;
        if (caller.service) {
          const served = await services.byHash(hash);
          return served !== null && rolesText(served.account.roles) === rolesText(caller.roles);
        }
        const login = await options.logins.get(hash, options.clock.now());
        const user = login && (await options.users.userById(login.userId));
        // A stream that was opened with other roles is opened again.
        return user !== null && rolesText(user.roles) === rolesText(caller.roles);
      }
      const key = await options.keys.byHash(caller.keyHash);
      return key !== null && key.revokedAt === null && !isExpired(key, options.clock.now());
    },

    control(message) {
      closed.control(message);
      if (message.kind === 'missed') {
        ring.forget();
        logins.forget();
      }
      if (message.kind === 'key_revoked') ring.revoked(message.keyHash);
      else if (message.kind === 'login_ended') logins.ended(message.tokenHash);
      else if (message.kind === 'user_logins_ended' || message.kind === 'user_roles_changed')
        logins.userEnded(message.userId);
    },

    flush: () => ring.flush(),
    close() {
      closed.close();
      return ring.close();
    },
  };
}

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

// Sign-in and sign-out with a password. Only the browser knows the token; the store has its SHA-256. login-attempts.ts
// limits attempts. Each login is recorded, and each minute of failed ones of an account.

import { limits, type OwnLimits } from '../../admission/limit.ts';
import type { ApprovalAssignments } from '../../approval/use-cases/assignments.ts';
import { noted } from '../../audit/note.ts';
import { HubError, isRefusal } from '../../shared/error.ts';
import type { LoginFailure, Meters } from '../../shared/meters.ts';
import { type Principal, systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { LoginMethod, User } from '../record.ts';
import { browserOf, subnetOf } from '../rules/origin.ts';
import { FailedLogins } from './failed-logins.ts';
import { unusable, userOfInvite } from './invitations.ts';
import { admitAttempt, type Device } from './login-attempts.ts';
import { newSealedLink, userOfLink } from './login-links.ts';

export interface SignIn {
  /** Lower-cased. */
  readonly email: string;
  readonly password: string;
  /** Network that the request came from, as limits count it. */
  readonly network: string;
  /** The browser, when somebody signed in with it before. */
  readonly device: Device | null;
  /** The User-Agent header. */
  readonly userAgent: string | null;
}

/** Origin of a sign-in. */
export type Origin = Pick<SignIn, 'network' | 'userAgent'>;

/** A new login's token, and whose it is. */
export interface NewLogin {
  readonly token: string;
  readonly userId: string;
}

export interface Logins {
  /**
   * @throws HubError unauthenticated (unknown e-mail or wrong password: the caller cannot tell which), rate_limited
   */
  signIn(attempt: SignIn, counters: OwnLimits): Promise<NewLogin>;
  /** A one-time link for a person, sealed: nothing of it is stored. @throws HubError not_found */
  createLink(email: string): Promise<{ readonly url: string; readonly expiresAt: number }>;
  /** Signs in whom a one-time link names. @throws HubError unauthenticated */
  signInByLink(linkToken: string, origin: Origin): Promise<NewLogin>;
  /**
   * Takes a new password from whom an invitation names, and signs in. All earlier logins end.
   * @throws HubError unauthenticated, the same for every reason; rate_limited
   */
  signInByInvite(token: string, password: string, origin: Origin, counters: OwnLimits): Promise<NewLogin>;
  /** Signs in a person whom the identity provider has confirmed. @param session its `sid` */
  signInAs(user: User, origin: Origin, session: string | null): Promise<NewLogin>;
  /** The person of a login's token; null: none. */
  getPerson(token: string): Promise<User | null>;
  /** Ends the login of a token; nothing happens when there is none. */
  signOut(token: string): Promise<void>;
  /** Records the failed sign-ins counted so far: the rest of their minute is not waited for. */
  close(): Promise<void>;
}

type Ports = Pick<
  AppPorts,
  'store' | 'secrets' | 'clock' | 'settings' | 'broadcast' | 'log' | 'loginLinks' | 'meters'
> & { readonly approvalAssignments: Pick<ApprovalAssignments, 'release'> };

/** Counts a refused sign-in. */
export async function counted<T>(
  { loginFailures }: Pick<Meters, 'loginFailures'>,
  method: LoginFailure,
  attempt: Promise<T>,
): Promise<T> {
  try {
    return await attempt;
  } catch (error) {
    if (isRefusal(error)) loginFailures.add([method]);
    throw error;
  }
}

const wrong = () => new HubError('unauthenticated', 'Invalid email or password.');

/** @throws HubError password_login_off */
export function requirePasswords({ passwordLogin }: Pick<AppPorts['settings'], 'passwordLogin'>): void {
  if (passwordLogin) return;
  throw new HubError(
    'password_login_off',
    'Passwords are off on this hub. Sign in through the identity provider.',
  );
}

const principalOf = ({ id, tenantId, email }: User): Principal => ({
  tenantId,
  env: null,
  roles: new Set(),
  envRoles: null,
  actor: { kind: 'user', id, email },
  agentId: null,
  agentPattern: null,
});

class PasswordLogins implements Logins {
  readonly #ports: Ports;
  readonly #failures: FailedLogins;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#failures = new FailedLogins(ports);
  }

  async signIn(
    { email, password, network, device, userAgent }: SignIn,
    counters: OwnLimits,
  ): Promise<NewLogin> {
    const { settings, secrets, meters } = this.#ports;
    requirePasswords(settings);
    const attempt = { email, network, device };
    const { user, isKnown, succeeded, untried } = await admitAttempt(this.#ports, attempt, counters);
    // With an unknown e-mail the same work is done, so that the time reveals nothing.
    const right = await secrets
      .checkPassword(password, user?.passwordHash ?? null, isKnown)
      .catch(async (error: unknown) => {
        // Too busy: that is nobody's failure.
        await untried();
        throw error;
      });
    if (!user || !right) {
      if (user) this.#failures.add(user);
      meters.loginFailures.add(['password']);
      throw wrong();
    }
    await succeeded();
    return this.#logIn(user, { network, userAgent }, 'password');
  }

  createLink(email: string): Promise<{ readonly url: string; readonly expiresAt: number }> {
    return newSealedLink(this.#ports, email);
  }

  async signInByLink(linkToken: string, origin: Origin): Promise<NewLogin> {
    const user = await counted(this.#ports.meters, 'link', userOfLink(this.#ports, linkToken));
    return this.#logIn(user, origin, 'link');
  }

  async signInByInvite(
    token: string,
    password: string,
    origin: Origin,
    counters: OwnLimits,
  ): Promise<NewLogin> {
    const { settings, meters, secrets, store, broadcast } = this.#ports;
    requirePasswords(settings);
    await counters.count(limits.logins);
    const user = await counted(meters, 'invitation', userOfInvite(this.#ports, token));
    const passwordHash = await secrets.hashPassword(password);
    const noting = noted(this.#ports, principalOf(user), {
      action: 'user.accepted_invitation',
      subject: { id: user.id, name: user.email },
      summary: `${user.email} accepted the invitation and chose a password.`,
    });
    if (!(await noting.tenants.updatePassword(user.id, user.passwordHash, passwordHash))) throw unusable();
    await store.logins.removeOfUser(user.id);
    await broadcast.control({ kind: 'user_logins_ended', userId: user.id });
    return this.#logIn({ ...user, passwordHash }, origin, 'invite');
  }

  signInAs(user: User, origin: Origin, session: string | null): Promise<NewLogin> {
    return this.#logIn(user, origin, 'oidc', session);
  }

  async getPerson(token: string): Promise<User | null> {
    const { store, secrets, clock } = this.#ports;
    const login = await store.logins.get(secrets.sha256(token), clock.now());
    return login && store.tenants.getUser(login.userId);
  }

  async signOut(token: string): Promise<void> {
    const { secrets, store, clock, broadcast } = this.#ports;
    const tokenHash = secrets.sha256(token);
    // Only a login that exists is announced: anyone may send any token here.
    const login = await store.logins.get(tokenHash, clock.now());
    if (!login) return;
    const user = await store.tenants.getUser(login.userId);
    const by = user ? principalOf(user) : systemPrincipal(login.tenantId, 'login');
    await noted(this.#ports, by, {
      action: 'login.ended',
      subject: { id: login.userId, name: user?.email ?? null },
      summary: `${user?.email ?? login.userId} signed out.`,
      onceFor: tokenHash,
    }).logins.remove(tokenHash);
    await broadcast.control({ kind: 'login_ended', tokenHash });
    await this.#ports.approvalAssignments.release(login.tenantId, login.userId);
  }

  close(): Promise<void> {
    return this.#failures.flush();
  }

  async #logIn(
    user: User,
    { network, userAgent }: Origin,
    method: LoginMethod,
    providerSession: string | null = null,
  ): Promise<NewLogin> {
    const { store, secrets, clock, settings } = this.#ports;
    const tenant = await store.tenantRecords.get(user.tenantId);
    if (tenant && (tenant.suspendedAt !== null || tenant.removedAt !== null)) {
      throw new HubError(
        'tenant_suspended',
        'This tenant is suspended. Ask the operator of the installation to resume it.',
      );
    }
    const token = secrets.token(32);
    const now = clock.now();
    const tokenHash = secrets.sha256(token);
    const lifeMs =
      method === 'oidc' ? Math.min(settings.sessionTtlMs, settings.oidcSessionMs) : settings.sessionTtlMs;
    await noted(this.#ports, principalOf(user), {
      action: 'login.created',
      subject: { id: user.id, name: user.email },
      summary: `${user.email} signed in.`,
      details: { network, method },
    }).logins.create({
      tokenHash,
      userId: user.id,
      tenantId: user.tenantId,
      createdAt: now,
      expiresAt: now + lifeMs,
      lastSeenAt: now,
      network: subnetOf(network),
      browser: browserOf(userAgent),
      method,
      providerSession,
    });
    // A changed password or a removed user ends existing logins, and this login may have been stored just after that.
    if ((await store.tenants.getUser(user.id))?.passwordHash !== user.passwordHash) {
      await store.logins.remove(tokenHash);
      throw wrong();
    }
    return { token, userId: user.id };
  }
}

export const createLogins = (ports: Ports): Logins => new PasswordLogins(ports);

// Login sessions on the request path: cookie token, short cache, sliding expiry. Starts and ends none.
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import { dayMs } from '../shared/duration.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { TenantStore } from '../tenant/port/tenants.ts';
import type { LoginStore } from '../user/port/logins.ts';
import type { Login, User } from '../user/record.ts';

const cacheMs = 5_000;
const cacheSize = 10_000;
const extendEveryMs = 60_000;
/** A login never outlives this, however much it is used. */
export const maxLoginMs = 7 * dayMs;

interface SignedIn {
  readonly login: Login;
  readonly user: User;
}

export interface LoginSessions {
  /**
   * The signed-in user of a token. `renewed` is the Set-Cookie text when the expiry moved (at most once a minute).
   * `is_admin` is at most 5 s old.
   * @throws HubError unauthenticated
   */
  find(token: string): Promise<SignedIn & { readonly tokenHash: string; readonly renewed: string | null }>;
  ended(tokenHash: string): void;
  userEnded(userId: string): void;
  /** Sign-outs may have been missed: forgets every login. */
  forget(): void;
}

type Ports = {
  readonly logins: Pick<LoginStore, 'get' | 'extend'>;
  readonly users: Pick<TenantStore, 'getUser'>;
  readonly secrets: Pick<Secrets, 'sha256' | 'equal'>;
  readonly clock: Clock;
  readonly sessionTtlMs: number;
  /** The longest life of a login through the identity provider. */
  readonly oidcSessionMs: number;
  readonly cookieName: string;
  readonly secure: boolean;
};

class CachedLoginSessions implements LoginSessions {
  readonly #ports: Ports;
  readonly #cache = new BoundedMap<SignedIn>(cacheSize);
  /** Requests side by side share one reading. */
  readonly #reading = new Map<string, Promise<SignedIn>>();
  #endings = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async find(
    token: string,
  ): Promise<SignedIn & { readonly tokenHash: string; readonly renewed: string | null }> {
    const { secrets, clock, sessionTtlMs, logins } = this.#ports;
    const tokenHash = secrets.sha256(token);
    const session = await this.#current(tokenHash);
    const now = clock.now();
    // A request beside this one may have extended it just now.
    const { login, user } = this.#cache.get(tokenHash, now) ?? session;
    const longest = login.method === 'oidc' ? Math.min(this.#ports.oidcSessionMs, maxLoginMs) : maxLoginMs;
    const last = login.createdAt + longest;
    if (now >= login.expiresAt || now >= last) {
      this.#cache.delete(tokenHash);
      throw new HubError('unauthenticated', 'Session expired. Please log in again.');
    }
    const expiresAt = Math.min(now + sessionTtlMs, last);
    const isFresh = expiresAt - login.expiresAt < extendEveryMs && now - login.lastSeenAt < extendEveryMs;
    if (isFresh) return { login, user, tokenHash, renewed: null };
    const moved = { login: { ...login, expiresAt, lastSeenAt: now }, user };
    // Set before the write, so that requests side by side extend once.
    this.#cache.set(tokenHash, moved, now + cacheMs);
    try {
      await logins.extend(tokenHash, expiresAt, now);
    } catch {
      // The login is valid until it expires: a store that takes no writes must not end it.
      this.#cache.delete(tokenHash);
      return { login, user, tokenHash, renewed: null };
    }
    const maxAge = Math.floor((expiresAt - now) / 1000);
    const renewed = `${this.#ports.cookieName}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${this.#ports.secure ? '; Secure' : ''}`;
    return { ...moved, tokenHash, renewed };
  }

  ended(tokenHash: string): void {
    this.#endings++;
    this.#cache.delete(tokenHash);
  }

  userEnded(userId: string): void {
    this.#endings++;
    this.#cache.deleteWhere(({ user }) => user.id === userId);
  }

  forget(): void {
    this.#endings++;
    this.#cache.clear();
  }

  async #current(tokenHash: string): Promise<SignedIn> {
    const cached = this.#cache.get(tokenHash, this.#ports.clock.now());
    if (cached) return cached;
    let promise = this.#reading.get(tokenHash);
    if (!promise) {
      promise = this.#read(tokenHash).finally(() => this.#reading.delete(tokenHash));
      this.#reading.set(tokenHash, promise);
    }
    return promise;
  }

  async #read(tokenHash: string): Promise<SignedIn> {
    const { logins, clock, users, secrets } = this.#ports;
    for (;;) {
      const before = this.#endings;
      const login = await logins.get(tokenHash, clock.now());
      const user = login ? await users.getUser(login.userId) : null;
      // Somebody signed out while we read: what was read may be older than that.
      if (before !== this.#endings) continue;
      if (!login || !user || !secrets.equal(login.tokenHash, tokenHash)) {
        throw new HubError('unauthenticated', 'Session expired or invalid.');
      }
      const session = { login, user };
      this.#cache.set(tokenHash, session, clock.now() + cacheMs);
      return session;
    }
  }
}

export const createLoginSessions = (ports: Ports): LoginSessions => new CachedLoginSessions(ports);

// Login sessions on the request path: cookie token, short cache, sliding expiry. Starts and ends none.
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import { dayMs } from '../shared/duration.ts';
import { HubError } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { LoginStore, TenantStore } from '../tenant/port/identity.ts';
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
   * The signed-in user of a token; `renewed` is the Set-Cookie text when the expiry moved (at most once a minute).
   * is_admin is at most 5 s old.
   * @throws HubError unauthenticated
   */
  find(token: string): Promise<SignedIn & { readonly tokenHash: string; readonly renewed: string | null }>;
  ended(tokenHash: string): void;
  userEnded(userId: string): void;
  /** Sign-outs may have been missed: forgets every login. */
  forget(): void;
}

export function createLoginSessions(ports: {
  readonly logins: Pick<LoginStore, 'get' | 'extend'>;
  readonly users: Pick<TenantStore, 'userById'>;
  readonly secrets: Pick<Secrets, 'sha256' | 'equal'>;
  readonly clock: Clock;
  readonly sessionTtlMs: number;
  /** The longest life of a login through the identity provider. */
  readonly oidcSessionMs: number;
  readonly cookieName: string;
  readonly secure: boolean;
}): LoginSessions {
  const { logins, users, secrets, clock, sessionTtlMs } = ports;
  const cache = new BoundedMap<SignedIn>(cacheSize);
  /** Requests side by side share one reading. */
  const reading = new Map<string, Promise<SignedIn>>();
  let endings = 0;

  async function known(tokenHash: string): Promise<SignedIn> {
    const cached = cache.get(tokenHash, clock.now());
    if (cached) return cached;
    let promise = reading.get(tokenHash);
    if (!promise) {
      promise = read(tokenHash).finally(() => reading.delete(tokenHash));
      reading.set(tokenHash, promise);
    }
    return promise;
  }

  async function read(tokenHash: string): Promise<SignedIn> {
    for (;;) {
      const before = endings;
      const login = await logins.get(tokenHash, clock.now());
      const user = login ? await users.userById(login.userId) : null;
      // Somebody signed out while we read: what was read may be older than that.
      if (before !== endings) continue;
      if (!login || !user || !secrets.equal(login.tokenHash, tokenHash)) {
        throw new HubError('unauthenticated', 'Session expired or invalid.');
      }
      const session = { login, user };
      cache.set(tokenHash, session, clock.now() + cacheMs);
      return session;
    }
  }

  return {
    async find(token) {
      const tokenHash = secrets.sha256(token);
      const session = await known(tokenHash);
      const now = clock.now();
      // A request beside this one may have extended it just now.
      const { login, user } = cache.get(tokenHash, now) ?? session;
      const longest = login.method === 'oidc' ? Math.min(ports.oidcSessionMs, maxLoginMs) : maxLoginMs;
      const last = login.createdAt + longest;
      if (now >= login.expiresAt || now >= last) {
        cache.delete(tokenHash);
        throw new HubError('unauthenticated', 'Session expired. Please log in again.');
      }
      const expiresAt = Math.min(now + sessionTtlMs, last);
      const isFresh = expiresAt - login.expiresAt < extendEveryMs && now - login.lastSeenAt < extendEveryMs;
      if (isFresh) return { login, user, tokenHash, renewed: null };
      const moved = { login: { ...login, expiresAt, lastSeenAt: now }, user };
      // Set before the write, so that requests side by side extend once.
      cache.set(tokenHash, moved, now + cacheMs);
      try {
        await logins.extend(tokenHash, expiresAt, now);
      } catch {
        // The login is valid until it expires: a store that takes no writes must not end it.
        cache.delete(tokenHash);
        return { login, user, tokenHash, renewed: null };
      }
      const maxAge = Math.floor((expiresAt - now) / 1000);
      const renewed = `${ports.cookieName}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${ports.secure ? '; Secure' : ''}`;
      return { ...moved, tokenHash, renewed };
    },
    ended(tokenHash) {
      endings++;
      cache.delete(tokenHash);
    },
    userEnded(userId) {
      endings++;
      cache.deleteWhere(({ user }) => user.id === userId);
    },
    forget() {
      endings++;
      cache.clear();
    },
  };
}

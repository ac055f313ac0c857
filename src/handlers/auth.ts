// Signing in and out. The cookie's token is known to the browser alone; the store holds its SHA-256.
import type { authRoutes } from '../api/auth.ts';
import { Reply } from '../api/call.ts';
import { HubError } from '../domain/error.ts';
import type { Handlers, Hub } from './hub.ts';

export const auth: Handlers<typeof authRoutes> = {
  async login(hub, { body }, _caller, request) {
    await countAttempt(hub, request.address);
    const user = await hub.store.tenants.userByEmail(body.email.toLowerCase());
    // With an unknown e-mail the same work is done, so that the time does not tell.
    const right = await hub.secrets.checkPassword(body.password, user?.passwordHash ?? null);
    if (!user || !right) throw new HubError('unauthenticated', 'Invalid email or password.');
    const token = hub.secrets.token(32);
    const now = hub.clock.now();
    await hub.store.logins.put({
      tokenHash: hub.secrets.sha256(token),
      userId: user.id,
      tenantId: user.tenantId,
      createdAt: now,
      expiresAt: now + hub.settings.sessionTtlMs,
    });
    const cookie = sessionCookie(hub, token, Math.floor(hub.settings.sessionTtlMs / 1000));
    return new Reply({ message: 'Logged in.' }, { cookies: [cookie] });
  },

  async logout(hub, _input, _caller, request) {
    const token = cookieOf(request.header('cookie'), hub.settings.wire.sessionCookie);
    if (token !== null) {
      const tokenHash = hub.secrets.sha256(token);
      // Only a login that exists is announced: anyone may send any cookie here.
      if (await hub.store.logins.get(tokenHash, hub.clock.now())) {
        await hub.store.logins.remove(tokenHash);
        await hub.broadcast.control({ kind: 'login_ended', tokenHash });
      }
    }
    return new Reply({ message: 'Logged out.' }, { cookies: [sessionCookie(hub, '', 0)] });
  },

  async me(_hub, _input, { userId, tenantId, email, isAdmin }) {
    return { user_id: userId, tenant_id: tenantId, email, is_admin: isAdmin };
  },
};

/** Every attempt counts, also one that succeeds. @throws HubError rate_limited; bad_request when the address is unknown */
async function countAttempt(hub: Hub, address: string): Promise<void> {
  if (address === '') throw new HubError('bad_request', 'The client address is unknown.');
  const { loginAttempts, loginWindowMs } = hub.settings;
  const answer = await hub.limits.hit(`login:${address}`, loginAttempts, loginWindowMs);
  if (answer.ok) return;
  throw new HubError('rate_limited', 'Too many login attempts. Please try again later.', {
    retryAfter: answer.retryAfter,
  });
}

/** A Set-Cookie text; an age of 0 clears the cookie. */
function sessionCookie({ settings }: Hub, token: string, maxAge: number): string {
  const secure = settings.baseUrl.startsWith('https://') ? '; Secure' : '';
  return `${settings.wire.sessionCookie}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

/** The first value of a cookie; null when absent, empty or too long to be ours. */
function cookieOf(header: string | null, name: string): string | null {
  for (const part of (header ?? '').split(';')) {
    const split = part.indexOf('=');
    if (split < 0 || part.slice(0, split).trim() !== name) continue;
    const value = part.slice(split + 1).trim();
    return value === '' || value.length > 512 ? null : value;
  }
  return null;
}

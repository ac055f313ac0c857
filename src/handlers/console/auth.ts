// Signing in and out. The cookie's token is known to the browser alone; the store holds its SHA-256. Who may try is decided in
// login-attempts.ts.
import type { authRoutes } from '../../api/auth.ts';
import { Reply } from '../../api/call.ts';
import { cookieOf } from '../../api/cookie.ts';
import { admitAttempt } from '../../app/login-attempts.ts';
import { HubError } from '../../domain/error.ts';
import { deviceCookie, deviceIn } from './devices.ts';
import type { Handlers, Hub } from './hub.ts';

export const auth: Handlers<typeof authRoutes> = {
  async login(hub, { body }, _caller, request) {
    const email = body.email.toLowerCase();
    const device = deviceIn(hub, request.header('cookie'));
    const { user, succeeded } = await admitAttempt(hub, { email, network: request.network, device });
    // With an unknown e-mail the same work is done, so that the time does not tell.
    const right = await hub.secrets.checkPassword(body.password, user?.passwordHash ?? null);
    if (!user || !right) throw new HubError('unauthenticated', 'Invalid email or password.');
    await succeeded();
    const token = hub.secrets.token(32);
    const now = hub.clock.now();
    const tokenHash = hub.secrets.sha256(token);
    await hub.store.logins.put({
      tokenHash,
      userId: user.id,
      tenantId: user.tenantId,
      createdAt: now,
      expiresAt: now + hub.settings.sessionTtlMs,
    });
    // Whoever changes the password or removes the user ends the logins that are there: this one may have come a moment later.
    if ((await hub.store.tenants.userById(user.id))?.passwordHash !== user.passwordHash) {
      await hub.store.logins.remove(tokenHash);
      throw new HubError('unauthenticated', 'Invalid email or password.');
    }
    const cookie = sessionCookie(hub, token, Math.floor(hub.settings.sessionTtlMs / 1000));
    return new Reply({ message: 'Logged in.' }, { cookies: [cookie, deviceCookie(hub, user.id, device)] });
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

/** A Set-Cookie text; an age of 0 clears the cookie. */
function sessionCookie({ settings }: Hub, token: string, maxAge: number): string {
  const secure = settings.baseUrl.startsWith('https://') ? '; Secure' : '';
  return `${settings.wire.sessionCookie}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

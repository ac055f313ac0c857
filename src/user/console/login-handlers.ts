// Signing in and out, in the console API's words: the login is a cookie.

import { Reply } from '../../http/contract/call.ts';
import { cookieOf } from '../../http/contract/cookie.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { isAdmin } from '../../shared/env-roles.ts';
import { HubError } from '../../shared/error.ts';
import { deviceCookie, deviceIn } from './devices.ts';
import type { authRoutes } from './login-routes.ts';

export const auth: Handlers<typeof authRoutes> = {
  async login(hub, { body }, _caller, request) {
    const device = deviceIn(hub, request.header('cookie'));
    const { token, userId } = await hub.app.logins.signIn(
      { email: body.email.toLowerCase(), password: body.password, network: request.network, device },
      request.limits,
    );
    const cookie = sessionCookie(hub, token, Math.floor(hub.settings.sessionTtlMs / 1000));
    return new Reply({ message: 'Logged in.' }, { cookies: [cookie, deviceCookie(hub, userId, device)] });
  },

  async loginByLink(hub, { body }, _caller, request) {
    const origin = request.header('origin') ?? '';
    const own = URL.canParse(origin) ? new URL(origin) : null;
    const { baseUrl } = hub.settings;
    if (
      !own ||
      (own.host !== request.header('host')?.toLowerCase() && own.origin !== new URL(baseUrl).origin)
    ) {
      throw new HubError(
        'origin_refused',
        'The sign-in request comes from another origin. Open the sign-in link in a browser.',
      );
    }
    const { token, userId } = await hub.app.logins.signInByLink(body.token, request.network);
    const cookie = sessionCookie(hub, token, Math.floor(hub.settings.sessionTtlMs / 1000));
    const device = deviceIn(hub, request.header('cookie'));
    return new Reply({ message: 'Logged in.' }, { cookies: [cookie, deviceCookie(hub, userId, device)] });
  },

  async logout(hub, _input, _caller, request) {
    const token = cookieOf(request.header('cookie'), hub.settings.wire.sessionCookie);
    if (token !== null) await hub.app.logins.signOut(token);
    return new Reply({ message: 'Logged out.' }, { cookies: [sessionCookie(hub, '', 0)] });
  },

  async me(_hub, _input, { userId, tenantId, email, roles }) {
    return { user_id: userId, tenant_id: tenantId, email, is_admin: isAdmin(roles), roles: [...roles] };
  },
};

/** A Set-Cookie text; an age of 0 clears the cookie. */
function sessionCookie({ settings }: Hub, token: string, maxAge: number): string {
  const secure = settings.baseUrl.startsWith('https://') ? '; Secure' : '';
  return `${settings.wire.sessionCookie}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

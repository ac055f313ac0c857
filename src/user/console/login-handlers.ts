// Signing in and out, in the console API's words: the login is a cookie.

import { Reply, type Request } from '../../http/contract/call.ts';
import { cookieOf } from '../../http/contract/cookie.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { isAdmin } from '../../shared/env-roles.ts';
import { HubError } from '../../shared/error.ts';
import type { NewLogin, Origin } from '../use-cases/logins.ts';
import { deviceCookie, deviceIn } from './devices.ts';
import type { authRoutes } from './login-routes.ts';

export const auth: Handlers<typeof authRoutes> = {
  async login(hub, { body }, _caller, request) {
    refuseForeignPage(request);
    const device = deviceIn(hub, request.header('cookie'));
    const { token, userId } = await hub.app.logins.signIn(
      {
        email: body.email.toLowerCase(),
        password: body.password,
        network: request.network,
        device,
        userAgent: request.header('user-agent'),
      },
      request.limits,
    );
    return loggedIn(hub, { token, userId }, request);
  },

  async loginByLink(hub, { body }, _caller, request) {
    requireOwnOrigin(hub, request);
    const { token, userId } = await hub.app.logins.signInByLink(body.token, originOf(request));
    return loggedIn(hub, { token, userId }, request);
  },

  async loginByInvite(hub, { body }, _caller, request) {
    const { token, password } = body;
    const login = await hub.app.logins.signInByInvite(token, password, originOf(request), request.limits);
    return loggedIn(hub, login, request);
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

const originOf = (request: Request): Origin => ({
  network: request.network,
  userAgent: request.header('user-agent'),
});

/** The answer to a sign-in: the login's cookie, and the browser's. */
function loggedIn(
  hub: Hub,
  { token, userId }: NewLogin,
  request: Request,
): Reply<{ readonly message: string }> {
  return new Reply({ message: 'Logged in.' }, { cookies: loginCookies(hub, { token, userId }, request) });
}

/** The Set-Cookie texts of a new login: the login's, and the browser's. */
export function loginCookies(hub: Hub, { token, userId }: NewLogin, request: Request): readonly string[] {
  const cookie = sessionCookie(hub, token, Math.floor(hub.settings.sessionTtlMs / 1000));
  const device = deviceIn(hub, request.header('cookie'));
  return [cookie, deviceCookie(hub, userId, device)];
}

/** True for the address, or the origin, of a page of the hub. */
function isOwnPage({ settings }: Hub, request: Request, address: string | null): boolean {
  const page = address !== null && URL.canParse(address) ? new URL(address) : null;
  const isOwnHost = page?.host === request.header('host')?.toLowerCase();
  return page !== null && (isOwnHost || page.origin === new URL(settings.baseUrl).origin);
}

/**
 * True for a navigation that a page of the hub began; browsers send cookies with those of other pages as well. Browsers
 * that name no site name the page.
 */
export function isFromOwnPage(hub: Hub, request: Request): boolean {
  const site = request.header('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  return isOwnPage(hub, request, request.header('origin') ?? request.header('referer'));
}

/**
 * Refuses what a page of another origin makes a browser send, before it is counted: else any page that somebody of a
 * network opens could use up the sign-ins of that network.
 * @throws HubError origin_refused
 */
export function refuseForeignPage({ isFromForeignPage }: Request): void {
  if (!isFromForeignPage) return;
  throw new HubError(
    'origin_refused',
    'The request comes from a page of another origin. Use the console’s own page, or add the origin to CORS_ORIGINS.',
  );
}

/** @throws HubError origin_refused */
function requireOwnOrigin(hub: Hub, request: Request): void {
  if (isOwnPage(hub, request, request.header('origin'))) return;
  throw new HubError(
    'origin_refused',
    'The sign-in request comes from another origin. Open the sign-in link in a browser.',
  );
}

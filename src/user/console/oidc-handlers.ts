// Signing in through the identity provider, in the words of browsers: redirects, cookies and pages.

import { limits } from '../../admission/limit.ts';
import { Reply, type Request } from '../../http/contract/call.ts';
import { cookieOf } from '../../http/contract/cookie.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { OidcLogins } from '../use-cases/oidc-logins.ts';
import { isFromOwnPage, loginCookies, refuseForeignPage } from './login-handlers.ts';
import type { oidcRoutes } from './oidc-routes.ts';

/** Seconds; as long as somebody may take at the provider. */
const stateSeconds = 600;

const isSecure = ({ settings }: Hub): boolean => settings.baseUrl.startsWith('https://');
const stateName = (hub: Hub): string => (isSecure(hub) ? '__Host-reeve_oidc' : 'reeve_oidc');
const stateCookie = (hub: Hub, value: string, seconds: number): string =>
  `${stateName(hub)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isSecure(hub) ? '; Secure' : ''}`;

const loginToken = (hub: Hub, request: Request): string | null =>
  cookieOf(request.header('cookie'), hub.settings.wire.sessionCookie);

/** @throws HubError not_found without an identity provider */
function oidcOf({ app }: Hub): OidcLogins {
  if (app.oidcLogins) return app.oidcLogins;
  throw notFound('This hub has no identity provider for signing in. Set OIDC_ISSUER and OIDC_CLIENT_ID.');
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Page for a person whose sign-in failed, or who is signed in and could not link an account. */
function pageOf(message: string, isLinking: boolean): string {
  const title = isLinking ? 'Account not linked' : 'Sign-in failed';
  const page = isLinking ? 'console' : 'sign-in page';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title></head>
<body><main><h1>${title}</h1><p>${escaped(message)}</p>
<p><a href="/dashboard/">Back to the ${page}</a></p></main></body></html>
`;
}

/** One text for whatever does not fit. */
const unconfirmed = 'The sign-in could not be confirmed, or took more than 10 minutes. Start again.';

export const oidc: Handlers<typeof oidcRoutes> = {
  async signInMethods({ settings }) {
    const { passwordLogin, oidc: provider } = settings;
    return { password: passwordLogin, oidc: provider?.login ? { name: provider.login.name } : null };
  },

  async oidcSignIn(hub, { query }, _caller, request) {
    if (query.link !== undefined && !isFromOwnPage(hub, request))
      throw new HubError(
        'origin_refused',
        'The request comes from another page. In the console, open Settings and press Link account.',
      );
    const token = query.link === undefined ? null : (loginToken(hub, request) ?? '');
    const { url, state } = await oidcOf(hub).begin({ returnTo: query.return_to ?? null, token });
    return new Reply(null, {
      headers: { Location: url },
      cookies: [stateCookie(hub, state, stateSeconds)],
    });
  },

  async oidcCallback(hub, { query }, _caller, request) {
    const logins = oidcOf(hub);
    const gone = stateCookie(hub, '', 0);
    const state = cookieOf(request.header('cookie'), stateName(hub));
    // No guess: any page can make a browser come here, without the cookie.
    if (state === null) return new Reply(pageOf(unconfirmed, false), { status: 401, cookies: [gone] });
    // Only a refused return counts: while the provider answers, people of the same network sign in as well.
    await request.limits.check(limits.logins);
    try {
      const back = {
        query: new URLSearchParams(omitUndefined({ ...query }) as { [name: string]: string }).toString(),
        state,
        token: loginToken(hub, request),
      };
      const origin = { network: request.network, userAgent: request.header('user-agent') };
      const { login, returnTo } = await logins.finish(back, origin);
      const cookies = login === null ? [] : loginCookies(hub, login, request);
      return new Reply('', { headers: { Location: returnTo }, cookies: [gone, ...cookies] });
    } catch (error) {
      if (!(error instanceof HubError) || error.code === 'internal') throw error;
      const isRefused = error.code === 'unauthenticated';
      if (isRefused) await request.limits.tryCount(limits.logins);
      return new Reply(pageOf(isRefused ? unconfirmed : error.message, logins.isLinking(state)), {
        status: isRefused ? 401 : error.code === 'conflict' ? 409 : error.code === 'unavailable' ? 503 : 403,
        cookies: [gone],
      });
    }
  },

  async oidcLogout(hub, { body }, _caller, request) {
    const logins = oidcOf(hub);
    refuseForeignPage(request);
    const token = new URLSearchParams(Buffer.from(body).toString('latin1')).get('logout_token');
    try {
      if (token === null) throw new HubError('unauthenticated', 'The body field logout_token is missing.');
      await logins.loggedOut(token);
    } catch (error) {
      // A good token ends its sessions however many wrong ones came from the network: it is checked first.
      if (error instanceof HubError && error.code === 'unauthenticated')
        await request.limits.count(limits.logins);
      throw error;
    }
    return null;
  },
};

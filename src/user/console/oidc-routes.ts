// Routes of signing in through the identity provider. They are outside /api, because they answer browsers: with
// redirects and pages.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

const shared = {
  auth: [],
  role: 'nobody',
  envs: 'none',
  tag: 'auth',
  limit: 'own',
  limits: [limits.logins],
} as const;
/** A parameter of the provider's. */
const textParameter = text(4096).optional();
/** Bytes. */
const logoutBody = 16 * 1024;

export const oidcRoutes = routes({
  signInMethods: {
    method: 'GET',
    path: '/api/v1/auth/methods',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'auth',
    summary: 'How people sign in: with a password, through the identity provider, or both',
    status: 200,
    reply: z.object({
      password: z.boolean(),
      /** Its name for the sign-in page; null: there is none. */
      oidc: z.object({ name: z.string() }).nullable(),
    }),
    errors: ['rate_limited'],
    limit: 'standard',
  },
  oidcSignIn: {
    ...shared,
    // Nobody guesses anything with it.
    limit: 'standard',
    limits: [],
    method: 'GET',
    path: '/auth/oidc',
    summary:
      'Go to the identity provider; with link=1, to link the account there to the person who is signed in',
    query: z.object({ return_to: text(2048).optional(), link: z.literal('1').optional() }),
    status: 302,
    errors: [
      'not_found',
      'unauthenticated',
      'origin_refused',
      'validation_failed',
      'rate_limited',
      'unavailable',
    ],
  },
  oidcCallback: {
    ...shared,
    method: 'GET',
    path: '/auth/oidc/callback',
    summary:
      'Where the identity provider sends the browser back to; signs in, or shows a page that says why not',
    media: 'text/html; charset=utf-8',
    query: z.object({
      code: textParameter,
      state: textParameter,
      iss: textParameter,
      error: textParameter,
      error_description: textParameter,
    }),
    status: 302,
    errors: ['not_found', 'rate_limited'],
  },
  oidcLogout: {
    ...shared,
    method: 'POST',
    path: '/auth/oidc/backchannel-logout',
    summary:
      'The identity provider ends sessions, with a logout token (OpenID Connect Back-Channel Logout 1.0)',
    parse: 'bytes',
    bodyMedia: 'application/x-www-form-urlencoded',
    bodyLimit: logoutBody,
    csrf: 'none',
    status: 200,
    audit: 'An ended session of the provider is recorded there; the sign-in is recorded here.',
    errors: [
      'not_found',
      'unauthenticated',
      'origin_refused',
      'payload_too_large',
      'rate_limited',
      'unavailable',
    ],
  },
});

// Routes by which signed-in people get tokens for the hosted API, and the public keys of those tokens.
import { z } from 'zod';
import { operatorRoles } from '../domain/principal.ts';
import { anyObject, instant } from './fields.ts';
import { routes, smallBody } from './route.ts';

export const givenToken = z.object({ token: z.string(), expires_at: instant });

export const operatorTokenRoutes = routes({
  createOperatorToken: {
    method: 'POST',
    path: '/api/v1/operator-tokens',
    auth: ['cookie'],
    role: 'admin',
    tag: 'operator-tokens',
    summary: 'Make a token for the API under /v1; it is shown once and cannot be revoked',
    body: z.object({ role: z.enum(operatorRoles), ttl_seconds: z.number().int().min(1).max(86_400) }),
    status: 201,
    reply: givenToken,
    errors: ['not_found', 'validation_failed'],
    bodyLimit: smallBody,
  },
  exchangeLogin: {
    method: 'POST',
    path: '/api/v1/auth/operator-token',
    auth: ['cookie'],
    tag: 'operator-tokens',
    summary:
      "A token for the API under /v1 of the signed-in person's own: 15 minutes, and no longer than the login",
    status: 201,
    reply: givenToken,
    errors: [],
    bodyLimit: smallBody,
  },
  jwks: {
    method: 'GET',
    path: '/.well-known/jwks.json',
    auth: [],
    tag: 'operator-tokens',
    summary: "Public keys of the hub's own tokens, as a JSON Web Key Set",
    status: 200,
    reply: z.object({ keys: z.array(anyObject) }),
    errors: ['rate_limited'],
    limit: 'standard',
  },
});

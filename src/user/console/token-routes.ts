// Routes by which signed-in people get tokens for the hosted API, and the public keys of those tokens.
import { z } from 'zod';
import { anyObject, instant, paging, pathId, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { operatorRole } from '../record/credentials.ts';
import { operatorTokenRecord } from '../record.ts';

export const givenToken = z.object({ token: z.string(), expires_at: instant });

export const operatorTokenRoutes = routes({
  createOperatorToken: {
    method: 'POST',
    path: '/api/v1/operator-tokens',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'operator-tokens',
    summary:
      'Create a token for the API under /v1; only this answer contains it, and the audit chain records it',
    body: z.object({ role: operatorRole, ttl_seconds: z.number().int().min(1).max(86_400) }),
    status: 201,
    reply: givenToken.extend({ id: uuid }),
    audit: ['operator_token.created'],
    errors: ['not_found', 'validation_failed'],
    bodyLimit: smallBody,
  },
  listOperatorTokens: {
    method: 'GET',
    path: '/api/v1/operator-tokens',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'operator-tokens',
    summary: 'Active tokens that admins created, newest first; without the tokens themselves',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(operatorTokenRecord.reply('console', 'one').extend({ role: operatorRole })),
    errors: ['validation_failed'],
  },
  revokeOperatorToken: {
    method: 'DELETE',
    path: '/api/v1/operator-tokens/{token_id}',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    peopleOnly: true,
    tag: 'operator-tokens',
    summary: 'Revoke a token; every node refuses it at once, and its streams end within a second',
    params: z.object({ token_id: pathId }),
    status: 204,
    audit: ['operator_token.revoked'],
    errors: ['not_found', 'validation_failed'],
  },
  exchangeLogin: {
    method: 'POST',
    path: '/api/v1/auth/operator-token',
    auth: ['cookie'],
    role: 'person',
    envs: 'none',
    tag: 'operator-tokens',
    summary:
      'Create a token for the API under /v1 for the signed-in person; valid for 15 minutes, and no longer than the login',
    status: 201,
    reply: givenToken,
    audit: 'The token stands for the login, whose start and end are recorded.',
    errors: [],
    bodyLimit: smallBody,
  },
  jwks: {
    method: 'GET',
    path: '/.well-known/jwks.json',
    auth: [],
    role: 'nobody',
    envs: 'none',
    tag: 'operator-tokens',
    summary: "Public keys that verify the hub's own tokens, as a JSON Web Key Set",
    status: 200,
    reply: z.object({ keys: z.array(anyObject) }),
    errors: ['rate_limited'],
    limit: 'standard',
  },
});

// Routes of service accounts: programs with roles of their own, and the tokens that they call with.
import { z } from 'zod';
import { instant, line, paging, pathId, uuid } from '../../http/contract/fields.ts';
import { routes, smallBody } from '../../http/contract/route.ts';
import { envRoles } from '../record/credentials.ts';
import { serviceAccountRecord, serviceTokenRecord } from '../record.ts';

export const serviceAccount = serviceAccountRecord.reply('console', 'one').extend({ roles: envRoles });

const serviceToken = serviceTokenRecord.reply('console', 'one');

const params = z.object({ account_id: pathId });
const name = line(128);
const shared = {
  auth: ['cookie'],
  role: 'admin',
  envs: 'none',
  peopleOnly: true,
  tag: 'service-accounts',
} as const;

export const serviceAccountRoutes = routes({
  listServiceAccounts: {
    ...shared,
    method: 'GET',
    path: '/api/v1/service-accounts',
    summary: 'Service accounts, by name',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(
      serviceAccount.extend({
        /** Expiry of the first of its valid tokens; null: it has none. */
        next_expiry_at: instant.nullable(),
      }),
    ),
    errors: ['validation_failed'],
  },
  createServiceAccount: {
    ...shared,
    method: 'POST',
    path: '/api/v1/service-accounts',
    summary: 'Add a service account, with roles as a user has them',
    body: z.object({ name, roles: envRoles }),
    status: 201,
    reply: serviceAccount,
    audit: ['service_account.created'],
    errors: ['conflict', 'validation_failed'],
    bodyLimit: smallBody,
  },
  updateServiceAccount: {
    ...shared,
    method: 'PATCH',
    path: '/api/v1/service-accounts/{account_id}',
    summary: 'Rename a service account, or replace its roles, which hold at once',
    params,
    body: z.object({ name: name.optional(), roles: envRoles.optional() }),
    status: 200,
    reply: serviceAccount,
    audit: ['service_account.updated'],
    errors: ['not_found', 'conflict', 'validation_failed'],
    bodyLimit: smallBody,
  },
  deleteServiceAccount: {
    ...shared,
    method: 'DELETE',
    path: '/api/v1/service-accounts/{account_id}',
    summary: 'Delete a service account; its tokens are refused and its streams end within a second',
    params,
    status: 204,
    audit: ['service_account.deleted'],
    errors: ['not_found', 'validation_failed'],
  },
  listServiceTokens: {
    ...shared,
    method: 'GET',
    path: '/api/v1/service-accounts/{account_id}/tokens',
    summary: 'Tokens of a service account, the newest first; expired ones are listed for 30 days',
    params,
    status: 200,
    reply: z.array(serviceToken),
    errors: ['not_found', 'validation_failed'],
  },
  createServiceToken: {
    ...shared,
    method: 'POST',
    path: '/api/v1/service-accounts/{account_id}/tokens',
    summary: 'Create a token; no other answer contains it',
    params,
    body: z.object({ label: line(128), expires_in_days: z.int().min(1).max(366).default(90) }),
    status: 201,
    reply: z.object({ id: uuid, token: z.string(), expires_at: instant }),
    audit: ['service_account.token_created'],
    errors: ['not_found', 'quota_exceeded', 'validation_failed'],
    bodyLimit: smallBody,
  },
  revokeServiceToken: {
    ...shared,
    method: 'DELETE',
    path: '/api/v1/service-accounts/{account_id}/tokens/{token_id}',
    summary: 'Revoke a token; it is refused and its streams end within a second',
    params: z.object({ account_id: pathId, token_id: pathId }),
    status: 204,
    audit: ['service_account.token_revoked'],
    errors: ['not_found', 'validation_failed'],
  },
});

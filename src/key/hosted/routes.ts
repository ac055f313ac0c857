// Routes of a workspace's API keys.
import { z } from 'zod';
import { instant } from '../../http/contract/fields.ts';
import { hostedPaging, identifier, pageFields } from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { hostedKeyRequest, keyRecord } from '../record.ts';

const hostedKey = keyRecord.reply('hosted', 'one');

export const hostedKeyRoutes = routes({
  hostedListKeys: {
    method: 'GET',
    path: '/v1/keys',
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-keys',
    summary: 'Active API keys in the workspace, newest first',
    query: z.object(hostedPaging(200, 100)),
    status: 200,
    reply: z.object({
      keys: z.array(hostedKey.extend({ last_used_at: instant.nullable() })),
      ...pageFields,
    }),
    errors: ['forbidden', 'validation_failed'],
  },
  hostedCreateKey: {
    method: 'POST',
    path: '/v1/keys',
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-keys',
    summary: 'Create an API key; only this answer contains the full key',
    body: z.object(hostedKeyRequest.shape),
    idempotent: 'once',
    status: 201,
    reply: hostedKey.extend({ key: z.string() }),
    audit: ['key.created'],
    errors: ['forbidden', 'validation_failed', 'unprocessable', 'conflict', 'quota_exceeded'],
  },
  hostedRevokeKey: {
    method: 'DELETE',
    path: '/v1/keys/{key_id}',
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-keys',
    summary: 'Revoke an API key; its streams end within a second',
    params: z.object({ key_id: identifier }),
    status: 204,
    audit: ['key.revoked'],
    errors: ['forbidden', 'not_found', 'validation_failed'],
  },
});

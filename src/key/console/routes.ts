// Routes of API keys.
import { z } from 'zod';
import { instant, paging, pathId } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { consoleKeyRequest, keyRecord } from '../record.ts';

const key = keyRecord.reply('console', 'one');

export const keyRoutes = routes({
  createKey: {
    method: 'POST',
    path: '/api/v1/keys',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'keys',
    summary: 'Create an API key for one environment; only this answer contains the full key',
    body: z.object(consoleKeyRequest.shape),
    status: 201,
    reply: key.extend({ key: z.string() }),
    audit: ['key.created'],
    errors: ['validation_failed'],
  },
  listKeys: {
    method: 'GET',
    path: '/api/v1/keys',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'keys',
    summary: 'Active API keys, newest first',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(
      key.extend({
        last_used_at: instant.nullable(),
        /** Agent streams that are open now, on all nodes; null when the number is unknown. */
        streams: z.number().int().nullable(),
      }),
    ),
    errors: ['validation_failed'],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/api/v1/keys/{key_id}',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'keys',
    summary: 'Revoke an API key; its streams end within a second',
    params: z.object({ key_id: pathId }),
    status: 204,
    audit: ['key.revoked'],
    errors: ['not_found', 'validation_failed'],
  },
});

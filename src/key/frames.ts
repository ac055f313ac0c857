// Frames of API keys.

import { z } from 'zod';
import { env, uuid } from '../http/contract/fields.ts';
import { event, eventMaker, type FrameTable } from '../http/contract/frame-table.ts';
import { type FrameMakers, toDashboards } from '../http/live/frame-makers.ts';

export const keyDashboardFrames = {
  api_key_created: event('api_key_created', 'An API key is created.', {
    key_id: uuid,
    env: env.nullable(),
    label: z.string().nullable(),
  }),
  api_key_revoked: event('api_key_revoked', 'An API key is revoked.', { key_id: uuid }),
} satisfies FrameTable;

const forDashboards = eventMaker(keyDashboardFrames);

export const keyMakers: Pick<FrameMakers, 'apiKeyCreated' | 'apiKeyRevoked'> = {
  apiKeyCreated: ({ tenantId, keyId, env, label }) =>
    toDashboards(
      tenantId,
      forDashboards('api_key_created', { key_id: keyId, env, label }),
      env === null ? {} : { envs: [env] },
    ),
  apiKeyRevoked: ({ tenantId, keyId, env }) =>
    toDashboards(
      tenantId,
      forDashboards('api_key_revoked', { key_id: keyId }),
      env === null ? {} : { envs: [env] },
    ),
};

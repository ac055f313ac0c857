// Routes of notification channels in the hosted API's words, and the callback of chat bots that were made through it.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { anyObject, line } from '../../http/contract/fields.ts';
import { hostedPaging, identifier, pageFields } from '../../http/contract/hosted-fields.ts';
import { routes } from '../../http/contract/route.ts';
import { channelConfig } from '../console/schemas.ts';
import { attemptFailure, channelRecord, hostedChannelType, hostedFilters } from '../record.ts';

export const hostedChannel = channelRecord.reply('hosted', 'one');

/** A channel that was saved, and what will not work yet, as sentences. */
export const savedHostedChannel = hostedChannel.extend({ warnings: z.array(z.string()) });

export const hostedChannelBody = z.object({
  name: line(100),
  channel_type: hostedChannelType,
  enabled: z.boolean().default(true),
  config: channelConfig,
  filters: hostedFilters.nullish(),
});
const params = z.object({ channel_id: identifier });
const path = '/v1/notifications/channels';

export const hostedChannelRoutes = routes({
  hostedListChannels: {
    method: 'GET',
    path,
    auth: ['operatorJwt'],
    role: 'operator',
    envs: 'none',
    tag: 'hosted-channels',
    summary: 'Notification channels, newest first; types that this API does not have are left out',
    query: z.object(hostedPaging(200, 100)),
    status: 200,
    reply: z.object({ channels: z.array(hostedChannel), ...pageFields }),
    errors: ['forbidden', 'validation_failed'],
  },
  hostedCreateChannel: {
    method: 'POST',
    path,
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-channels',
    summary:
      'Add a channel that receives approvals; its webhook is not signed, so choose an address that nobody can guess',
    body: hostedChannelBody,
    idempotent: 'answer',
    status: 201,
    reply: savedHostedChannel,
    audit: ['channel.created'],
    errors: ['forbidden', 'unprocessable', 'quota_exceeded', 'validation_failed', 'unavailable', 'conflict'],
  },
  hostedUpdateChannel: {
    method: 'PUT',
    path: `${path}/{channel_id}`,
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-channels',
    summary: 'Replace a channel, except its type and absent or masked secrets',
    params,
    body: hostedChannelBody,
    status: 200,
    reply: savedHostedChannel,
    audit: ['channel.updated'],
    errors: ['forbidden', 'not_found', 'conflict', 'unprocessable', 'validation_failed', 'unavailable'],
  },
  hostedDeleteChannel: {
    method: 'DELETE',
    path: `${path}/{channel_id}`,
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-channels',
    summary: 'Remove a channel and its unfinished deliveries',
    params,
    status: 204,
    audit: ['channel.deleted'],
    errors: ['forbidden', 'not_found', 'validation_failed'],
  },
  hostedTestChannel: {
    method: 'POST',
    path: `${path}/{channel_id}/test`,
    auth: ['operatorJwt'],
    role: 'admin',
    envs: 'none',
    tag: 'hosted-channels',
    summary: 'Send a test message within 10 seconds; success is false if it fails',
    params,
    limits: [limits.channelTests],
    status: 200,
    reply: z.object({
      success: z.boolean(),
      status_code: z.number().int().nullable(),
      latency_ms: z.number(),
      error: attemptFailure.nullable(),
    }),
    audit: 'A trial; the channel keeps its result.',
    errors: ['forbidden', 'not_found', 'rate_limited', 'validation_failed'],
  },
  hostedChatBotCallback: {
    method: 'POST',
    path: '/v1/chat_bot/webhook/{channel_id}',
    auth: [],
    role: 'nobody',
    envs: 'none',
    csrf: 'none',
    tag: 'hosted-channels',
    summary:
      "Button press in a bot chat, with the channel's secret in a header; 403 for a wrong secret or an unknown channel, else 200",
    params: z.object({ channel_id: z.string().max(200) }),
    parse: 'bytes',
    bodyLimit: 64 * 1024,
    limits: [limits.callbacks],
    status: 200,
    reply: anyObject.nullable(),
    audit: ['approval.approved', 'approval.rejected'],
    errors: ['payload_too_large', 'rate_limited'],
    limit: 'standard',
  },
});

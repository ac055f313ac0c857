// Routes of notification channels and of their deliveries.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { line, paging, pathId } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { channelFilters, channelRecord, channelType, deliveryRecord, deliveryStatus } from '../record.ts';
import { channelConfig } from './schemas.ts';

export const channel = channelRecord.reply('console', 'one');

export const delivery = deliveryRecord.reply('console', 'one');

const params = z.object({ channel_id: pathId });
const path = '/api/v1/notifications/channels';

export const channelRoutes = routes({
  listChannels: {
    method: 'GET',
    path,
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'notifications',
    summary: 'Notification channels, newest first',
    query: z.object(paging(1000)),
    status: 200,
    reply: z.array(channel),
    errors: ['validation_failed'],
  },
  createChannel: {
    method: 'POST',
    path,
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'notifications',
    summary: 'Add a channel that receives approvals; at most 100',
    body: z.object({
      name: line(100),
      channel_type: channelType,
      config: channelConfig,
      filters: channelFilters.nullish(),
      enabled: z.boolean().default(true),
    }),
    status: 201,
    reply: channel,
    audit: ['channel.created'],
    errors: ['unprocessable', 'quota_exceeded', 'validation_failed', 'unavailable'],
  },
  updateChannel: {
    method: 'PUT',
    path: `${path}/{channel_id}`,
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'notifications',
    summary:
      'Change a channel; absent fields keep their value, filters null clears them, config replaces everything except ' +
      'absent or masked secrets',
    params,
    body: z.object({
      name: line(100).optional(),
      config: channelConfig.optional(),
      enabled: z.boolean().optional(),
      filters: channelFilters.nullish(),
    }),
    status: 200,
    reply: channel,
    audit: ['channel.updated'],
    errors: ['not_found', 'conflict', 'unprocessable', 'validation_failed', 'unavailable'],
  },
  deleteChannel: {
    method: 'DELETE',
    path: `${path}/{channel_id}`,
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'notifications',
    summary: 'Remove a channel and its unfinished deliveries',
    params,
    status: 204,
    audit: ['channel.deleted'],
    errors: ['not_found', 'validation_failed'],
  },
  testChannel: {
    method: 'POST',
    path: `${path}/{channel_id}/test`,
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'notifications',
    summary: 'Send a test message within 10 seconds; success is false if it fails',
    params,
    limits: [limits.consoleChannelTests],
    status: 200,
    reply: z.object({ success: z.boolean(), message: z.string() }),
    audit: 'A trial; the channel keeps its result.',
    errors: ['not_found', 'rate_limited', 'validation_failed'],
  },
  listDeliveries: {
    method: 'GET',
    path: `${path}/{channel_id}/deliveries`,
    auth: ['cookie'],
    role: 'operator',
    envs: 'none',
    tag: 'notifications',
    summary: 'Deliveries to a channel, newest first',
    params,
    query: z.object({ status: deliveryStatus.optional(), ...paging(1000, 100) }),
    status: 200,
    reply: z.array(delivery),
    errors: ['not_found', 'validation_failed'],
  },
  replayDelivery: {
    method: 'POST',
    path: `${path}/{channel_id}/deliveries/{delivery_id}/replay`,
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'notifications',
    summary: 'Repeat a delivery; receivers recognise the repeat by its webhook-id',
    params: params.extend({ delivery_id: pathId }),
    status: 202,
    reply: delivery,
    audit: 'The deliveries of the channel show it.',
    errors: ['not_found', 'conflict', 'validation_failed', 'unavailable'],
  },
});

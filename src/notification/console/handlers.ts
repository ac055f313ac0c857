// Notification channels and their deliveries. The rules are notification/use-cases/channels.ts and
// notification/use-cases/notifications.ts.
import type { z } from 'zod';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import {
  type AttemptFailure,
  type ChannelFilters,
  type channelFilters,
  channelRecord,
  channelTypes,
  type Delivery,
  deliveryRecord,
} from '../record.ts';
import type { OpenChannel, TestResult } from '../use-cases/channels.ts';
import { maskedConfig, readConfig } from './channel-config.ts';
import type { channelRoutes } from './routes.ts';

const makeSecret =
  ({ secrets }: Hub) =>
  (): string =>
    secrets.token(32);

export const channels: Handlers<typeof channelRoutes> = {
  async listChannels({ app }, { query }, caller) {
    return listOf(await app.channels.list(principalOf(caller), query), query, render);
  },

  async createChannel(hub, { body }, caller) {
    const channel = await hub.app.channels.create(principalOf(caller), {
      name: body.name,
      payloadStyle: 'console',
      enabled: body.enabled,
      filters: filtersOf(body.filters ?? null),
      config: readConfig(body.channel_type, body.config, null, makeSecret(hub)),
    });
    return render(channel);
  },

  async updateChannel(hub, { params, body }, caller) {
    const { name, enabled, filters, config } = body;
    const changed = await hub.app.channels.update(principalOf(caller), params.channel_id, {
      ...omitUndefined({ name, enabled }),
      ...(filters === undefined ? {} : { filters: () => filtersOf(filters) }),
      ...(config === undefined
        ? {}
        : { config: (stored) => readConfig(channelTypes[stored.kind], config, stored, makeSecret(hub)) }),
    });
    return render(changed);
  },

  async deleteChannel({ app }, { params }, caller) {
    await app.channels.remove(principalOf(caller), params.channel_id);
    return null;
  },

  async testChannel({ app }, { params }, caller) {
    const result = await app.channels.test(principalOf(caller), params.channel_id);
    return { success: result.ok, message: sentenceOf(result) };
  },

  async listDeliveries({ app }, { params, query }, caller) {
    const { status } = query;
    const filter = omitUndefined({ status });
    const page = await app.notifications.listDeliveries(
      principalOf(caller),
      params.channel_id,
      filter,
      query,
    );
    return listOf(page, query, renderDelivery);
  },

  replayDelivery: async ({ app }, { params }, caller) =>
    renderDelivery(
      await app.notifications.replay(principalOf(caller), params.channel_id, params.delivery_id),
    ),
};

const filtersOf = (filters: z.output<typeof channelFilters> | null): ChannelFilters | null =>
  filters && {
    environments: filters.environments ?? null,
    agentPatterns: filters.agent_patterns ?? null,
    contractNames: filters.contract_names ?? null,
    rulesetNames: filters.ruleset_names ?? null,
  };

const render = ({ channel, config }: OpenChannel) =>
  channelRecord.render('console', { ...channel, maskedConfig: maskedConfig(config) });

const renderDelivery = (delivery: Delivery) => deliveryRecord.render('console', delivery);

/** Messages to the person who tries a channel: never the text that the other side wrote. */
const sentences: { readonly [F in AttemptFailure]: string } = {
  refused_address: 'The address is not allowed.',
  unresolved: 'The host name has no address. Check the name.',
  connection: 'The connection failed.',
  timeout: 'The receiver did not answer within 10 seconds.',
  too_large: 'The answer was too large.',
  rate_limited: 'The receiver limits the message rate. Try again later.',
  status: 'The receiver did not accept the message.',
  rejected: 'The receiver refused the message. Check the token, the password and the target.',
  channel_gone: 'The receiver no longer exists.',
  channel_disabled: 'The channel is disabled. Enable it first.',
};

function sentenceOf({ ok, status, failure, refused }: TestResult): string {
  if (refused.length > 0) {
    return `The mail server refused ${refused.join(', ')}. The other addresses got the test message.`;
  }
  if (ok || failure === null) return 'The test message was sent.';
  return status === null ? sentences[failure] : `${sentences[failure]} It answered with status ${status}.`;
}

// Notification channels in the hosted API's words: four types, secrets as `****` and their end, webhooks without a
// secret.
import type { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { Reply } from '../../http/contract/call.ts';
import type { Handlers, Hub } from '../../http/contract/handler.ts';
import { pageOf } from '../../http/contract/hosted-pages.ts';
import { type HostedCaller, principalOf } from '../../http/contract/hosted-principal.ts';
import { validationFailed } from '../../http/contract/validation.ts';
import { HubError } from '../../shared/error.ts';
import { deciders, readConfig, written } from '../console/channel-config.ts';
import { chatBotCallback } from '../console/chat-bot.ts';
import {
  type Attempt,
  type ChannelConfig,
  type ChannelFilters,
  type ChannelType,
  channelRecord,
  channelTypes,
  hostedChannelTypes,
  lastDeliveryRecord,
  maxChannels,
} from '../record.ts';
import type { OpenChannel } from '../use-cases/channels.ts';
import type { hostedChannelRoutes } from './routes.ts';

type Body = z.output<typeof hostedChannelRoutes.hostedCreateChannel.body>;
type HostedType = (typeof hostedChannelTypes)[number];
type Written = { readonly [field: string]: unknown };

/** Among so many of the newest is looked for one that was tried already. */
const deliveriesLookedAt = 20;

const isHosted = (type: ChannelType): type is HostedType =>
  (hostedChannelTypes as readonly string[]).includes(type);

export const hostedChannels: Handlers<typeof hostedChannelRoutes> = {
  async hostedListChannels(hub, { query }, caller) {
    const { items } = await hub.app.channels.list(principalOf(caller), { limit: maxChannels, offset: 0 });
    const hostedChannels = items.filter(({ channel }) => isHosted(channelTypes[channel.kind]));
    const pageItems = hostedChannels.slice(query.offset, query.offset + query.limit);
    const rows = await Promise.all(pageItems.map((open) => render(hub, caller, open)));
    const { items: channels, ...page } = pageOf(
      rows,
      query,
      query.offset + pageItems.length < hostedChannels.length,
    );
    return { channels, ...page };
  },

  async hostedCreateChannel(hub, { body }, caller, request) {
    const { newId: id } = request;
    const channel = {
      id,
      name: body.name,
      payloadStyle: 'hosted',
      enabled: body.enabled,
      filters: filtersOf(body.filters, null),
      config: configOf(hub, body, null),
    } as const;
    const making = hub.app.channels.create(principalOf(caller), channel, { isToldByCaller: true });
    const createdChannel = await making.catch(async (error: unknown) => {
      // Made by the first request of the key, whose answer was lost with its node.
      const isMade = id !== null && error instanceof HubError && error.code === 'conflict';
      if (isMade) return hub.app.channels.get(principalOf(caller), id);
      throw error;
    });
    return saved(hub, caller, createdChannel);
  },

  async hostedUpdateChannel(hub, { params, body }, caller) {
    const patch = {
      name: body.name,
      enabled: body.enabled,
      filters: (stored: ChannelFilters | null) => filtersOf(body.filters, stored),
      config(stored: ChannelConfig) {
        if (channelTypes[stored.kind] !== body.channel_type) {
          throw validationFailed([
            { loc: ['body', 'channel_type'], msg: `cannot change: it is ${channelTypes[stored.kind]}` },
          ]);
        }
        return configOf(hub, body, stored);
      },
    };
    const options = { isToldByCaller: true };
    const changed = await hub.app.channels.update(principalOf(caller), params.channel_id, patch, options);
    return saved(hub, caller, changed);
  },

  async hostedDeleteChannel({ app }, { params }, caller) {
    await app.channels.remove(principalOf(caller), params.channel_id);
    return null;
  },

  async hostedTestChannel({ app }, { params }, caller) {
    const { ok, status, failure, durationMs } = await app.channels.test(
      principalOf(caller),
      params.channel_id,
    );
    return { success: ok, status_code: status, latency_ms: Math.round(durationMs), error: failure };
  },

  async hostedChatBotCallback(hub, { params, body }, _caller, request) {
    const outcome = await chatBotCallback(hub, params.channel_id, body, request, limits.callbacks);
    // The reply does not reveal whether the id or the secret was wrong: nobody can guess them one by one.
    return outcome === 'taken' ? {} : new Reply(null, { status: 403 });
  },
};

/** Fields whose name differs from the console's. */
const names: { readonly [T in HostedType]: { readonly [hosted: string]: string } } = {
  chat_bot: {},
  workspace_chat: { url: 'webhook_url' },
  community_chat: { channel_id: 'channel' },
  webhook: {},
};

/** The fields that are never shown whole. */
const secrets: { readonly [T in HostedType]: readonly string[] } = {
  chat_bot: ['bot_token'],
  workspace_chat: ['url'],
  community_chat: ['bot_token'],
  webhook: [],
};

/** The fields that this API has. */
const fields: { readonly [T in HostedType]: readonly string[] } = {
  chat_bot: ['bot_token', 'chat_id', 'allowed_user_ids'],
  workspace_chat: ['url'],
  community_chat: ['bot_token', 'channel_id', 'allowed_user_ids'],
  webhook: ['url'],
};

/** Visible part of a secret. */
const masked = (secret: string): string => `****${secret.length > 8 ? secret.slice(-4) : ''}`;
/** True if it is that of some secret: the one that is stored now, or one that has been replaced. */
const isMask = (value: unknown): boolean => typeof value === 'string' && /^\*{4}(.{4})?$/s.test(value);

/** A configuration in this API's words, with its secrets in the clear. */
function hostedConfig(config: ChannelConfig, type: HostedType): Written {
  const stored = written(config);
  return Object.fromEntries(
    fields[type].flatMap((field) => {
      const value = stored[names[type][field] ?? field];
      return value === null || value === undefined ? [] : [[field, value]];
    }),
  );
}

/** @throws HubError unprocessable */
function configOf(
  hub: Hub,
  { channel_type: type, config }: Body,
  stored: ChannelConfig | null,
): ChannelConfig {
  const before = stored === null ? {} : hostedConfig(stored, type);
  const mergedConfig = Object.fromEntries(
    fields[type].flatMap((field) => {
      const [value, storedValue] = [config[field], before[field]];
      const isKept =
        field === deciders
          ? value === undefined
          : secrets[type].includes(field) &&
            typeof storedValue === 'string' &&
            (value === undefined || isMask(value));
      const kept = isKept ? storedValue : value;
      return kept === undefined ? [] : [[names[type][field] ?? field, kept]];
    }),
  );
  if (type === 'community_chat') return communityChat(mergedConfig, stored);
  // The secret of its callbacks is the hub's own: nobody sets or sees it here.
  const bot = stored?.kind === 'chatBot' ? { webhook_secret: stored.webhookSecret } : {};
  // A webhook that was made on the console goes on being signed, whoever changes it here.
  const webhook = stored?.kind === 'webhook' && stored.secret !== null ? { secret: stored.secret } : {};
  const secret = type === 'chat_bot' ? bot : type === 'webhook' ? webhook : {};
  return inHostedNames(type, () =>
    readConfig(type, { ...mergedConfig, ...secret }, null, () => hub.secrets.token(32)),
  );
}

/** @throws HubError with this API's field names, where the console's differ */
function inHostedNames<T>(type: HostedType, read: () => T): T {
  try {
    return read();
  } catch (failure) {
    if (!(failure instanceof HubError)) throw failure;
    const message = Object.entries(names[type]).reduce(
      (text, [hosted, console]) => text.replace(`config.${console}`, `config.${hosted}`),
      failure.message,
    );
    throw new HubError(failure.code, message, failure.detail);
  }
}

/** Without the key of the platform's buttons, which do not come back to this API. */
function communityChat(fields: Written, stored: ChannelConfig | null): ChannelConfig {
  const storedKey = stored?.kind === 'communityChat' ? stored.publicKey : null;
  const read = inHostedNames('community_chat', () =>
    readConfig('community_chat', { ...fields, public_key: storedKey ?? '0'.repeat(64) }, null, () => ''),
  );
  return read.kind === 'communityChat' ? { ...read, publicKey: storedKey } : read;
}

/** The names of contracts stay: only the console shows and changes them, and without them more people could decide. */
function filtersOf(filters: Body['filters'], stored: ChannelFilters | null): ChannelFilters | null {
  const contractNames = stored?.contractNames ?? null;
  if (!filters && contractNames === null) return null;
  return {
    environments: filters?.environments ?? null,
    agentPatterns: filters?.agent_patterns ?? null,
    contractNames,
    rulesetNames: filters?.ruleset_names ?? null,
  };
}

/** A channel as it is now, with what will not work yet. */
async function saved(hub: Hub, caller: HostedCaller, channel: OpenChannel) {
  const problem = await hub.app.channels.callbackProblem(channel);
  return { ...(await render(hub, caller, channel)), warnings: problem === null ? [] : [problem] };
}

async function render(hub: Hub, caller: HostedCaller, { channel, config }: OpenChannel) {
  const type = channelTypes[channel.kind];
  if (!isHosted(type)) throw new HubError('not_found', 'Notification channel not found.');
  const visibleFields = Object.entries(hostedConfig(config, type)).map(([field, value]) => [
    field,
    secrets[type].includes(field) && typeof value === 'string' ? masked(value) : value,
  ]);
  const { items } = await hub.app.notifications.listDeliveries(
    principalOf(caller),
    channel.id,
    {},
    { limit: deliveriesLookedAt, offset: 0 },
  );
  const attempts = items.flatMap(({ log }) => log);
  const last = attempts.reduce<Attempt | null>((a, b) => (a === null || b.at >= a.at ? b : a), null);
  return channelRecord.render('hosted', {
    ...channel,
    interactive: type === 'chat_bot',
    hostedConfig: Object.fromEntries(visibleFields),
    lastDelivery:
      last &&
      lastDeliveryRecord.render('hosted', {
        at: last.at,
        ok: last.failure === null,
        statusCode: last.status,
      }),
  });
}

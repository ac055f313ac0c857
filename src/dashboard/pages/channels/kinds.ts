// What each type of channel is configured with, as its form asks for it and as the hub takes it.
import type { Reply } from '../../lib/api.ts';

export type Channel = Reply<'listChannels'>[number];
export type ChannelType = Channel['channel_type'];

export interface ConfigField {
  readonly key: string;
  readonly label: string;
  readonly help?: string;
  /** Never shown again: what the hub shows is masked, and an untouched one is kept. */
  readonly secret?: boolean;
  readonly optional?: boolean;
  /** Separated by commas; the hub takes a list. */
  readonly list?: boolean;
  readonly number?: boolean;
}

interface Kind {
  readonly label: string;
  readonly help: string;
  readonly fields: readonly ConfigField[];
}

const users: ConfigField = {
  key: 'allowed_user_ids',
  label: 'Who may decide',
  help: 'User ids of the platform, separated by commas. Empty: everybody in the chat.',
  optional: true,
  list: true,
};

export const kinds: { readonly [T in ChannelType]: Kind } = {
  webhook: {
    label: 'Webhook',
    help: 'A signed HTTPS request to an address of yours.',
    fields: [
      { key: 'url', label: 'Address', help: 'https://…' },
      {
        key: 'secret',
        label: 'Secret',
        help: 'Signs what is sent, so that your server knows the hub. Without one nothing is signed.',
        secret: true,
        optional: true,
      },
    ],
  },
  email: {
    label: 'E-mail',
    help: 'A message through your mail server, with a link to the approval.',
    fields: [
      { key: 'smtp_host', label: 'Mail server' },
      { key: 'smtp_port', label: 'Port', number: true },
      { key: 'smtp_user', label: 'User of the mail server', optional: true },
      { key: 'smtp_password', label: 'Password of the mail server', secret: true, optional: true },
      { key: 'from_address', label: 'From' },
      { key: 'to_addresses', label: 'To', help: 'Addresses, separated by commas.', list: true },
    ],
  },
  workspace_chat: {
    label: 'Workspace chat',
    help: 'A message through an incoming webhook; without buttons.',
    fields: [{ key: 'webhook_url', label: 'Webhook address', secret: true }],
  },
  workspace_chat_app: {
    label: 'Workspace chat app',
    help: 'A message with buttons that decide.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'signing_secret', label: 'Signing secret', secret: true },
      { key: 'channel', label: 'Channel of the workspace' },
      users,
    ],
  },
  community_chat: {
    label: 'Community chat',
    help: 'A message with buttons that decide.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'public_key', label: 'Public key of the application', help: '64 hex characters.' },
      { key: 'channel', label: 'Channel id' },
      users,
    ],
  },
  chat_bot: {
    label: 'Chat bot',
    help: 'A message with buttons that decide, in one chat.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'chat_id', label: 'Chat id', help: 'A number.' },
      {
        key: 'webhook_secret',
        label: 'Secret of callbacks',
        help: 'Empty: the hub makes one.',
        secret: true,
        optional: true,
      },
      users,
    ],
  },
};

export type ConfigText = { readonly [key: string]: string };

/** What the form holds of a stored configuration. Secrets come masked, and count as kept while they stay so. */
export const textOf = (type: ChannelType, config: Channel['config']): ConfigText =>
  Object.fromEntries(
    kinds[type].fields.map(({ key }) => {
      const value = config[key];
      return [
        key,
        Array.isArray(value) ? value.join(', ') : value === null || value === undefined ? '' : String(value),
      ];
    }),
  );

const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/**
 * What the hub is sent: an empty optional field is null, and a secret that was left alone is not sent at all.
 * @param before what the form began with, where a channel is changed
 */
export const configOf = (
  type: ChannelType,
  text: ConfigText,
  before: ConfigText = {},
): { readonly [key: string]: unknown } =>
  Object.fromEntries(
    kinds[type].fields.map(({ key, list, number, optional, secret }) => {
      const value = (text[key] ?? '').trim();
      if (secret && value === before[key]) return [key, undefined];
      if (list) return [key, optional && value === '' ? null : listOf(value)];
      // Some servers of mail take no user and no password; those two are then empty texts.
      if (value === '') return [key, optional && !key.startsWith('smtp_') ? null : ''];
      return [key, number ? Number(value) : value];
    }),
  );

export type FilterText = {
  readonly environments: readonly string[];
  readonly agent_patterns: string;
  readonly contract_names: string;
  readonly ruleset_names: string;
};

export const filterTextOf = (filters: Channel['filters']): FilterText => ({
  environments: filters?.environments ?? [],
  agent_patterns: (filters?.agent_patterns ?? []).join(', '),
  contract_names: (filters?.contract_names ?? []).join(', '),
  ruleset_names: (filters?.ruleset_names ?? []).join(', '),
});

/** Null when every approval goes through. */
export function filtersOf(text: FilterText): Channel['filters'] {
  const lists = {
    environments: text.environments as NonNullable<Channel['filters']>['environments'],
    agent_patterns: listOf(text.agent_patterns),
    contract_names: listOf(text.contract_names),
    ruleset_names: listOf(text.ruleset_names),
  };
  const used = Object.entries(lists).filter(([, list]) => (list?.length ?? 0) > 0);
  return used.length === 0 ? null : Object.fromEntries(used);
}

/** What a channel hears of, in words. */
export function filterWords(filters: Channel['filters']): string {
  const parts = [
    ...(filters?.environments?.length ? [filters.environments.join(', ')] : []),
    ...(filters?.agent_patterns?.length ? [`agents ${filters.agent_patterns.join(', ')}`] : []),
    ...(filters?.contract_names?.length ? [`contracts ${filters.contract_names.join(', ')}`] : []),
    ...(filters?.ruleset_names?.length ? [`rulesets ${filters.ruleset_names.join(', ')}`] : []),
  ];
  return parts.length === 0 ? 'every approval' : parts.join('; ');
}

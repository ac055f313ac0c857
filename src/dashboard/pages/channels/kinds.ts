// The configuration of each type of channel: fields of its form, and the hub's format.
import type { Reply } from '../../lib/api.ts';

export type Channel = Reply<'listChannels'>[number];
export type ChannelType = Channel['channel_type'];

interface ConfigField {
  readonly key: string;
  readonly label: string;
  readonly help?: string;
  /** A secret: the hub returns it masked, and keeps it if the field stays unchanged. */
  readonly secret?: boolean;
  readonly optional?: boolean;
  /** Separated by commas in the form, a list for the hub. */
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
  label: 'Allowed user IDs',
  help: 'Enter user IDs from the platform, separated by commas. Leave empty to allow everybody in the chat.',
  optional: true,
  list: true,
};

export const kinds: { readonly [T in ChannelType]: Kind } = {
  webhook: {
    label: 'Webhook',
    help: 'Sends a signed HTTPS request to your address.',
    fields: [
      { key: 'url', label: 'Address', help: 'https://…' },
      {
        key: 'secret',
        label: 'Secret',
        help: 'Signs each request so that your server can verify the hub. Without a secret, requests are not signed.',
        secret: true,
        optional: true,
      },
    ],
  },
  email: {
    label: 'E-mail',
    help: 'Sends a message with a link to the approval through your mail server.',
    fields: [
      { key: 'smtp_host', label: 'Mail server' },
      { key: 'smtp_port', label: 'Port', number: true },
      { key: 'smtp_user', label: 'Mail server user', optional: true },
      { key: 'smtp_password', label: 'Mail server password', secret: true, optional: true },
      { key: 'from_address', label: 'From' },
      { key: 'to_addresses', label: 'To', help: 'Enter addresses, separated by commas.', list: true },
    ],
  },
  workspace_chat: {
    label: 'Workspace chat',
    help: 'Sends a message without buttons through an incoming webhook.',
    fields: [{ key: 'webhook_url', label: 'Webhook address', secret: true }],
  },
  workspace_chat_app: {
    label: 'Workspace chat app',
    help: 'Sends a message with Approve and Deny buttons.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'signing_secret', label: 'Signing secret', secret: true },
      { key: 'channel', label: 'Workspace channel' },
      users,
    ],
  },
  community_chat: {
    label: 'Community chat',
    help: 'Sends a message with Approve and Deny buttons.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'public_key', label: 'Application public key', help: 'Enter 64 hexadecimal characters.' },
      { key: 'channel', label: 'Channel ID' },
      users,
    ],
  },
  chat_bot: {
    label: 'Chat bot',
    help: 'Sends a message with Approve and Deny buttons to one chat.',
    fields: [
      { key: 'bot_token', label: 'Bot token', secret: true },
      { key: 'chat_id', label: 'Chat ID', help: 'Enter a number.' },
      {
        key: 'webhook_secret',
        label: 'Callback secret',
        help: 'Leave empty to let the hub generate one.',
        secret: true,
        optional: true,
      },
      users,
    ],
  },
};

export type ConfigText = { readonly [key: string]: string };

/** The form's values for a stored configuration. Masked secrets count as unchanged. */
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
 * The configuration for the hub: an empty optional field is null, and an unchanged secret is left out.
 * @param before initial values of the form, if it edits a channel
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
      // Some mail servers need no user and no password. Both are then empty texts.
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

/** Null if all approvals match. */
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

/** Text for the filters of a channel. */
export function filterWords(filters: Channel['filters']): string {
  const parts = [
    ...(filters?.environments?.length ? [filters.environments.join(', ')] : []),
    ...(filters?.agent_patterns?.length ? [`agents ${filters.agent_patterns.join(', ')}`] : []),
    ...(filters?.contract_names?.length ? [`contracts ${filters.contract_names.join(', ')}`] : []),
    ...(filters?.ruleset_names?.length ? [`rulesets ${filters.ruleset_names.join(', ')}`] : []),
  ];
  return parts.length === 0 ? 'all approvals' : parts.join('; ');
}

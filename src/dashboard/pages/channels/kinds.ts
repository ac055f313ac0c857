// The kinds of channels with the fields of each. A secret is sent and never shown again: left empty in a change, it stays.
import type { Reply } from '../../lib/api.ts';

type Kind = Reply<'listChannels'>[number]['channel_type'];

export interface ConfigField {
  readonly name: string;
  readonly label: string;
  readonly type?: 'password' | 'number' | 'url';
  readonly optional?: boolean;
  readonly help?: string;
  /** Texts separated by commas. */
  readonly list?: boolean;
}

const users: ConfigField = {
  name: 'allowed_user_ids',
  label: 'Who may decide',
  optional: true,
  list: true,
  help: 'User ids, separated by commas. Without any, everybody in the chat may.',
};
const token: ConfigField = { name: 'bot_token', label: 'Bot token', type: 'password' };

export const kinds: {
  readonly [K in Kind]: { readonly label: string; readonly fields: readonly ConfigField[] };
} = {
  webhook: {
    label: 'Webhook',
    fields: [
      { name: 'url', label: 'Address', type: 'url', help: 'https; it gets a signed JSON body.' },
      { name: 'secret', label: 'Secret', type: 'password', optional: true, help: 'Signs what is sent.' },
    ],
  },
  email: {
    label: 'E-mail',
    fields: [
      { name: 'smtp_host', label: 'SMTP host' },
      { name: 'smtp_port', label: 'SMTP port', type: 'number' },
      { name: 'smtp_user', label: 'SMTP user' },
      { name: 'smtp_password', label: 'SMTP password', type: 'password' },
      { name: 'from_address', label: 'From' },
      { name: 'to_addresses', label: 'To', list: true, help: 'Addresses, separated by commas.' },
    ],
  },
  workspace_chat: {
    label: 'Workspace chat (address)',
    fields: [
      {
        name: 'webhook_url',
        label: 'Webhook address',
        type: 'password',
        help: 'Whoever has it can write there.',
      },
    ],
  },
  workspace_chat_app: {
    label: 'Workspace chat (app)',
    fields: [
      token,
      { name: 'signing_secret', label: 'Signing secret', type: 'password' },
      { name: 'channel', label: 'Channel' },
      users,
    ],
  },
  community_chat: {
    label: 'Community chat',
    fields: [
      token,
      { name: 'public_key', label: 'Public key', help: '64 hex characters.' },
      { name: 'channel', label: 'Channel' },
      users,
    ],
  },
  chat_bot: {
    label: 'Bot chat',
    fields: [
      token,
      { name: 'chat_id', label: 'Chat id' },
      { name: 'webhook_secret', label: 'Webhook secret', type: 'password', optional: true },
      users,
    ],
  },
};

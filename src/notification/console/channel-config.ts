// Channel configurations in the console's words: read from a body, and shown with their secrets masked.
import { z } from 'zod';
import { HubError } from '../../shared/error.ts';
import {
  type ChannelConfig,
  type ChannelKind,
  type ChannelType,
  type ConfigOf,
  channelTypes,
} from '../record.ts';

export const kindOf = Object.fromEntries(
  Object.entries(channelTypes).map(([kind, type]) => [type, kind]),
) as {
  readonly [T in ChannelType]: ChannelKind;
};

/** Visible part of a secret. */
export function masked(secret: string): string {
  if (secret === '') return '';
  return secret.length <= 8 ? '•'.repeat(8) : `${secret.slice(0, 4)}••••${secret.slice(-4)}`;
}

/** True if it is the visible part of some secret: the one that is stored now, or one that has been replaced. */
const isMask = (value: unknown): boolean => typeof value === 'string' && /^(.{4}•{4}.{4}|•{8})$/s.test(value);

/** One line; it may be empty. */
const anyLine = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !/\p{Cc}/u.test(value), 'must not contain control characters');
const line = (max: number) => anyLine(max).min(1);
const notMasked = 'is masked. Send the whole secret';
const secretUrl = line(2048).refine((value) => !isMask(value), notMasked);
const url = line(2048);
const secret = line(512).refine((value) => !isMask(value), notMasked);
const anySecret = anyLine(512).refine((value) => !isMask(value), notMasked);
const userIds = z
  .array(z.union([line(64), z.number().int().transform(String)]))
  .max(200)
  .nullish();
const address = line(320).regex(/^[^\s@,;<>"]+@[^\s@,;<>"]+$/, 'must be an e-mail address');
const addresses = z
  .union([
    z
      .string()
      .max(20_000)
      .transform((text) => text.split(',').map((part) => part.trim())),
    z.array(z.string()),
  ])
  .pipe(z.array(address).min(1).max(50));
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number),
]);

const schemas = {
  chat_bot: z.object({
    bot_token: secret.regex(/^[\w:-]+$/, 'must be the exact token from the platform'),
    chat_id: z.union([
      z.number().int().transform(String),
      z.string().regex(/^-?\d{1,20}$/, 'must be a number'),
    ]),
    webhook_secret: secret.regex(/^[\w-]+$/, 'must contain only letters, digits, _ and -').nullish(),
    allowed_user_ids: userIds,
  }),
  workspace_chat: z.object({ webhook_url: secretUrl }),
  workspace_chat_app: z.object({
    bot_token: secret,
    signing_secret: secret,
    channel: line(200),
    allowed_user_ids: userIds,
  }),
  community_chat: z.object({
    bot_token: secret,
    public_key: z.string().regex(/^[0-9a-f]{64}$/i, 'must be 64 hex characters'),
    channel: line(200),
    allowed_user_ids: userIds,
  }),
  webhook: z.object({ url, secret: anySecret.nullish() }),
  email: z.object({
    smtp_host: line(253),
    smtp_port: number.pipe(z.number().int().min(1).max(65_535)),
    smtp_user: anyLine(320),
    smtp_password: anySecret,
    from_address: line(320),
    to_addresses: addresses,
  }),
} as const;

/** The fields that are never shown. */
const secrets: { readonly [T in ChannelType]: readonly string[] } = {
  chat_bot: ['bot_token', 'webhook_secret'],
  workspace_chat: ['webhook_url'],
  workspace_chat_app: ['bot_token', 'signing_secret'],
  community_chat: ['bot_token'],
  webhook: ['secret'],
  email: ['smtp_password'],
};

type Written = { readonly [field: string]: unknown };

/** A configuration as it is written in a body. */
export function written(config: ChannelConfig): Written {
  switch (config.kind) {
    case 'chatBot':
      return {
        bot_token: config.botToken,
        chat_id: config.chatId,
        webhook_secret: config.webhookSecret,
        allowed_user_ids: config.allowedUserIds,
      };
    case 'workspaceChat':
      return { webhook_url: config.webhookUrl };
    case 'workspaceChatApp':
      return {
        bot_token: config.botToken,
        signing_secret: config.signingSecret,
        channel: config.channel,
        allowed_user_ids: config.allowedUserIds,
      };
    case 'communityChat':
      return {
        bot_token: config.botToken,
        public_key: config.publicKey,
        channel: config.channel,
        allowed_user_ids: config.allowedUserIds,
      };
    case 'webhook':
      return { url: config.url, secret: config.secret };
    case 'email':
      return {
        smtp_host: config.smtpHost,
        smtp_port: config.smtpPort,
        smtp_user: config.smtpUser,
        smtp_password: config.smtpPassword,
        from_address: config.fromAddress,
        to_addresses: config.toAddresses,
      };
  }
}

/** The same with its secrets masked. */
export function maskedConfig(config: ChannelConfig): Written {
  const type = channelTypes[config.kind];
  return Object.fromEntries(
    Object.entries(written(config)).map(([field, value]) => [
      field,
      secrets[type].includes(field) && typeof value === 'string' ? masked(value) : value,
    ]),
  );
}

/** Other names for the target of a message, which clients may send. */
const otherNames: readonly string[] = ['slack_channel', 'discord_channel_id', 'channel_id'];

function renamed(body: Written): Written {
  if (body.channel !== undefined) return body;
  const otherName = otherNames.find((name) => body[name] !== undefined);
  return otherName === undefined ? body : { ...body, channel: body[otherName] };
}

/** The list of deciders. A change of another field never opens a chat to everybody. */
export const deciders = 'allowed_user_ids';

/**
 * The list of deciders if it is absent, and the secrets that are absent or come back masked, as they are stored. A mask
 * may be of a secret that somebody has replaced since it was shown: it is never taken for a secret.
 */
function withStored(type: ChannelType, body: Written, stored: ChannelConfig): Written {
  const before = written(stored);
  const kept: string[] = secrets[type].filter((field) => {
    const [value, storedValue] = [body[field], before[field]];
    return value === undefined || (typeof storedValue === 'string' && storedValue !== '' && isMask(value));
  });
  if (body[deciders] === undefined && before[deciders] !== undefined) kept.push(deciders);
  return { ...body, ...Object.fromEntries(kept.map((field) => [field, before[field]])) };
}

/** Parses by the schema of a type. @throws HubError unprocessable, with the first field that does not fit */
function parsed<T extends ChannelType>(type: T, body: Written): z.output<(typeof schemas)[T]> {
  const result = schemas[type].safeParse(body);
  if (result.success) return result.data as z.output<(typeof schemas)[T]>;
  const [issue] = result.error.issues;
  const field = String(issue?.path[0] ?? 'config');
  const missing = body[field] === undefined || body[field] === null || body[field] === '';
  throw new HubError(
    'unprocessable',
    missing
      ? `A channel with the type ${type} needs config.${field}. Send it.`
      : `config.${field}: ${issue?.message}.`,
  );
}

/**
 * Reads a configuration.
 * @param stored what the channel has, when it is changed
 * @param makeSecret makes the secret of a chat bot's callbacks where there is none
 * @throws HubError unprocessable in a sentence
 */
export function readConfig(
  type: ChannelType,
  fields: Written,
  stored: ChannelConfig | null,
  makeSecret: () => string,
): ChannelConfig {
  const body = stored === null ? renamed(fields) : withStored(type, renamed(fields), stored);
  switch (type) {
    case 'chat_bot': {
      const config = parsed(type, body);
      return {
        kind: 'chatBot',
        botToken: config.bot_token,
        chatId: config.chat_id,
        webhookSecret: config.webhook_secret ?? makeSecret(),
        allowedUserIds: config.allowed_user_ids ?? null,
      };
    }
    case 'workspace_chat':
      return { kind: 'workspaceChat', webhookUrl: parsed(type, body).webhook_url };
    case 'workspace_chat_app': {
      const config = parsed(type, body);
      return {
        kind: 'workspaceChatApp',
        botToken: config.bot_token,
        signingSecret: config.signing_secret,
        channel: config.channel,
        allowedUserIds: config.allowed_user_ids ?? null,
      };
    }
    case 'community_chat': {
      const config = parsed(type, body);
      return {
        kind: 'communityChat',
        botToken: config.bot_token,
        publicKey: config.public_key.toLowerCase(),
        channel: config.channel,
        allowedUserIds: config.allowed_user_ids ?? null,
      };
    }
    case 'webhook': {
      const config = parsed(type, body);
      return { kind: 'webhook', url: config.url, secret: config.secret || null };
    }
    case 'email':
      return emailOf(parsed(type, body), fields, stored);
  }
}

/** @throws HubError unprocessable when a kept password would go to another server */
function emailOf(
  config: z.output<typeof schemas.email>,
  fields: Written,
  stored: ChannelConfig | null,
): ConfigOf<'email'> {
  const email: ConfigOf<'email'> = {
    kind: 'email',
    smtpHost: config.smtp_host,
    smtpPort: config.smtp_port,
    smtpUser: config.smtp_user,
    smtpPassword: config.smtp_password,
    fromAddress: config.from_address,
    toAddresses: config.to_addresses,
  };
  const isKept = fields.smtp_password !== email.smtpPassword;
  if (stored?.kind === 'email' && isKept && email.smtpPassword !== '') {
    if (stored.smtpHost !== email.smtpHost || stored.smtpPort !== email.smtpPort) {
      throw new HubError(
        'unprocessable',
        'The hub does not send the stored password to another mail server. Send config.smtp_password again.',
      );
    }
  }
  return email;
}

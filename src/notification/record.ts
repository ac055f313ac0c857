// Notification channels, where people receive news of approvals: their fields, configurations and filters, and the
// fields of deliveries.
import { globMatch } from 'reeve-agent/rules';
import { z } from 'zod';
import type { Approval } from '../approval/record.ts';
import type { Env } from '../shared/ids.ts';
import { computed, field, instant, json, type RecordOf, record, type StoredOf } from '../shared/record.ts';
import { anyObject, env, line, uuid } from '../shared/schemas.ts';

/** The configuration of each kind. Texts are not empty. */
export interface ChannelConfigs {
  /** A bot that writes to one chat; its buttons come back to the hub. */
  readonly chatBot: {
    readonly botToken: string;
    readonly chatId: string;
    /** The secret that the platform sends with every callback. */
    readonly webhookSecret: string;
    readonly allowedUserIds: readonly string[] | null;
  };
  /** An address of a workspace that takes messages; without buttons. */
  readonly workspaceChat: { readonly webhookUrl: string };
  readonly workspaceChatApp: {
    readonly botToken: string;
    readonly signingSecret: string;
    readonly channel: string;
    readonly allowedUserIds: readonly string[] | null;
  };
  readonly communityChat: {
    readonly botToken: string;
    /** Ed25519, 64 hex characters; null where its buttons are not to come back. */
    readonly publicKey: string | null;
    readonly channel: string;
    readonly allowedUserIds: readonly string[] | null;
  };
  readonly webhook: { readonly url: string; readonly secret: string | null };
  readonly email: {
    readonly smtpHost: string;
    readonly smtpPort: number;
    readonly smtpUser: string;
    readonly smtpPassword: string;
    readonly fromAddress: string;
    readonly toAddresses: readonly string[];
  };
}

export type ChannelKind = keyof ChannelConfigs;

/** A configuration with its kind. */
export type ChannelConfig = {
  readonly [K in ChannelKind]: { readonly kind: K } & ChannelConfigs[K];
}[ChannelKind];
export type ConfigOf<K extends ChannelKind> = Extract<ChannelConfig, { readonly kind: K }>;

/** Kinds whose messages have buttons that decide, and are edited afterwards. */
const interactive: ReadonlySet<ChannelKind> = new Set(['chatBot', 'workspaceChatApp', 'communityChat']);
export const isInteractive = (kind: ChannelKind): boolean => interactive.has(kind);

/** Filters for a channel's approvals. Each list that is not empty must match with one of its entries. */
export interface ChannelFilters {
  readonly environments: readonly Env[] | null;
  /** Globs over agent ids. */
  readonly agentPatterns: readonly string[] | null;
  /** Globs over contract names. */
  readonly contractNames: readonly string[] | null;
  /** Globs over the names of rulesets and their rules. */
  readonly rulesetNames: readonly string[] | null;
}

export const channelKinds = [
  'chatBot',
  'workspaceChat',
  'workspaceChatApp',
  'communityChat',
  'webhook',
  'email',
] as const satisfies readonly ChannelKind[];

/** The wire's word for each kind. */
export const channelTypes = {
  chatBot: 'chat_bot',
  workspaceChat: 'workspace_chat',
  workspaceChatApp: 'workspace_chat_app',
  communityChat: 'community_chat',
  webhook: 'webhook',
  email: 'email',
} as const satisfies { readonly [K in ChannelKind]: string };
export type ChannelType = (typeof channelTypes)[ChannelKind];
export const channelType = z.enum(Object.values(channelTypes));

export const hostedChannelTypes = ['chat_bot', 'workspace_chat', 'community_chat', 'webhook'] as const;
export const hostedChannelType = z.enum(hostedChannelTypes);

const patterns = z.array(line(255)).max(100).nullish();
/** Every list that is there and not empty must match, by one of its entries. */
export const channelFilters = z.object({
  environments: z.array(env).max(3).nullish(),
  /** Globs over agent ids. */
  agent_patterns: patterns,
  /** Globs over contract names; an approval without one passes. */
  contract_names: patterns,
  /** Globs over the names of rulesets and their rules; an approval without one passes. */
  ruleset_names: patterns,
});
export const hostedFilters = channelFilters.omit({ contract_names: true });

/** Result of the newest attempt to send to a channel. */
export const lastDeliveryRecord = record('deliveries', {
  at: field(instant),
  ok: field(z.boolean()),
  statusCode: field(z.number().int().nullable()),
});
export const hostedLastDelivery = lastDeliveryRecord.reply('hosted', 'one');

const onlyConsole = { hosted: false } as const;
const onlyHosted = { console: false, stored: false } as const;
const channelFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  name: field(z.string()),
  kind: field(z.enum(channelKinds), {
    console: { name: 'channel_type', words: channelTypes, schema: channelType },
    hosted: { name: 'channel_type', words: channelTypes, schema: hostedChannelType },
  }),
  /** The API whose payloads its webhook gets: the one that it was made through. */
  payloadStyle: field(z.enum(['console', 'hosted']), { wire: false }),
  /** Secrets are masked. One that is written back as it is shown keeps what is stored. */
  maskedConfig: field(anyObject, { stored: false, hosted: false, name: 'config' }),
  enabled: field(z.boolean()),
  /** True where a press of a button decides. */
  interactive: field(z.boolean(), onlyHosted),
  /** Secrets are masked: `****` and their last four characters. */
  hostedConfig: field(anyObject, { ...onlyHosted, hosted: { name: 'config' } }),
  filters: field(json<ChannelFilters, z.ZodUnknown>(z.unknown()).nullable()),
  /** Its `ChannelConfig` as JSON, sealed (shared/ports/secrets, purpose `channel-config`). */
  sealedConfig: field(z.string(), { wire: false }),
  /** Rises with every change of what people set. */
  revision: field(z.int(), { wire: false }),
  createdAt: field(instant),
  updatedAt: field(instant),
  lastTestAt: field(instant.nullable(), onlyConsole),
  lastTestOk: field(z.boolean().nullable(), onlyConsole),
  lastDelivery: field(hostedLastDelivery.nullable(), onlyHosted),
};

export type Channel = StoredOf<typeof channelFields>;

const copyOf = <T>(list: readonly T[] | null | undefined): T[] | null => (list ? [...list] : null);

export const channelRecord = record('channels', channelFields, {
  console: {
    filters: computed(
      channelFilters.nullable(),
      ({ filters }: Pick<Channel, 'filters'>) =>
        filters && {
          environments: copyOf(filters.environments),
          agent_patterns: copyOf(filters.agentPatterns),
          contract_names: copyOf(filters.contractNames),
          ...(filters.rulesetNames === null ? {} : { ruleset_names: copyOf(filters.rulesetNames) }),
        },
    ),
  },
  hosted: {
    filters: computed(hostedFilters, ({ filters }: Pick<Channel, 'filters'>) => ({
      environments: copyOf(filters?.environments),
      agent_patterns: copyOf(filters?.agentPatterns),
      ruleset_names: copyOf(filters?.rulesetNames),
    })),
  },
});

/** `expired` takes the buttons off a message whose approval timed out. */
const deliveryEvents = ['requested', 'decided', 'expired', 'tool_definition_changed'] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

/** `waiting` has a next attempt. `expired`: the approval ended before its request was delivered. `dead`: given up. */
export const deliveryStatuses = ['waiting', 'delivered', 'dead', 'expired'] as const;
export const deliveryStatus = z.enum(deliveryStatuses);
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Reasons why an attempt failed, in a closed list: nothing that the other side sent. */
const attemptFailures = [
  'refused_address',
  'unresolved',
  'connection',
  'timeout',
  'too_large',
  'rate_limited',
  'status',
  'rejected',
  'channel_gone',
  'channel_disabled',
] as const;
export const attemptFailure = z.enum(attemptFailures);
export type AttemptFailure = (typeof attemptFailures)[number];

const count = z.number().int();
const attemptFields = {
  at: field(instant),
  status: field(count.nullable()),
  /** Null when it was delivered. */
  failure: field(attemptFailure.nullable(), { name: 'error' }),
  durationMs: field(count),
};
export type Attempt = RecordOf<typeof attemptFields>;
const attemptRecord = record('attempts', attemptFields);
const attempts = z.array(attemptRecord.reply('console', 'one'));

/** One notification on its way to one channel. */
const deliveryFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  channelId: field(uuid),
  /** Or of a tool's definition, for `tool_definition_changed`. */
  approvalId: field(uuid),
  event: field(z.enum(deliveryEvents)),
  status: field(deliveryStatus),
  /** Failed and successful ones of this run. */
  attempts: field(count),
  /** 1, and one more with every replay: what belongs to an earlier run changes nothing. */
  run: field(count, { wire: false }),
  /** Of the next attempt; null unless it waits. */
  nextAt: field(instant.nullable(), { name: 'next_attempt_at' }),
  /** After this time no attempt is made. */
  giveUpAt: field(instant, { wire: false }),
  createdAt: field(instant),
  updatedAt: field(instant),
  /** Of a chat, so that the message can be edited: `<chat>:<message>`, in older records the message's id alone. */
  messageId: field(z.string().nullable(), { wire: false }),
  /** The newest attempts, oldest first, over all runs. */
  log: field(json<readonly Attempt[], typeof attempts>(attempts)),
};

export type Delivery = RecordOf<typeof deliveryFields>;

export const deliveryRecord = record('deliveries', deliveryFields, {
  console: {
    log: computed(attempts, ({ log }: Delivery) => log.map((one) => attemptRecord.render('console', one))),
  },
});

/** Of a tenant. */
export const maxChannels = 100;

/** The fields that filters compare. */
export interface NotifiedCall {
  readonly env: Env;
  readonly agentId: string;
  /** Of the contracts, or rules, that ask. Where there is none, filters by name let it pass. */
  readonly contractNames: readonly string[];
  /** The bundle, or ruleset, that asks; null: not known. */
  readonly rulesetName: string | null;
}

/** True when the filters let a call through. */
export function wants(filters: ChannelFilters | null, call: NotifiedCall): boolean {
  if (filters === null) return true;
  return (
    (isEmpty(filters.environments) || filters.environments.includes(call.env)) &&
    anyMatches(filters.agentPatterns, [call.agentId]) &&
    anyMatches(filters.contractNames, call.contractNames) &&
    anyMatches(filters.rulesetNames, [
      ...call.contractNames,
      ...(call.rulesetName === null ? [] : [call.rulesetName]),
    ])
  );
}

/** The fields of an approval that filters compare. */
export function notifiedCallOf({
  env,
  agentId,
  contractName,
  contracts,
  rulesetName,
}: Approval): NotifiedCall {
  const names = [contractName, ...(contracts ?? []).map(({ name }) => name)];
  return { env, agentId, contractNames: names.filter((name) => name !== null), rulesetName };
}

const isEmpty = <T>(list: readonly T[] | null): list is null | readonly [] =>
  list === null || list.length === 0;

function anyMatches(patterns: readonly string[] | null, names: readonly string[]): boolean {
  if (isEmpty(patterns) || names.length === 0) return true;
  return patterns.some((pattern) => names.some((name) => globMatch(pattern, name)));
}

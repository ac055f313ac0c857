// Notification channels: made, changed, tried and removed by admins. Their secrets are sealed here, and opened here
// alone.

import { changeBy, noted } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { minuteMs } from '../../shared/duration.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { OutboundError } from '../../shared/outbound.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import {
  type AttemptFailure,
  type Channel,
  type ChannelConfig,
  type ChannelFilters,
  maxChannels,
} from '../record.ts';
import type { AttemptOutcome } from '../rules/delivery.ts';
import { registrationJob } from '../rules/jobs.ts';

/** A channel with its configuration in the clear: mask it before it is shown. */
export interface OpenChannel {
  readonly channel: Channel;
  readonly config: ChannelConfig;
}

export interface NewChannel extends Pick<Channel, 'name' | 'payloadStyle' | 'enabled' | 'filters'> {
  /** Null or absent: a new one. */
  readonly id?: string | null;
  readonly config: ChannelConfig;
}

export interface SaveOptions {
  /** True: the caller asks for `callbackProblem` next, which registers the callbacks; else a job registers them. */
  readonly isToldByCaller?: boolean;
}

export interface ChannelPatch {
  readonly name?: string;
  readonly enabled?: boolean;
  /** Makes the new filters of the stored ones, of which an API may show only a part. Null clears them. */
  readonly filters?: (stored: ChannelFilters | null) => ChannelFilters | null;
  /** Makes the new configuration of the stored one, whose secrets it may keep. */
  readonly config?: (stored: ChannelConfig) => ChannelConfig;
}

/** Result of a test, for the person who pressed the button: nothing that the other side wrote. */
export interface TestResult {
  readonly ok: boolean;
  readonly status: number | null;
  readonly failure: AttemptFailure | null;
  /** Addresses of the channel that the mail server refused while it accepted others. */
  readonly refused: readonly string[];
  readonly durationMs: number;
}

export interface Channels {
  list(principal: Principal, page: PageRequest): Promise<Page<OpenChannel>>;
  /** @throws HubError not_found */
  get(principal: Principal, id: string): Promise<OpenChannel>;
  /** @throws HubError forbidden, unprocessable (an address that may not be called), quota_exceeded */
  create(principal: Principal, channel: NewChannel, options?: SaveOptions): Promise<OpenChannel>;
  /** @throws HubError forbidden, not_found, unprocessable, conflict (others change it at the same time) */
  update(principal: Principal, id: string, patch: ChannelPatch, options?: SaveOptions): Promise<OpenChannel>;
  /** Removes it with its deliveries. @throws HubError forbidden, not_found */
  remove(principal: Principal, id: string): Promise<void>;
  /** Sends a test message, at most 10 s. @throws HubError forbidden, not_found */
  test(principal: Principal, id: string): Promise<TestResult>;
  /** The configuration of a stored channel. @throws HubError internal when it was sealed with another master secret */
  open(channel: Channel): OpenChannel;
  /** Registers the address of a chat bot's callbacks with its platform. @throws Error when that failed */
  register(tenantId: string, id: string, signal: AbortSignal): Promise<void>;
  /**
   * Registers the callbacks of a chat bot at once, at most 10 s, in place of the job that the save added. The job stays
   * where trying again may help, and where the process dies before the platform has answered.
   * @returns why presses of its buttons do not come back yet, as a sentence; null: they do, or it has none
   */
  callbackProblem(open: OpenChannel): Promise<string | null>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'jobs' | 'messengers' | 'log' | 'settings'>;

/** Configurations kept in the clear in memory, and for how long, in milliseconds: strangers may have them opened. */
const maxOpenConfigs = 1000;
const openConfigMs = 10 * minuteMs;
const updateTries = 5;
/** Delay of the job, in milliseconds: a caller that registers the callbacks at once takes at most 10 s. */
const firstTryMs = 15_000;
const removedAtOnce = 1000;

const absent = (): HubError => notFound('Notification channel not found.');

class NotificationChannels implements Channels {
  readonly #ports: Ports;
  // By the sealed text: a changed configuration is sealed again, on every node.
  readonly #openConfigs = new BoundedMap<ChannelConfig>(maxOpenConfigs);
  /** Platforms call https addresses alone; on this machine a test may play one. */
  readonly #isReachable: boolean;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#isReachable =
      ports.settings.baseUrl.startsWith('https:') || ports.settings.chatBotUrl.startsWith('http:');
  }

  async list({ tenantId }: Principal, page: PageRequest): Promise<Page<OpenChannel>> {
    const { items, more } = await this.#ports.store.channels.list(tenantId, page);
    return { items: items.map((channel) => this.open(channel)), more };
  }

  get({ tenantId }: Principal, id: string): Promise<OpenChannel> {
    return this.#find(tenantId, id);
  }

  async create(
    principal: Principal,
    { config, id, ...fields }: NewChannel,
    options: SaveOptions = {},
  ): Promise<OpenChannel> {
    requireRole(principal, 'admin');
    await this.#checkAddresses(config);
    const now = this.#ports.clock.now();
    const channel: Channel = {
      ...fields,
      id: id ?? this.#ports.secrets.uuid(),
      tenantId: principal.tenantId,
      kind: config.kind,
      sealedConfig: this.#seal(config),
      revision: 1,
      createdAt: now,
      updatedAt: now,
      lastTestAt: null,
      lastTestOk: null,
    };
    const recorded = noted(this.#ports, principal, {
      action: 'channel.created',
      subject: { id: channel.id, name: channel.name },
      summary: `Notification channel '${channel.name}' was created.`,
      details: { ...detailsOf(channel), ...changeBy(this.#ports, null, fieldsOf(channel)) },
    });
    if ((await recorded.channels.create(channel, maxChannels)) === 'full') {
      throw new HubError(
        'quota_exceeded',
        `A tenant can have at most ${maxChannels} notification channels. Delete one first.`,
      );
    }
    await this.#registerSoon({ channel, config }, options);
    return { channel, config };
  }

  async update(
    principal: Principal,
    id: string,
    patch: ChannelPatch,
    options: SaveOptions = {},
  ): Promise<OpenChannel> {
    requireRole(principal, 'admin');
    for (let attempt = 0; attempt < updateTries; attempt++) {
      const stored = await this.#find(principal.tenantId, id);
      const config = patch.config ? patch.config(stored.config) : stored.config;
      // A channel that is switched on again may have an address that is no longer allowed.
      if (patch.config || patch.enabled === true) await this.#checkAddresses(config);
      const channel: Channel = {
        ...stored.channel,
        name: patch.name ?? stored.channel.name,
        enabled: patch.enabled ?? stored.channel.enabled,
        filters: patch.filters ? patch.filters(stored.channel.filters) : stored.channel.filters,
        sealedConfig: patch.config ? this.#seal(config) : stored.channel.sealedConfig,
        revision: stored.channel.revision + 1,
        updatedAt: this.#ports.clock.now(),
      };
      const outcome = await noted(this.#ports, principal, {
        action: 'channel.updated',
        subject: { id, name: channel.name },
        summary: `Notification channel '${channel.name}' was changed.`,
        details: {
          ...detailsOf(channel),
          changed: Object.keys(patch),
          ...changeBy(this.#ports, fieldsOf(stored.channel), fieldsOf(channel)),
        },
      }).channels.update(channel);
      if (outcome === 'absent') throw absent();
      if (outcome !== 'stale') {
        await this.#registerSoon({ channel, config }, options);
        await this.#moveCallbacks(stored, { channel, config });
        return { channel, config };
      }
    }
    throw new HubError(
      'conflict',
      'Another request changed this notification channel. Read it again, then repeat the change.',
    );
  }

  async remove(principal: Principal, id: string): Promise<void> {
    requireRole(principal, 'admin');
    const removed = await noted(this.#ports, principal, {
      action: 'channel.deleted',
      subject: { id },
      summary: 'A notification channel was deleted.',
      fromAnswer: { name: 'name', kind: 'kind' },
    }).channels.remove(principal.tenantId, id);
    if (!removed) throw absent();
    while (
      (await this.#ports.store.deliveries.removeOfChannel(principal.tenantId, id, removedAtOnce)) ===
      removedAtOnce
    );
    await this.#moveCallbacks(this.#openIfKept(removed), null);
  }

  async test(principal: Principal, id: string): Promise<TestResult> {
    const { clock, messengers, secrets, store } = this.#ports;
    requireRole(principal, 'admin');
    const { channel, config } = await this.#find(principal.tenantId, id);
    const begun = clock.monotonic();
    const outcome: AttemptOutcome = await messengers.send({
      config,
      notice: { kind: 'test', approvalId: secrets.uuid() },
      payloadStyle: channel.payloadStyle,
      deliveryId: secrets.uuid(),
    });
    const refused = (outcome.kind === 'delivered' && outcome.refused) || [];
    const ok = outcome.kind === 'delivered' && refused.length === 0;
    await store.channels.tested(principal.tenantId, id, clock.now(), ok);
    return {
      ok,
      status: outcome.status,
      failure: outcome.kind === 'failed' ? outcome.failure : null,
      refused,
      durationMs: clock.monotonic() - begun,
    };
  }

  open(channel: Channel): OpenChannel {
    const { sealedConfig } = channel;
    const now = this.#ports.clock.now();
    const cachedConfig = this.#openConfigs.get(sealedConfig, now);
    if (cachedConfig) return { channel, config: cachedConfig };
    const plain = this.#ports.secrets.unseal('channel-config', sealedConfig);
    const config = JSON.parse(Buffer.from(plain).toString()) as ChannelConfig;
    this.#openConfigs.set(sealedConfig, config, now + openConfigMs);
    return { channel, config };
  }

  async register(tenantId: string, id: string, signal: AbortSignal): Promise<void> {
    const { store, messengers, settings } = this.#ports;
    const channel = await store.channels.get(tenantId, id);
    if (!channel?.enabled) return;
    const { config } = this.open(channel);
    if (config.kind !== 'chatBot') return;
    const outcome = await messengers.register(config, callbackOf(settings.baseUrl, channel), signal);
    if (outcome.kind === 'delivered') return;
    this.#ports.log.warn(
      { channel: id, status: outcome.status },
      'cannot register the callback address of a chat bot',
    );
    if (outcome.mayRetry) throw new Error(`the platform answered with ${outcome.failure}`);
  }

  async callbackProblem({ channel, config }: OpenChannel): Promise<string | null> {
    const { messengers, settings, jobs } = this.#ports;
    if (config.kind !== 'chatBot' || !channel.enabled) return null;
    if (!this.#isReachable) {
      return 'Its buttons do not work, because BASE_URL is not an https address that the platform can call.';
    }
    const outcome = await messengers.register(config, callbackOf(settings.baseUrl, channel));
    const isOver = outcome.kind === 'delivered' || !outcome.mayRetry;
    // A job that stays registers the callbacks once more, which changes nothing.
    const { queue, id } = registrationJob(channel, 0);
    if (isOver) await jobs.remove(queue, id).catch(() => false);
    if (outcome.kind === 'delivered') return null;
    const answer = outcome.status === null ? 'did not answer' : `answered with ${outcome.status}`;
    const next = outcome.mayRetry ? 'The hub retries.' : 'Check the bot token.';
    return `Its buttons do not work yet, because the hub could not register its callback address: the platform ${answer}. ${next}`;
  }

  #seal(config: ChannelConfig): string {
    return this.#ports.secrets.seal('channel-config', Buffer.from(JSON.stringify(config)));
  }

  /** @throws HubError unprocessable */
  async #checkAddresses(config: ChannelConfig): Promise<void> {
    try {
      await this.#ports.messengers.check(config);
    } catch (error) {
      if (error instanceof OutboundError) throw new HubError('unprocessable', error.message);
      throw error;
    }
  }

  async #registerSoon(
    { channel, config }: OpenChannel,
    { isToldByCaller = false }: SaveOptions,
  ): Promise<void> {
    if (config.kind === 'chatBot' && channel.enabled && this.#isReachable) {
      await this.#ports.jobs.add(
        registrationJob(channel, this.#ports.clock.now() + (isToldByCaller ? firstTryMs : 0)),
      );
    }
  }

  /**
   * The platform keeps one address for the presses of a bot. When a channel no longer uses the bot, the newest other
   * channel with the same token registers its own address.
   */
  async #moveCallbacks(before: OpenChannel | null, after: OpenChannel | null): Promise<void> {
    const { store, jobs, clock } = this.#ports;
    if (before?.config.kind !== 'chatBot' || !before.channel.enabled || !this.#isReachable) return;
    const { channel, config } = before;
    const usesBot = (open: OpenChannel | null): boolean =>
      open?.channel.enabled === true &&
      open.config.kind === 'chatBot' &&
      open.config.botToken === config.botToken;
    if (usesBot(after)) return;
    const others = (await store.channels.listEnabled(channel.tenantId)).filter(({ id }) => id !== channel.id);
    const next = others.findLast((other) => other.kind === 'chatBot' && usesBot(this.#openIfKept(other)));
    if (!next) return;
    // Of an id that no job for a save of this channel has: one of these may be dead.
    const job = registrationJob(next, clock.now());
    await jobs.add({ ...job, id: `${job.id}/${channel.id}/${channel.revision}` });
  }

  /** Null if it was sealed with another master secret. */
  #openIfKept(channel: Channel): OpenChannel | null {
    try {
      return this.open(channel);
    } catch {
      return null;
    }
  }

  async #find(tenantId: string, id: string): Promise<OpenChannel> {
    const channel = await this.#ports.store.channels.get(tenantId, id);
    if (!channel) throw absent();
    return this.open(channel);
  }
}

export const createChannels = (ports: Ports): Channels => new NotificationChannels(ports);

/** Fields of a channel that a person chooses, without its configuration: the configuration may hold secrets. */
const fieldsOf = ({ name, enabled, filters, payloadStyle }: Channel) => ({
  name,
  enabled,
  filters,
  payloadStyle,
});

/** Details of a channel for records, without its configuration. */
const detailsOf = ({ kind, enabled, payloadStyle }: Channel) => ({
  kind,
  enabled,
  payloadStyle,
});

/** Address to which the platform sends presses of buttons. */
const callbackOf = (baseUrl: string, { id, payloadStyle }: Channel): string =>
  `${baseUrl}${payloadStyle === 'hosted' ? '/v1' : '/api/v1'}/chat_bot/webhook/${id}`;

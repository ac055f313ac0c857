// Decisions made in a chat: whose channel a callback is of, who may decide there, and what became of the approval.
// Keeps promise P56.

import type { Approval } from '../../approval/record.ts';
import { approvalLink } from '../../approval/rules/link.ts';
import { asSeen } from '../../approval/rules/state.ts';
import type { Approvals } from '../../approval/use-cases.ts';
import { turns } from '../../shared/concurrency/event-loop-budget.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import {
  type ChannelConfig,
  type ChannelKind,
  type ConfigOf,
  type Delivery,
  notifiedCallOf,
  wants,
} from '../record.ts';
import type { Notice } from '../rules/notice.ts';
import type { Channels, OpenChannel } from './channels.ts';

/** A button that somebody pressed. */
export interface Press {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly userId: string;
  readonly userName: string | null;
  /** The platform's id of the chat where the button is. Null: the callback does not name it. */
  readonly chatId: string | null;
}

export type PressResult =
  | { readonly kind: 'decided' | 'already'; readonly approval: Approval }
  /** Nothing that this channel may decide: there is no such approval, or it is not for this channel. */
  | { readonly kind: 'unknown' }
  /** The channel's list of people does not name this one. */
  | { readonly kind: 'forbidden' };

export interface OpenWith<K extends ChannelKind> extends OpenChannel {
  readonly config: ConfigOf<K>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'settings'> & {
  readonly channels: Pick<Channels, 'open'>;
  readonly approvals: Pick<Approvals, 'decide'>;
};

/** Channels whose public keys are tried where no approval leads to some. */
const maxTriedKeys = 200;
/** A check of a signature, as bytes of other work (shared/concurrency/event-loop-budget.ts): about 0.1 ms. */
const signatureCost = 16 * 1024;
/** Deliveries of one approval: as many as a tenant may have channels, three times. */
const maxOfApproval = 300;
const maxName = 200;
/** Milliseconds: how long a callback is remembered, and after which one whose node died is carried out again. */
const rememberedMs = dayMs;
const runsMs = 10_000;

const isOf = <K extends ChannelKind>(config: ChannelConfig, kind: K): config is ConfigOf<K> =>
  config.kind === kind;

/** True if a person may decide in this chat. Without a list, everybody in the chat may. */
function mayDecide(config: ChannelConfig, userId: string): boolean {
  const allowed = 'allowedUserIds' in config ? config.allowedUserIds : null;
  return allowed === null || allowed.length === 0 || allowed.includes(userId);
}

/** A channel that an approval's request was sent to. */
interface Recipient extends OpenChannel {
  readonly request: Delivery;
}

/** The platform's id of the chat that the request stands in; null where the platform has not named it. */
function chatIdOf({ config, request: { messageId } }: Recipient): string | null {
  switch (config.kind) {
    case 'chatBot':
      return config.chatId;
    case 'communityChat':
      return config.channel;
    // Its channel may be a name: the id stands in front of the message's.
    case 'workspaceChatApp':
      return messageId?.slice(0, messageId.indexOf(':')) ?? null;
    default:
      return null;
  }
}

/** A person of a chat: decides as an approver, in the approval's environment alone. */
const chatPrincipal = ({ tenantId, env }: Approval, id: string, display: string): Principal => ({
  tenantId,
  env,
  roles: new Set(['approver', 'viewer']),
  envRoles: null,
  actor: { kind: 'chat', id, display },
  agentId: null,
  agentPattern: null,
});

export class ChatDecisions {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** The enabled channel of this id and kind; null when there is none. */
  async channel<K extends ChannelKind>(id: string, kind: K): Promise<OpenWith<K> | null> {
    return this.#openAs(await this.#ports.store.channels.getById(id), kind);
  }

  /**
   * The tenant's enabled channels of a bot in a chat. The platform keeps one address for the presses of a bot: a press
   * can come to another channel with the same token.
   * @param chatId null: the callback does not name it
   */
  async botChannels(
    { channel: { tenantId }, config: { botToken } }: OpenWith<'chatBot'>,
    chatId: string | null,
  ): Promise<readonly OpenWith<'chatBot'>[]> {
    const enabled = await this.#ports.store.channels.listEnabled(tenantId);
    return enabled.flatMap((channel) => {
      const open = this.#openAs(channel, 'chatBot');
      return open?.config.botToken === botToken && open.config.chatId === chatId ? [open] : [];
    });
  }

  /**
   * The enabled channels of a kind that the approval was sent to and whose signature fits; no other configuration is
   * opened. Several where channels share what signs. Empty: the callback proves nothing.
   */
  async signedChannels<K extends ChannelKind>(
    kind: K,
    approvalId: string,
    isSigned: (config: ConfigOf<K>) => boolean,
  ): Promise<readonly OpenWith<K>[]> {
    const requests = await this.#requestsOf(approvalId);
    const open: OpenWith<typeof kind>[] = [];
    for (const channelId of new Set(requests.map((request) => request.channelId))) {
      const candidate = this.#openAs(await this.#ports.store.channels.getById(channelId), kind);
      if (candidate && isSigned(candidate.config)) open.push(candidate);
    }
    return open;
  }

  /**
   * True if a community chat's callback without an approval is signed for one of the 200 newest channels. It tries
   * every public key once, a few in each turn of the event loop.
   */
  async someChannelSigned(isSigned: (publicKey: string) => boolean): Promise<boolean> {
    const publicKeys = new Set<string>();
    for (const channel of await this.#ports.store.channels.listEnabledOfKind('communityChat', maxTriedKeys)) {
      const publicKey = this.#openAs(channel, 'communityChat')?.config.publicKey;
      if (publicKey) publicKeys.add(publicKey.toLowerCase());
    }
    for (const publicKey of publicKeys) {
      await turns.next(signatureCost);
      if (isSigned(publicKey)) return true;
    }
    return false;
  }

  /**
   * Decides in the channel's tenant, as a person in the console does. A press counts in a channel that the approval was
   * sent to and whose filters still pass it. The channel's list must allow the person. A press that comes twice changes
   * nothing.
   * @param open those of `signedChannels` or `botChannels`
   * @param via labels the platform in records
   * @throws HubError overloaded, unavailable
   */
  async press(open: readonly OpenChannel[], press: Press, via: string): Promise<PressResult> {
    const { store, clock, approvals } = this.#ports;
    const { approvalId, approved, userId, userName } = press;
    const [first] = open;
    if (!first) return { kind: 'unknown' };
    const approval = await store.approvals.get(first.channel.tenantId, approvalId);
    const pressedIn = approval
      ? await this.#inChat(await this.#recipientsOf(approval, open), press.chatId)
      : [];
    if (!approval || pressedIn.length === 0) return { kind: 'unknown' };
    // Channels that share a signature cannot always be told apart: then their strictest list counts.
    if (!pressedIn.every(({ config }) => mayDecide(config, userId))) return { kind: 'forbidden' };
    const name = (userName || userId).replace(/\p{Cc}+/gu, ' ').slice(0, maxName);
    const principal = chatPrincipal(approval, `${via}:${userId}`.slice(0, maxName), `${via}:${name}`);
    try {
      const decision = { approved, reason: null, decidedVia: via };
      return { kind: 'decided', approval: await approvals.decide(principal, approvalId, decision) };
    } catch (error) {
      if (!(error instanceof HubError) || (error.code !== 'conflict' && error.code !== 'not_found'))
        throw error;
      const now = await store.approvals.get(approval.tenantId, approvalId);
      return now ? { kind: 'already', approval: asSeen(now, clock.now()) } : { kind: 'unknown' };
    }
  }

  /**
   * Carries out what a callback asks, unless one of the same id was carried out for this channel within 24 hours, on
   * any node: then null. One that failed, or whose node died, is carried out when it comes again.
   * @param updateId the platform's; null: it names none, and is carried out
   */
  async once<T>(
    { channel: { id, tenantId } }: OpenChannel,
    updateId: string | null,
    work: () => Promise<T>,
  ): Promise<T | null> {
    const { secrets, clock, store } = this.#ports;
    if (updateId === null) return work();
    const update = {
      tenantId,
      id: secrets.sha256(JSON.stringify(['callback', id, updateId])),
      bodyHash: '',
    };
    const now = clock.now();
    const times = { now, runsUntil: now + runsMs, expiresAt: now + rememberedMs };
    const claim = await store.idempotency.claim(update, secrets.uuid(), times);
    if (claim.kind === 'answered') return null;
    // While the first still runs nobody knows how it ends, and a decision that comes twice changes nothing.
    if (claim.kind !== 'claimed') return work();
    try {
      const result = await work();
      await store.idempotency.answered(update, claim.newId, { status: 200, headers: {}, json: null });
      return result;
    } catch (error) {
      await store.idempotency.release(update, claim.newId, clock.now());
      throw error;
    }
  }

  /** New content of the message. Null: this person may not decide. */
  noticeOf(result: PressResult): Notice | null {
    if (result.kind === 'forbidden') return null;
    if (result.kind === 'unknown') return { kind: 'unknown' };
    const { approval } = result;
    const link = approvalLink(this.#ports.settings.baseUrl, approval);
    return approval.status === 'timeout'
      ? { kind: 'expired', approval, link, messageId: '' }
      : { kind: 'decided', approval, link, messageId: null };
  }

  #openAs<K extends ChannelKind>(
    channel: Parameters<Channels['open']>[0] | null,
    kind: K,
  ): OpenWith<K> | null {
    if (!channel?.enabled || channel.kind !== kind) return null;
    const { config } = this.#ports.channels.open(channel);
    return isOf(config, kind) ? { channel, config } : null;
  }

  /** The requests that were put on their way to channels, over all tenants. */
  async #requestsOf(approvalId: string): Promise<readonly Delivery[]> {
    const sent = await this.#ports.store.deliveries.listOfApproval(approvalId, maxOfApproval);
    return sent.filter(({ event }) => event === 'requested');
  }

  /** Channels that the approval was sent to and whose filters pass it. */
  async #recipientsOf(approval: Approval, open: readonly OpenChannel[]): Promise<readonly Recipient[]> {
    const requests = await this.#requestsOf(approval.id);
    const call = notifiedCallOf(approval);
    return open.flatMap(({ channel, config }) => {
      const { id, tenantId, filters } = channel;
      const request = requests.find((one) => one.channelId === id && one.tenantId === tenantId);
      return request && wants(filters, call) ? [{ channel, config, request }] : [];
    });
  }

  /** Recipients where a press in this chat may have been. Several where the press fits more than one. */
  async #inChat(recipients: readonly Recipient[], chatId: string | null): Promise<readonly Recipient[]> {
    const [first] = recipients;
    if (chatId === null || !first) return recipients;
    const exact = recipients.filter((recipient) => chatIdOf(recipient) === chatId);
    if (exact.length > 0) return exact;
    // A thread of a community chat has an id of its own, which is no other channel's.
    if (first.config.kind !== 'communityChat') return recipients.filter((one) => chatIdOf(one) === null);
    const others = await this.#ports.store.channels.listEnabled(first.channel.tenantId);
    const isOther = others.some((other) => this.#openAs(other, 'communityChat')?.config.channel === chatId);
    return isOther ? [] : recipients;
  }
}

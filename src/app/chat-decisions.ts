// Decisions made in a chat: whose channel a callback is of, who may decide there, and what became of the approval.
import { environmentKey } from '../../actors/protocol.ts';
import { type Approval, asSeen } from '../domain/approval.ts';
import type { ChannelConfig, ChannelKind, ConfigOf } from '../domain/channel.ts';
import { dayMs } from '../domain/duration.ts';
import { HubError } from '../domain/error.ts';
import type { Notice } from '../domain/notice.ts';
import type { Channels, OpenChannel } from './channels.ts';
import type { AppPorts } from './ports.ts';

/** A button that somebody pressed. */
export interface Press {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly userId: string;
  readonly userName: string | null;
}

export type PressResult =
  | { readonly kind: 'decided' | 'already'; readonly approval: Approval }
  /** There is no such approval in the channel's tenant. */
  | { readonly kind: 'unknown' }
  /** The channel's list of people does not name this one. */
  | { readonly kind: 'forbidden' };

export interface ChatDecisions {
  /** The enabled channel of this id and kind; null when there is none. */
  channel<K extends ChannelKind>(id: string, kind: K): Promise<OpenWith<K> | null>;
  /**
   * The channel that a signed callback is of: first those that got this approval, then any of the kind. Null when no
   * signature fits.
   * @param approvalId null for a callback that names none
   */
  signedChannel<K extends ChannelKind>(
    kind: K,
    approvalId: string | null,
    isSigned: (config: ConfigOf<K>) => boolean,
  ): Promise<OpenWith<K> | null>;
  /**
   * Decides in the channel's tenant. A press that comes twice changes nothing.
   * @param via labels the platform in records
   */
  press(channel: OpenChannel, press: Press, via: string): Promise<PressResult>;
  /**
   * Carries out what a callback asks, unless one of the same id was carried out for this channel within 24 hours, on
   * any node: then null. One that failed, or whose node died, is carried out when it comes again.
   * @param updateId the platform's; null: it names none, and is carried out
   */
  once<T>(channel: OpenChannel, updateId: string | null, work: () => Promise<T>): Promise<T | null>;
  /** What the message shows from now on. Null: this person may not decide. */
  noticeOf(result: PressResult): Notice | null;
}

export interface OpenWith<K extends ChannelKind> extends OpenChannel {
  readonly config: ConfigOf<K>;
}

type Ports = Pick<AppPorts, 'store' | 'actors' | 'secrets' | 'clock' | 'settings'> & {
  readonly channels: Pick<Channels, 'open'>;
};

/** Channels of a kind whose signatures are tried when the approval leads to none. */
const maxTried = 200;
const maxOfApproval = 300;
const maxName = 200;
/** Milliseconds: how long a callback is remembered, and after which one whose node died is carried out again. */
const rememberedMs = dayMs;
const runsMs = 10_000;

const isOf = <K extends ChannelKind>(config: ChannelConfig, kind: K): config is ConfigOf<K> =>
  config.kind === kind;

export function createChatDecisions(ports: Ports): ChatDecisions {
  const { store, actors, secrets, clock, settings } = ports;
  const { channels, deliveries, approvals, idempotency } = store;

  function openAs<K extends ChannelKind>(
    channel: Parameters<Channels['open']>[0] | null,
    kind: K,
  ): OpenWith<K> | null {
    if (!channel?.enabled || channel.kind !== kind) return null;
    const { config } = ports.channels.open(channel);
    return isOf(config, kind) ? { channel, config } : null;
  }

  async function seen({ tenantId, id }: Pick<Approval, 'tenantId' | 'id'>): Promise<Approval | null> {
    const approval = await approvals.get(tenantId, id);
    return approval && asSeen(approval, clock.now());
  }

  return {
    channel: async (id, kind) => openAs(await channels.byId(id), kind),

    async signedChannel(kind, approvalId, isSigned) {
      const tried = new Set<string>();
      const told = approvalId === null ? [] : await deliveries.ofApproval(approvalId, maxOfApproval);
      for (const { channelId } of told) {
        if (tried.has(channelId)) continue;
        tried.add(channelId);
        const open = openAs(await channels.byId(channelId), kind);
        if (open && isSigned(open.config)) return open;
      }
      for (const channel of await channels.enabledOfKind(kind, maxTried)) {
        if (tried.has(channel.id)) continue;
        const open = openAs(channel, kind);
        if (open && isSigned(open.config)) return open;
      }
      return null;
    },

    async press({ channel, config }, { approvalId, approved, userId, userName }, via) {
      const allowed = 'allowedUserIds' in config ? config.allowedUserIds : null;
      if (allowed !== null && allowed.length > 0 && !allowed.includes(userId)) return { kind: 'forbidden' };
      const { tenantId } = channel;
      const approval = await approvals.get(tenantId, approvalId);
      if (!approval) return { kind: 'unknown' };
      const name = (userName || userId).replace(/\p{Cc}+/gu, ' ').slice(0, maxName);
      try {
        const decided = await actors.ask(
          'environment',
          environmentKey(tenantId, approval.env),
          'decideApproval',
          {
            id: approvalId,
            decision: {
              id: secrets.uuid(),
              approved,
              decidedBy: `${via}:${name}`,
              reason: null,
              decidedVia: via,
            },
            actor: { type: 'chat', id: `${via}:${userId}`.slice(0, maxName), display: `${via}:${name}` },
          },
        );
        return { kind: 'decided', approval: decided };
      } catch (error) {
        if (!(error instanceof HubError) || (error.code !== 'conflict' && error.code !== 'not_found'))
          throw error;
        const now = await seen(approval);
        return now ? { kind: 'already', approval: now } : { kind: 'unknown' };
      }
    },

    async once({ channel: { id, tenantId } }, updateId, work) {
      if (updateId === null) return work();
      const update = {
        tenantId,
        id: secrets.sha256(JSON.stringify(['callback', id, updateId])),
        bodyHash: '',
      };
      const now = clock.now();
      const times = { now, runsUntil: now + runsMs, expiresAt: now + rememberedMs };
      const claim = await idempotency.claim(update, secrets.uuid(), times);
      if (claim.kind === 'answered') return null;
      // While the first still runs nobody knows how it ends, and a decision that comes twice changes nothing.
      if (claim.kind !== 'claimed') return work();
      try {
        const result = await work();
        await idempotency.answered(update, claim.newId, { status: 200, headers: {}, json: null });
        return result;
      } catch (error) {
        await idempotency.release(update, claim.newId, clock.now());
        throw error;
      }
    },

    noticeOf(result) {
      if (result.kind === 'forbidden') return null;
      if (result.kind === 'unknown') return { kind: 'unknown' };
      const { approval } = result;
      const link = `${settings.baseUrl}/dashboard/approvals?id=${approval.id}`;
      return approval.status === 'timeout'
        ? { kind: 'expired', approval, link, messageId: '' }
        : { kind: 'decided', approval, link, messageId: null };
    },
  };
}

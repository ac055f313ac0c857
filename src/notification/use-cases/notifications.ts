// Notifications about approvals: matching channels, attempts and their log. The store contains the state of deliveries,
// and jobs only trigger checks. Every step can be repeated, because a process may die between any two. Keeps promise
// P57.

import { admissionTable } from '../../admission/table.ts';
import type { Approval } from '../../approval/record.ts';
import { approvalLink } from '../../approval/rules/link.ts';
import { isDue } from '../../approval/rules/state.ts';
import { noted } from '../../audit/note.ts';
import { requireRole, seesEnv, visibleEnvs } from '../../shared/access.ts';
import { Lanes } from '../../shared/concurrency/lanes.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { uuidOfDigest } from '../../shared/ids.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { type Principal, systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { visiblePage } from '../../shared/visible-page.ts';
import { toolLink } from '../../tool/rules/link.ts';
import { envOfDelivery } from '../port/channels.ts';
import {
  type Channel,
  type Delivery,
  type DeliveryEvent,
  type DeliveryStatus,
  isInteractive,
  notifiedCallOf,
  wants,
} from '../record.ts';
import { afterAttempt, again, ended, endsWithApproval, giveUpMs } from '../rules/delivery.ts';
import { type DeliveryAttempt, deliveryJob, type FanOut, putOffJob, type ToolChange } from '../rules/jobs.ts';
import type { Notice } from '../rules/notice.ts';
import type { Channels } from './channels.ts';

export interface Notifications {
  /** Puts the messages about an approval in this status on their way. Safe to repeat. */
  fanOut(job: FanOut): Promise<void>;
  /** Puts the notifications of a new definition on their way. Safe to repeat. */
  fanOutToolChange(job: ToolChange): Promise<void>;
  /**
   * Makes an attempt, unless it was made. Safe to repeat; a receiver may then get the message twice.
   * @throws when the signal ended it
   */
  attempt(job: DeliveryAttempt, signal: AbortSignal): Promise<void>;
  /**
   * Newest first, without those about another environment's approvals and tools; `more` counts these too.
   * @throws HubError not_found (no such channel)
   */
  listDeliveries(
    principal: Principal,
    channelId: string,
    filter: { readonly status?: DeliveryStatus },
    page: PageRequest,
  ): Promise<Page<Delivery>>;
  /** Sends a delivery once more, unless it is on its way. @throws HubError forbidden, not_found, conflict */
  replay(principal: Principal, channelId: string, id: string): Promise<Delivery>;
}

type Ports = Pick<
  AppPorts,
  'store' | 'secrets' | 'clock' | 'jobs' | 'messengers' | 'log' | 'settings' | 'meters'
> & {
  readonly channels: Pick<Channels, 'open'>;
};

/** Deliveries of one approval: as many as a tenant may have channels, three times. */
const maxOfApproval = 1000;
/** Definitions of a server that a message counts. */
const maxCounted = 1000;
/** An attempt that took longer makes its channel a slow one. */
const slowMs = 2000;

const [{ atOnce, waiting }] = admissionTable.channelAttempts.bounds;
const [{ waiting: waitingWhenSlow }] = admissionTable.slowChannelAttempts.bounds;

/** The message about an ended approval; null for none. */
function eventOfEnd(
  { status }: Approval,
  { kind, payloadStyle }: Channel,
  { messageId }: Delivery,
): DeliveryEvent | null {
  if (status === 'timeout') return isInteractive(kind) && messageId !== null ? 'expired' : null;
  // The hosted API's webhooks receive requests alone.
  return kind === 'webhook' && payloadStyle === 'hosted' ? null : 'decided';
}

const inProgress = () =>
  new HubError('conflict', 'This delivery is already in progress. Wait for its result.');

class ChannelNotifications implements Notifications {
  readonly #ports: Ports;
  readonly #lanes = new Lanes({ running: atOnce, waiting, waitingWhenSlow });

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async fanOut({ tenantId, approvalId, status }: FanOut): Promise<void> {
    const { store, clock } = this.#ports;
    const approval = await store.approvals.get(tenantId, approvalId);
    if (!approval) return;
    if (status === 'pending') {
      if (approval.status !== 'pending' || isDue(approval, clock.now())) return;
      const call = notifiedCallOf(approval);
      const wanting = (await store.channels.listEnabled(tenantId)).filter(({ filters }) =>
        wants(filters, call),
      );
      await Promise.all(wanting.map((channel) => this.#send(channel, approval, 'requested', null)));
      return;
    }
    if (approval.status === 'pending') return;
    for (const request of await store.deliveries.listOfApproval(approvalId, maxOfApproval)) {
      if (request.tenantId !== tenantId || request.event !== 'requested') continue;
      if (request.status === 'delivered') await this.#tellEnd(approval, request);
      else if (request.status === 'waiting' && endsWithApproval(request))
        await this.#finish(request, 'expired');
    }
  }

  async fanOutToolChange({ tenantId, definitionId }: ToolChange): Promise<void> {
    const entry = await this.#ports.store.tools.get(tenantId, definitionId);
    if (!entry) return;
    const [agent] = entry.agents;
    const call = { env: entry.env, agentId: agent?.agentId ?? '', contractNames: [], rulesetName: null };
    const wanting = (await this.#ports.store.channels.listEnabled(tenantId)).filter(
      ({ filters, kind, payloadStyle }) =>
        wants(filters, call) && !(kind === 'webhook' && payloadStyle === 'hosted'),
    );
    const subject = { id: definitionId, deadline: 0 };
    await Promise.all(
      wanting.map((channel) => this.#send(channel, subject, 'tool_definition_changed', null)),
    );
  }

  async attempt(job: DeliveryAttempt, signal: AbortSignal): Promise<void> {
    const { store, jobs, clock } = this.#ports;
    const delivery = await store.deliveries.get(job.tenantId, job.id);
    if (!delivery || delivery.run !== job.run) return;
    if (delivery.attempts > job.attempts) {
      // The attempt was made, and then the process died: what comes after it may not have been put on its way.
      if (delivery.status === 'waiting') await jobs.add(deliveryJob(delivery));
      else if (delivery.status === 'delivered' && delivery.event === 'requested')
        await this.#followUp(delivery);
      return;
    }
    if (delivery.status !== 'waiting') return;
    const channel = await store.channels.get(job.tenantId, delivery.channelId);
    if (!channel?.enabled) {
      await this.#finish(delivery, 'dead');
      return;
    }
    const turn = this.#lanes.enter(channel.id);
    if (turn === null) return jobs.add(putOffJob(job, clock.now(), clock.random()));
    await turn;
    let slow = false;
    try {
      if (signal.aborted) throw new Error('interrupted');
      slow = await this.#attemptNow(channel, delivery, signal);
    } finally {
      this.#lanes.leave(channel.id, slow);
    }
  }

  async listDeliveries(
    principal: Principal,
    channelId: string,
    filter: { readonly status?: DeliveryStatus },
    page: PageRequest,
  ): Promise<Page<Delivery>> {
    const { id } = await this.#find(principal, channelId);
    const list = (part: PageRequest) =>
      this.#ports.store.deliveries.list(principal.tenantId, id, filter, part);
    if (visibleEnvs(principal) === null) return list(page);
    const isVisible = async (delivery: Delivery): Promise<boolean> => {
      const env = await envOfDelivery(this.#ports.store, delivery);
      return env !== null && seesEnv(principal, env);
    };
    return visiblePage(list, isVisible, page);
  }

  async replay(principal: Principal, channelId: string, id: string): Promise<Delivery> {
    const { store, clock, jobs } = this.#ports;
    requireRole(principal, 'admin');
    const channel = await this.#find(principal, channelId);
    const delivery = await store.deliveries.get(principal.tenantId, id);
    if (!delivery || delivery.channelId !== channel.id) throw notFound('Delivery not found.');
    if (await this.#isOnItsWay(delivery)) throw inProgress();
    if (!channel.enabled) {
      throw new HubError('conflict', 'The notification channel is disabled. Enable it first.');
    }
    const now = clock.now();
    if (delivery.event === 'requested' && isInteractive(channel.kind)) {
      const approval = await store.approvals.get(principal.tenantId, delivery.approvalId);
      if (approval?.status !== 'pending' || isDue(approval, now)) {
        throw new HubError(
          'conflict',
          'The approval is decided or has expired, so nobody can decide it in a chat.',
        );
      }
    }
    const next = again(delivery, now);
    if (!(await store.deliveries.update(next, delivery))) throw inProgress();
    await jobs.add(deliveryJob(next));
    return next;
  }

  /**
   * False for a delivery that waits without a job: the process died between the two, or the job was refused. A delivery
   * that was put off has a job of another id. Its replay has another run, so that job sends nothing.
   */
  async #isOnItsWay(delivery: Delivery): Promise<boolean> {
    if (delivery.status !== 'waiting') return false;
    const { queue, id } = deliveryJob(delivery);
    const job = await this.#ports.jobs.find(queue, id);
    return job !== null && job.state !== 'dead';
  }

  /** The same for a repeat, so that nothing is put on its way twice. */
  #idOf(channelId: string, approvalId: string, event: DeliveryEvent): string {
    return uuidOfDigest(this.#ports.secrets.sha256(`${channelId}/${approvalId}/${event}`));
  }

  /** @param subject the approval, or for `tool_definition_changed` the definition, which has no deadline */
  async #send(
    channel: Channel,
    subject: Pick<Approval, 'id' | 'deadline'>,
    event: DeliveryEvent,
    messageId: string | null,
  ): Promise<void> {
    const { clock, store, jobs } = this.#ports;
    const now = clock.now();
    const delivery = await store.deliveries.create({
      id: this.#idOf(channel.id, subject.id, event),
      tenantId: channel.tenantId,
      channelId: channel.id,
      approvalId: subject.id,
      event,
      status: 'waiting',
      attempts: 0,
      run: 1,
      nextAt: now,
      giveUpAt: event === 'requested' ? subject.deadline : now + giveUpMs,
      createdAt: now,
      updatedAt: now,
      messageId,
      log: [],
    });
    if (delivery.status === 'waiting') await jobs.add(deliveryJob(delivery));
  }

  /** Tells a channel that got the request how it ended. */
  async #tellEnd(approval: Approval, request: Delivery): Promise<void> {
    const channel = await this.#ports.store.channels.get(request.tenantId, request.channelId);
    if (!channel?.enabled) return;
    const event = eventOfEnd(approval, channel, request);
    if (event !== null) await this.#send(channel, approval, event, request.messageId);
  }

  #noticeOf(delivery: Delivery, approval: Approval): Notice {
    const link = approvalLink(this.#ports.settings.baseUrl, approval);
    const { event, messageId } = delivery;
    if (event === 'requested') return { kind: 'requested', approval, link };
    if (event === 'expired' && messageId !== null) return { kind: 'expired', approval, link, messageId };
    return { kind: 'decided', approval, link, messageId };
  }

  /** Null if the definition is gone, or if the delivery is about an approval. */
  async #toolNotice({ tenantId, approvalId: id, event }: Delivery): Promise<Notice | null> {
    const { store, settings } = this.#ports;
    if (event !== 'tool_definition_changed') return null;
    const entry = await store.tools.get(tenantId, id);
    if (!entry) return null;
    const { env, server } = entry;
    const { mode } = await store.tools.getPins(tenantId, env, server);
    const { items } = await store.tools.listEntries(
      tenantId,
      { env, server },
      { limit: maxCounted, offset: 0 },
    );
    const undecided = items.filter(({ ruling }) => ruling === null).length;
    const link = toolLink(settings.baseUrl, id);
    return { kind: 'toolChanged', entry, undecided, isWaiting: mode !== 'observe', link };
  }

  #finish(delivery: Delivery, status: 'dead' | 'expired'): Promise<boolean> {
    return this.#ports.store.deliveries.update(ended(delivery, status, this.#ports.clock.now()), delivery);
  }

  /** False if something else changed the delivery. A request that arrived is delivered, although its approval ended. */
  async #record(next: Delivery, before: Delivery): Promise<boolean> {
    const { deliveries } = this.#ports.store;
    if (await deliveries.update(next, before)) return true;
    return next.status === 'delivered' && deliveries.update(next, { ...before, status: 'expired' });
  }

  /** Makes one attempt and writes down how it ended. True when the channel was slow. */
  async #attemptNow(channel: Channel, delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    const { clock, store, meters, messengers, log, jobs } = this.#ports;
    const { tenantId, approvalId } = delivery;
    const startedAt = clock.now();
    const isAboutTool = delivery.event === 'tool_definition_changed';
    const approval = isAboutTool ? null : await store.approvals.getWhole(tenantId, approvalId);
    const notice = approval ? this.#noticeOf(delivery, approval) : await this.#toolNotice(delivery);
    if (!notice) {
      if (await this.#finish(delivery, 'dead')) meters.deliveries.add([channel.kind, 'dead']);
      return false;
    }
    const isOver = approval !== null && (approval.status !== 'pending' || isDue(approval, startedAt));
    if (isOver && endsWithApproval(delivery)) {
      if (await this.#finish(delivery, 'expired')) meters.deliveries.add([channel.kind, 'expired']);
      return false;
    }
    const begun = clock.monotonic();
    const outcome = await messengers.send({
      config: this.#ports.channels.open(channel).config,
      notice,
      payloadStyle: channel.payloadStyle,
      deliveryId: delivery.id,
      signal,
    });
    const durationMs = Math.round(clock.monotonic() - begun);
    const times = { startedAt, endedAt: startedAt + durationMs, random: clock.random() };
    const next = afterAttempt(delivery, outcome, times);
    const about = { channel: channel.id, delivery: delivery.id, attempts: next.attempts };
    if (await this.#record(next, delivery)) {
      meters.deliveries.add([channel.kind, next.status === 'waiting' ? 'retried' : next.status]);
      if (next.status === 'dead') log.warn({ ...about, outcome }, 'gave up on a notification');
      if (outcome.kind === 'delivered' && outcome.refused) {
        log.warn({ ...about, refused: outcome.refused.length }, 'the mail server refused some addresses');
      }
      if (next.status === 'waiting') await jobs.add(deliveryJob(next));
    }
    if (outcome.kind === 'failed' && outcome.failure === 'channel_gone') {
      const recorded = noted(this.#ports, systemPrincipal(tenantId, 'notifications'), {
        action: 'channel.disabled',
        subject: { id: channel.id, name: channel.name },
        summary: `Notification channel '${channel.name}' was disabled, because its receiver no longer exists.`,
      });
      const { revision } = channel;
      const done = await recorded.channels.disable(tenantId, channel.id, revision, clock.now());
      if (done) log.warn(about, 'disabled a notification channel: its receiver no longer exists');
    }
    if (next.status === 'delivered' && delivery.event === 'requested') await this.#followUp(next);
    return outcome.kind === 'failed' || durationMs > slowMs;
  }

  /** The approval may have ended while its request was on its way. */
  async #followUp(request: Delivery): Promise<void> {
    const approval = await this.#ports.store.approvals.get(request.tenantId, request.approvalId);
    if (approval && approval.status !== 'pending') await this.#tellEnd(approval, request);
  }

  async #find({ tenantId }: Principal, channelId: string): Promise<Channel> {
    const channel = await this.#ports.store.channels.get(tenantId, channelId);
    if (!channel) throw notFound('Notification channel not found.');
    return channel;
  }
}

export const createNotifications = (ports: Ports): Notifications => new ChannelNotifications(ports);

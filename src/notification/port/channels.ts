// Store ports of notification channels and of what is on its way to them.

import type { ApprovalStore } from '../../approval/port.ts';
import type { Env } from '../../shared/ids.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { ToolStore } from '../../tool/port.ts';
import type { Channel, ChannelKind, Delivery, DeliveryStatus } from '../record.ts';

/** Notification channels of a tenant. */
export interface ChannelStore {
  /**
   * `full` when the tenant has `max` channels; where nodes share the store, parallel calls may exceed it by what they
   * bring.
   * @throws HubError conflict when its id is taken
   */
  create(channel: Channel, max: number): Promise<'created' | 'full'>;
  /** Newest first. */
  list(tenantId: string, page: PageRequest): Promise<Page<Channel>>;
  get(tenantId: string, id: string): Promise<Channel | null>;
  /** For callbacks, which name no tenant. */
  getById(id: string): Promise<Channel | null>;
  /** Enabled ones, oldest first. */
  listEnabled(tenantId: string): Promise<readonly Channel[]>;
  anyEnabled(tenantId: string): Promise<boolean>;
  /** Enabled ones of a kind over all tenants, newest first. */
  listEnabledOfKind(kind: ChannelKind, limit: number): Promise<readonly Channel[]>;
  /**
   * Writes what people set (name, enabled, filters, configuration) as `channel` has it, while the stored revision is
   * one below its own. Answers the channel as it is stored then. A repeat after success is `stale`.
   */
  update(channel: Channel): Promise<Channel | 'stale' | 'absent'>;
  /** Disables it and raises its revision, if that is still `revision`: true when this call did it. */
  disable(tenantId: string, id: string, revision: number, now: number): Promise<boolean>;
  /** Notes how the last test went. Safe to repeat. */
  tested(tenantId: string, id: string, at: number, ok: boolean): Promise<void>;
  /** The channel that was removed, null when there is none. */
  remove(tenantId: string, id: string): Promise<Channel | null>;
}

/** Deliveries: one approval to one channel each. */
export interface DeliveryStore {
  /** Safe to repeat: an id that exists answers the stored one. */
  create(delivery: Delivery): Promise<Delivery>;
  get(tenantId: string, id: string): Promise<Delivery | null>;
  /**
   * Replaces it while the stored one still has the run, attempts and status of `before`: false otherwise. Of parallel
   * calls one succeeds.
   */
  update(delivery: Delivery, before: Pick<Delivery, 'run' | 'attempts' | 'status'>): Promise<boolean>;
  /** All of an approval, over all tenants, at most `limit`. */
  listOfApproval(approvalId: string, limit: number): Promise<readonly Delivery[]>;
  /** Newest first. */
  list(
    tenantId: string,
    channelId: string,
    filter: { readonly status?: DeliveryStatus },
    page: PageRequest,
  ): Promise<Page<Delivery>>;
  /** Removes those of a channel, at most `limit`; returns how many. */
  removeOfChannel(tenantId: string, channelId: string, limit: number): Promise<number>;
}

/** The environment of the approval or tool definition that a delivery is about; null if that is removed. */
export async function envOfDelivery(
  {
    approvals,
    tools,
  }: { readonly approvals: Pick<ApprovalStore, 'get'>; readonly tools: Pick<ToolStore, 'get'> },
  { tenantId, approvalId, event }: Pick<Delivery, 'tenantId' | 'approvalId' | 'event'>,
): Promise<Env | null> {
  const subjects = event === 'tool_definition_changed' ? tools : approvals;
  return (await subjects.get(tenantId, approvalId))?.env ?? null;
}

// The operator's actions on tenants as a whole: lists, renames, suspends and removes them. A removed tenant is refused
// at once and erased by the background job of `removeTenantRecords`, which goes on after a restart.

import { noted } from '../../audit/note.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { removalQueues } from '../../shared/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Jobs } from '../../shared/ports/jobs.ts';
import type { Store } from '../../shared/ports/store.ts';
import { systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { TenantFigures, TenantPlace, TenantRecord } from '../port/records.ts';

/** A tenant and what it holds. */
export interface TenantView extends TenantFigures {
  readonly tenant: TenantRecord;
}

export type { TenantPlace, TenantRecord };

export interface Tenants {
  /** Oldest first, after a place in that order. `next`: where the next page begins, null when nothing is left. */
  list(
    limit: number,
    after: TenantPlace | null,
  ): Promise<{ readonly items: readonly TenantView[]; readonly next: TenantPlace | null }>;
  /** @throws HubError not_found */
  get(tenantId: string): Promise<TenantView>;
  /**
   * Renames a tenant, suspends it, or lets its callers in again.
   * @throws HubError not_found; conflict while it is being removed
   */
  update(
    tenantId: string,
    patch: { readonly name?: string; readonly isSuspended?: boolean },
  ): Promise<TenantView>;
  /**
   * Refuses all callers from now on, and erases the tenant in the background; safe to repeat.
   * @param name must be the tenant's: nobody removes the wrong one
   * @throws HubError not_found, unprocessable
   */
  remove(tenantId: string, name: string): Promise<void>;
}

type Ports = Pick<AppPorts, 'store' | 'broadcast' | 'clock' | 'secrets' | 'jobs'>;

/** The duty of housekeeping that erases removed tenants. */
export const eraseDuty = 'tenants';
/** Time for which work that began before a tenant was marked may still write, in milliseconds. */
export const settleMs = 10_000;
const sliceRecords = 500;

const absent = () => notFound('Tenant not found.');

export const createTenants = (ports: Ports): Tenants => ({
  async list(limit, after) {
    const records = await ports.store.tenantRecords.list(limit + 1, after);
    const page = records.slice(0, limit);
    const items: TenantView[] = [];
    for (const tenant of page) if (!isImporting(ports, tenant)) items.push(await viewOf(ports, tenant));
    return { items, next: records.length > limit ? (page.at(-1) ?? null) : null };
  },

  get: async (tenantId) => viewOf(ports, await find(ports, tenantId)),

  async update(tenantId, { name, isSuspended }) {
    let tenant = await find(ports, tenantId);
    if (tenant.removedAt !== null) {
      throw new HubError('conflict', 'This tenant is being removed. It cannot be changed any more.');
    }
    if (name !== undefined && name !== tenant.name) {
      const noting = record(ports, tenantId, 'renamed', { before: tenant.name, after: name });
      tenant = (await noting.tenantRecords.update(tenantId, { name })) ?? tenant;
    }
    if (isSuspended !== undefined && isSuspended !== (tenant.suspendedAt !== null)) {
      const noting = record(ports, tenantId, isSuspended ? 'suspended' : 'resumed', { name: tenant.name });
      const suspendedAt = isSuspended ? ports.clock.now() : null;
      tenant = (await noting.tenantRecords.update(tenantId, { suspendedAt })) ?? tenant;
      await ports.broadcast.control({ kind: isSuspended ? 'tenant_closed' : 'tenant_opened', tenantId });
    }
    return viewOf(ports, tenant);
  },

  async remove(tenantId, name) {
    const { clock, store, broadcast, jobs, secrets } = ports;
    const { name: actual } = await find(ports, tenantId);
    if (name !== actual) {
      throw new HubError(
        'unprocessable',
        'The query parameter name must be the name of the tenant, so that nobody removes the wrong one.',
      );
    }
    const now = clock.now();
    await store.tenantRecords.markRemoved(tenantId, now);
    await broadcast.control({ kind: 'tenant_closed', tenantId });
    // The duty runs each minute anyway: these only have it begin at once, and end soon.
    for (const runAt of [now, now + settleMs]) {
      await jobs.add({
        id: `${eraseDuty}/${secrets.uuid()}`,
        queue: removalQueues.erasing,
        payload: eraseDuty,
        runAt,
        maxAttempts: 5,
      });
    }
  },
});

async function find(ports: Ports, tenantId: string): Promise<TenantRecord> {
  const tenant = await ports.store.tenantRecords.get(tenantId);
  if (!tenant || isImporting(ports, tenant)) throw absent();
  return tenant;
}

/** Nobody sees a tenant before its import is committed. */
const isImporting = ({ clock }: Ports, { removedAt }: TenantRecord): boolean =>
  removedAt !== null && removedAt > clock.now();

const viewOf = async ({ store }: Ports, tenant: TenantRecord): Promise<TenantView> => ({
  tenant,
  ...(await store.tenantRecords.getFigures(tenant.id)),
});

const record = (
  ports: Ports,
  tenantId: string,
  action: 'suspended' | 'resumed' | 'renamed',
  details: { [name: string]: string },
) =>
  noted(ports, systemPrincipal(tenantId, 'operator'), {
    action: `tenant.${action}`,
    subject: { id: tenantId, name: details.name ?? null },
    summary: `The tenant was ${action} by the operator of the installation.`,
    details,
  });

/**
 * Erases a slice of the tenants that are being removed; returns how many records went, 0 when nothing is to be done
 * now. The tenant's own record goes last, once what began before the removal has ended.
 */
export async function removeTenantRecords(
  store: Pick<Store, 'tenantRecords' | 'events' | 'values'>,
  jobs: Pick<Jobs, 'removeOfTenant'>,
  clock: Pick<Clock, 'now'>,
): Promise<number> {
  for (const { id, removedAt } of await store.tenantRecords.listClosed()) {
    if (removedAt === null || removedAt > clock.now()) continue;
    const removed =
      (await store.events.removeAll(id, sliceRecords)) ||
      (await store.tenantRecords.removeRecords(id, sliceRecords)) ||
      // Last: where Redis keeps them, each call looks through all of its keys.
      (await store.values.removeAll(id, sliceRecords)) ||
      (await jobs.removeOfTenant(id, sliceRecords));
    if (removed > 0) return removed;
    if (clock.now() - removedAt < settleMs) continue;
    await store.tenantRecords.remove(id);
    return 1;
  }
  return 0;
}

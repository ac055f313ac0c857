// Store port of what the operator of an installation sees and does with tenants as a whole.
import type { Tenant } from '../record.ts';

export interface TenantRecord extends Tenant {
  /** Time since which nobody may call; null: the tenant is not suspended. */
  readonly suspendedAt: number | null;
  /** Time since which the tenant is being removed; null: it is not. */
  readonly removedAt: number | null;
}

/** A place in the order of tenants. */
export type TenantPlace = Pick<Tenant, 'id' | 'createdAt'>;

/** Amounts of a tenant's records. */
export interface TenantFigures {
  /** Registered agents that live. */
  readonly agents: number;
  readonly events: number;
  /** Of the stored events, as the store keeps them. */
  readonly bytes: number;
}

export interface TenantPatch {
  readonly name?: string;
  readonly suspendedAt?: number | null;
}

export interface TenantRecordStore {
  /** Oldest first, after a place in that order; at most `limit`. */
  list(limit: number, after: TenantPlace | null): Promise<readonly TenantRecord[]>;
  /** Null: there is none, or it is gone. */
  get(tenantId: string): Promise<TenantRecord | null>;
  getFigures(tenantId: string): Promise<TenantFigures>;
  /** Null: there is none. */
  update(tenantId: string, patch: TenantPatch): Promise<TenantRecord | null>;
  /** Says that it is being removed; a later time changes nothing. Null: there is none. */
  markRemoved(tenantId: string, at: number): Promise<TenantRecord | null>;
  /** Tenants for which nobody may call: suspended, or being removed. At most 100,000. */
  listClosed(): Promise<readonly TenantRecord[]>;
  /**
   * Erases up to about `limit` records of a tenant that is being removed, of every kind but events and session values.
   * The tenant's own record stays. The bytes are overwritten. @returns how many; 0: none is left
   */
  removeRecords(tenantId: string, limit: number): Promise<number>;
  /** Removes the tenant's own record, the last. */
  remove(tenantId: string): Promise<void>;
}

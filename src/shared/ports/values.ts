// Session values: a tenant's key-value store with an expiry that every write renews (7 days).
//
// Adapters keep promise P34. A value counts, key and value in bytes, in the quota of one environment: of the key that
// wrote it last, unless it got no larger then. Nobody can use up another environment's quota by overwriting its values.
// Removed and expired values make room again within an hour.
import type { Env } from '../ids.ts';

/** Quota of a tenant's values in one environment. */
export interface ValueQuota {
  readonly maxBytes: number;
  readonly maxKeys: number;
}

/** Reason why a value was not taken. */
export type QuotaFull = 'bytes_full' | 'keys_full';

/** The writer of a value. */
export interface ValueWriter {
  readonly tenantId: string;
  readonly env: Env;
  readonly quota: ValueQuota;
}

/** Session values by tenant and key. */
export interface ValueStore {
  get(tenantId: string, key: string, now: number): Promise<string | null>;
  /**
   * Missing keys are absent from the map. `too_large`, and no value is read, when they hold more than `maxBytes`
   * together.
   */
  getMany(
    tenantId: string,
    keys: readonly string[],
    now: number,
    maxBytes: number,
  ): Promise<ReadonlyMap<string, string> | 'too_large'>;
  /**
   * A value that is no longer than the one it replaces is always taken.
   * @throws HubError('disk_full') for one that is new or longer, while the store has too little room
   */
  set(writer: ValueWriter, key: string, value: string, now: number): Promise<'set' | QuotaFull>;
  /**
   * Adds atomically; a missing or expired key counts from 0. `not_a_number` when the value is not a finite number;
   * nothing is written then. Counters go on when the quota is full, also new ones, until there are twice as many keys
   * as it has.
   */
  increment(
    writer: ValueWriter,
    key: string,
    amount: number,
    now: number,
  ): Promise<number | 'not_a_number' | 'keys_full'>;
  remove(tenantId: string, key: string): Promise<void>;
  /**
   * Removes up to about `limit` of a tenant's values, and whatever else the values' store holds of the tenant: frames
   * and counts of limits, in Redis. Returns how many; 0: nothing is left.
   */
  removeAll(tenantId: string, limit: number): Promise<number>;
  /** Removes expired ones, at most `limit`; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

/** Life of a value after its last write, in milliseconds. */
export const valueTtlMs = 7 * 24 * 3600 * 1000;

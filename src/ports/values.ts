// Session values: a tenant's key-value store with an expiry that every write renews (7 days).

export interface ValueStore {
  get(tenantId: string, key: string, now: number): Promise<string | null>;
  /** Missing keys are absent from the map. */
  getMany(tenantId: string, keys: readonly string[], now: number): Promise<ReadonlyMap<string, string>>;
  /** @throws HubError('disk_full') for a value that is new or longer than the one it replaces, while the store has too little room */
  set(tenantId: string, key: string, value: string, now: number): Promise<void>;
  /** Adds atomically; a missing or expired key counts from 0. `not_a_number` when the value is not a finite number; nothing is written then. */
  increment(tenantId: string, key: string, amount: number, now: number): Promise<number | 'not_a_number'>;
  remove(tenantId: string, key: string): Promise<void>;
  /** Removes expired ones, at most `limit`; returns how many. */
  sweep(now: number, limit: number): Promise<number>;
}

/** How long a value lives after its last write, in milliseconds. */
export const valueTtlMs = 7 * 24 * 3600 * 1000;

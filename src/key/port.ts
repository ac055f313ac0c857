// Store port of API keys. Every write is durable when its promise resolves.

import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { ApiKey } from './record.ts';

/** API keys. A revoked one stays known. */
export interface KeyStore {
  /** @throws HubError conflict when its id is taken, also by a revoked one */
  create(key: ApiKey): Promise<void>;
  /** Not revoked, newest first. */
  list(tenantId: string, page: PageRequest): Promise<Page<ApiKey>>;
  /** The key with this hash, revoked or not. */
  getByHash(hash: string): Promise<ApiKey | null>;
  /** The key when this call revoked it; null when unknown or revoked before. */
  revoke(tenantId: string, id: string, now: number): Promise<ApiKey | null>;
  /** Records uses; never moves a time backwards. */
  used(uses: readonly { readonly id: string; readonly at: number }[]): Promise<void>;
}

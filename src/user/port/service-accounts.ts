// Store port of service accounts: programs with roles of their own, and their tokens.
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { ServiceAccount, ServiceToken } from '../record.ts';

export type { ServiceAccount, ServiceToken };

/** Tokens of one account at once. */
export const maxServiceTokens = 50;

/** Service accounts and their tokens. */
export interface ServiceAccountStore {
  create(account: ServiceAccount): Promise<'created' | 'name_taken'>;
  /** By name. */
  list(tenantId: string, page: PageRequest): Promise<Page<ServiceAccount>>;
  get(tenantId: string, id: string): Promise<ServiceAccount | null>;
  /** The account after the change; null: there is none. */
  update(
    tenantId: string,
    id: string,
    patch: Partial<Pick<ServiceAccount, 'name' | 'roles'>>,
  ): Promise<ServiceAccount | 'name_taken' | null>;
  /** Removes the account and its tokens; null: there is none. */
  remove(tenantId: string, id: string): Promise<ServiceAccount | null>;
  /** `absent`: there is no such account; `full`: it has `maxServiceTokens`. */
  createToken(token: ServiceToken): Promise<'created' | 'absent' | 'full'>;
  /** Newest first, expired ones too. */
  listTokens(tenantId: string, accountId: string): Promise<readonly ServiceToken[]>;
  /** By account: when the first of its tokens expires that is valid after `after`. Accounts without one are absent. */
  getNextExpiries(tenantId: string, after: number): Promise<ReadonlyMap<string, number>>;
  /** The token when this call removed it; null when unknown. */
  revokeToken(tenantId: string, accountId: string, id: string): Promise<ServiceToken | null>;
  /** The token with this hash and its account; null: there is none. */
  getByHash(hash: string): Promise<{ readonly account: ServiceAccount; readonly token: ServiceToken } | null>;
  /** Records a use; never moves a time backwards. */
  used(id: string, at: number): Promise<void>;
  /** Removes tokens that expired before `before`, at most `limit`; returns how many. */
  removeExpiredTokens(before: number, limit: number): Promise<number>;
}

// Identifies operators by their bearer tokens, from identity providers or from the hub itself.

import type { EnvRole } from '../../shared/env-roles.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { OperatorTokenRecord } from '../record.ts';

export type { OperatorTokenRecord };

/** An operator: tenant, issuer, subject, name and role. */
export interface OperatorIdentity {
  readonly tenantId: string;
  readonly issuer: string;
  /** Unique within the issuer. */
  readonly subject: string;
  /** The name for records: the verified e-mail, else the name, else the subject. */
  readonly display: string;
  /** A provider's token and one that an admin made hold in every environment, a login's token as its person's do. */
  readonly roles: readonly EnvRole[];
  /** Hash of the token of the login that it was given to, with which it ends; null: it ends by itself. */
  readonly loginHash: string | null;
  /** The record of a token that an admin made; null or absent: it is no such token. */
  readonly tokenId?: string | null;
  /** Epoch milliseconds; in the future. */
  readonly expiresAt: number;
}

/** Reads the bearer tokens of operators. */
export interface OperatorTokens {
  /**
   * Reads a token only after its signature, issuer, audience and times hold.
   * @throws HubError unauthenticated (reason token_expired when that is all that is wrong); forbidden (reason
   *   workspace_required or role_required) for a good token that gives no rights here; unavailable when the issuer's
   *   keys cannot be had
   */
  identify(token: string): Promise<OperatorIdentity>;
  /** True if an admin revoked the token of this record. @throws HubError unavailable */
  isRevoked(tokenId: string): Promise<boolean>;
}

/** Records of the tokens that admins made, each until it expires. */
export interface OperatorTokenStore {
  /** @throws HubError conflict when its id is taken */
  create(record: OperatorTokenRecord): Promise<void>;
  /** Neither revoked nor expired, newest first. */
  list(tenantId: string, page: PageRequest, now: number): Promise<Page<OperatorTokenRecord>>;
  /** False also for a token without a record. */
  isRevoked(id: string): Promise<boolean>;
  /** The record when this call revoked it; null when unknown, expired or revoked before. */
  revoke(tenantId: string, id: string, now: number): Promise<OperatorTokenRecord | null>;
  /** Removes those that expired, at most `limit`; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

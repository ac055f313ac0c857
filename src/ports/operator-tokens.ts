// Who a bearer token of an operator is: the one question that the edge has for identity providers, and for tokens that
// the hub gave itself.
import type { OperatorRole } from '../domain/principal.ts';

/** Who an operator is, by whom, and what they may do. */
export interface OperatorIdentity {
  readonly tenantId: string;
  readonly issuer: string;
  /** Unique within the issuer. */
  readonly subject: string;
  /** The name for records: the verified e-mail, else the name, else the subject. */
  readonly display: string;
  readonly role: OperatorRole;
  /** Hash of the token of the login that it was given to, with which it ends; null: it ends by itself. */
  readonly loginHash: string | null;
  /** Epoch milliseconds; in the future. */
  readonly expiresAt: number;
}

/** Reads the bearer tokens of operators. */
export interface OperatorTokens {
  /**
   * Reads a token only after its signature, issuer, audience and times hold.
   * @throws HubError unauthenticated (reason token_expired when that is all that is wrong), forbidden (reason
   *   workspace_required or role_required) for a good token that gives no rights here, unavailable when the issuer's
   *   keys cannot be had
   */
  identify(token: string): Promise<OperatorIdentity>;
}

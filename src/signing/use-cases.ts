// Rotation of a tenant's signing key. The tenant's actor does it, so that no deploy comes between.

import { auditActor } from '../audit/record.ts';
import { requireRole } from '../shared/access.ts';
import type { Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';

export interface Rotated {
  readonly publicKey: string;
  readonly rotatedAt: number;
  /** Current deployments that were signed with the new key. */
  readonly resigned: number;
  /** True if agents with the old key pinned accept the new one automatically. */
  readonly followed: boolean;
}

export interface SigningKeys {
  /**
   * Makes a new signing key and signs every current deployment with it.
   * @param compromised the old key does not vouch for the new one
   * @throws HubError forbidden, overloaded, unavailable
   */
  rotate(principal: Principal, compromised: boolean): Promise<Rotated>;
}

export const createSigningKeys = ({
  actors,
  secrets,
}: Pick<AppPorts, 'actors' | 'secrets'>): SigningKeys => ({
  async rotate(principal, compromised) {
    requireRole(principal, 'admin');
    const rotation = { newKeyId: secrets.uuid(), compromised, actor: auditActor(principal) };
    return actors.ask('tenant', principal.tenantId, 'rotateSigningKey', rotation);
  },
});

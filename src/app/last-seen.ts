// Registrations learn from requests that an agent was seen: at most one write per agent in 30 s, so last_seen_at is up
// to 30 s late.
import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { KeyPrincipal } from '../domain/principal.ts';
import type { AppPorts } from './ports.ts';

const everyMs = 30_000;
const maxRemembered = 50_000;

export interface LastSeen {
  /**
   * Makes registrations that are missing, within the caps of the API key, and moves the time when each was last seen.
   */
  touch(principal: KeyPrincipal, agentIds: ReadonlySet<string>): Promise<void>;
}

export function createLastSeen({ registrar, clock }: Pick<AppPorts, 'registrar' | 'clock'>): LastSeen {
  /** The agents whose registration this node wrote within 30 s, by the API that they used. */
  const written = new BoundedMap<true>(maxRemembered);
  return {
    async touch({ tenantId, env, keyId, api }, agentIds) {
      const now = clock.now();
      const idOf = (agentId: string) => `${tenantId}/${env}/${api}/${agentId}`;
      const due = [...agentIds].filter((agentId) => !written.get(idOf(agentId), now));
      await Promise.all(due.map((agentId) => registrar.seen({ tenantId, env, keyId, on: { api } }, agentId)));
      for (const agentId of due) written.set(idOf(agentId), true, now + everyMs);
    },
  };
}

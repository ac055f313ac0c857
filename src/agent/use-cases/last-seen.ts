// A request renews the last-seen time in its agent's registration: at most one write per agent in 28 s. The write comes
// a second later for an agent that this node knows, and a store may gather it for another. So `last_seen_at` is at most
// 30 s late, but for as long as a store needs for a fleet that comes back at once.

import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { hourMs } from '../../shared/duration.ts';
import type { KeyPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { FirstSeenAgent, SeenAgent } from '../port.ts';
import type { Source } from './registrar.ts';

const everyMs = 28_000;
/** Times of known agents are gathered for this long and written together. Milliseconds. */
const gatheredMs = 1_000;
const maxRemembered = 50_000;

export interface LastSeen {
  /**
   * Makes registrations that are missing, within the caps of the API key, and moves the time when each was last seen.
   * Resolves when all is stored.
   */
  touch(principal: KeyPrincipal, agentIds: ReadonlySet<string>): Promise<void>;
  /** The agents among these that this node has not noted yet: their registration is made before the answer. */
  unregistered(principal: KeyPrincipal, agentIds: Iterable<string>): readonly string[];
  /**
   * Has a write register agents in its own commit, within the caps of the API key.
   * @param write gets them in this order, and resolves with the answers of the store in the same order
   */
  registerWith<T extends { readonly agents?: readonly SeenAgent[] }>(
    principal: KeyPrincipal,
    agentIds: readonly string[],
    write: (agents: readonly FirstSeenAgent[]) => Promise<T>,
  ): Promise<T>;
  /** Moves the times of registered agents within a second. Nobody waits; a failure is repeated by the next request. */
  touchLater(principal: KeyPrincipal, agentIds: Iterable<string>): void;
}

const sourceOf = ({ tenantId, env, keyId, api }: KeyPrincipal): Source => ({
  tenantId,
  env,
  keyId,
  on: { api },
});
const keyOf = ({ tenantId, env, api }: KeyPrincipal, agentId: string): string =>
  `${tenantId}/${env}/${api}/${agentId}`;

export function createLastSeen({ registrar, clock }: Pick<AppPorts, 'registrar' | 'clock'>): LastSeen {
  /** The agents whose registration this node wrote within 28 s, by the API that they used. */
  const written = new BoundedMap<true>(maxRemembered);
  /** The agents whose registration this node wrote within an hour. */
  const registered = new BoundedMap<true>(maxRemembered);
  /** Times that are written at the end of this second, as they were: a node that stands still writes them late. */
  const pending = new Map<
    string,
    { readonly source: Source; readonly agentId: string; readonly at: number }
  >();

  function remember(principal: KeyPrincipal, agentIds: Iterable<string>): void {
    const now = clock.now();
    for (const agentId of agentIds) {
      const key = keyOf(principal, agentId);
      written.set(key, true, now + everyMs);
      registered.set(key, true, now + hourMs);
    }
  }

  function writePending(): void {
    const touches = [...pending];
    pending.clear();
    for (const [key, { source, agentId, at }] of touches)
      registrar.noteSeen(source, agentId, at).catch(() => written.delete(key));
  }

  return {
    async touch(principal, agentIds) {
      const now = clock.now();
      const due = [...agentIds].filter((agentId) => !written.get(keyOf(principal, agentId), now));
      await Promise.all(due.map((agentId) => registrar.noteSeen(sourceOf(principal), agentId)));
      remember(principal, due);
    },
    unregistered(principal, agentIds) {
      const now = clock.now();
      return [...agentIds].filter((agentId) => !registered.get(keyOf(principal, agentId), now));
    },
    async registerWith(principal, agentIds, write) {
      const answer = await registrar.noteSeenWith(sourceOf(principal), agentIds, write);
      remember(principal, agentIds);
      return answer;
    },
    touchLater(principal, agentIds) {
      const now = clock.now();
      for (const agentId of agentIds) {
        const key = keyOf(principal, agentId);
        if (written.get(key, now) || pending.size >= maxRemembered) continue;
        written.set(key, true, now + everyMs);
        if (pending.size === 0) clock.after(gatheredMs, writePending);
        pending.set(key, { source: sourceOf(principal), agentId, at: now });
      }
    },
  };
}

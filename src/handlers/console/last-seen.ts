// Registrations learn from events that an agent was seen: at most one write per agent in 30 s, so last_seen_at is up to 30 s late.
import type { Caller } from '../../api/call.ts';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Hub } from '../common/hub.ts';

const everyMs = 30_000;
const maxRemembered = 50_000;

/** The agents whose registration this node wrote within 30 s. */
const writtenBy = new WeakMap<Hub, BoundedMap<true>>();

/** Makes registrations that are missing, within the caps of the API key, and moves last_seen_at. */
export async function touchAgents(
  hub: Hub,
  { tenantId, env, keyId }: Extract<Caller, { kind: 'key' }>,
  agentIds: ReadonlySet<string>,
): Promise<void> {
  const written = writtenBy.get(hub) ?? new BoundedMap<true>(maxRemembered);
  writtenBy.set(hub, written);
  const now = hub.clock.now();
  const idOf = (agentId: string) => `${tenantId}/${env}/${agentId}`;
  const due = [...agentIds].filter((agentId) => !written.get(idOf(agentId), now));
  await Promise.all(due.map((agentId) => hub.registrar.seen({ tenantId, env, keyId }, agentId)));
  for (const agentId of due) written.set(idOf(agentId), true, now + everyMs);
}

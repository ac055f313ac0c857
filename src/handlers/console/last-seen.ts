// Registrations learn from events that an agent was seen: at most one write per agent in 30 s, so last_seen_at is up to 30 s late.
import type { Caller } from '../../api/call.ts';
import type { Hub } from './hub.ts';

const everyMs = 30_000;
const maxRemembered = 50_000;

/** Agent → when its registration was last written by this node; oldest first. */
const writtenBy = new WeakMap<Hub, Map<string, number>>();

/** Makes registrations that are missing, within the caps of the API key, and moves last_seen_at. */
export async function touchAgents(
  hub: Hub,
  { tenantId, env, keyId }: Extract<Caller, { kind: 'key' }>,
  agentIds: ReadonlySet<string>,
): Promise<void> {
  const written = writtenBy.get(hub) ?? new Map<string, number>();
  writtenBy.set(hub, written);
  const now = hub.clock.now();
  const due = [...agentIds].filter((agentId) => {
    const last = written.get(`${tenantId}/${env}/${agentId}`);
    return last === undefined || now - last >= everyMs;
  });
  await Promise.all(due.map((agentId) => hub.registrar.seen({ tenantId, env, keyId }, agentId)));
  for (const agentId of due) {
    const id = `${tenantId}/${env}/${agentId}`;
    // Deleted first, so that the order of the map is the order of writing.
    written.delete(id);
    written.set(id, now);
  }
  for (const oldest of written.keys()) {
    if (written.size <= maxRemembered) break;
    written.delete(oldest);
  }
}

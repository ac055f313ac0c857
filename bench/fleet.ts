// A fleet in a store: events of many agents over the last day, and what each agent reports that it runs. Filled through
// the store's port, because a million events over HTTP take minutes.
import { dayMs } from '../src/domain/duration.ts';
import type { EventInput } from '../src/domain/event.ts';
import type { Env } from '../src/domain/ids.ts';
import type { Store } from '../src/ports/store.ts';

const env: Env = 'production';
/** Events stored in one call: posts of many agents together, because only what is stored matters here. */
const together = 1_000;
const inFlight = 8;

export interface FleetPlan {
  readonly tenantId: string;
  readonly rows: number;
  readonly agents: number;
  /** Events of a post, which are all of one agent. */
  readonly post: number;
  readonly now: number;
  /** The bundle that all agents run, and its revision. */
  readonly bundle: { readonly name: string; readonly revision: string };
  /** The events of post `n`. @param at when the hub got them, Unix ms */
  readonly eventsOf: (n: number, agent: string, at: number) => readonly EventInput[];
}

export const fleetAgent = (n: number, agents: number): string =>
  `agent-${String(n % agents).padStart(6, '0')}`;

/** Stores the events, oldest first, then the agents. */
export async function fillFleet(store: Store, plan: FleetPlan): Promise<void> {
  const { tenantId, rows, agents, post, now, bundle } = plan;
  const posts = Math.ceil(rows / post);
  const atOnce = Math.max(1, Math.floor(together / post));
  const span = dayMs - 60_000;
  let next = 0;
  async function sender(): Promise<void> {
    for (let from = next; from < posts; from = next) {
      next = from + atOnce;
      const size = Math.min(atOnce, posts - from);
      // Each post has its own time, as when it had come alone: searches depend on how posts overlap.
      const timeOf = (n: number): number => Math.floor(now - span + (n / posts) * span);
      const events = Array.from({ length: size }, (_, k) =>
        plan.eventsOf(from + k, fleetAgent(from + k, agents), timeOf(from + k)),
      ).flat();
      await store.events.ingest({ tenantId, env, receivedAt: timeOf(from + size), events });
    }
  }
  await Promise.all(Array.from({ length: inFlight }, sender));
  for (let n = 0; n < agents; n += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, agents - n) }, async (_, k) => {
        const agentId = fleetAgent(n + k, agents);
        await store.agents.seen(tenantId, agentId, env, now, crypto.randomUUID());
        const report = { agentId, bundleName: bundle.name, policyVersion: bundle.revision, at: now };
        await store.agents.report(tenantId, env, report);
      }),
    );
  }
}

// Which document an agent of the hosted API runs, as far as its fetches tell: agents whose streams name none are sent
// updates of that one alone.
import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { AppPorts } from './ports.ts';

/** An agent, with the API key that it uses. */
export interface Fetcher {
  readonly keyId: string;
  readonly agentId: string;
}

export interface FetchedRulesets {
  /** The agent has fetched what an environment runs under this name. */
  fetched(by: Fetcher, name: string): void;
  /** The one name that it fetched within 24 hours on this node; null when there was none, or several. */
  nameOf(by: Fetcher): string | null;
}

const rememberedMs = 24 * 3_600_000;
const maxAgents = 100_000;

export function createFetchedRulesets({ clock }: Pick<AppPorts, 'clock'>): FetchedRulesets {
  /** Null: several. */
  const names = new BoundedMap<string | null>(maxAgents);
  const keyOf = ({ keyId, agentId }: Fetcher): string => `${keyId}/${agentId}`;
  return {
    fetched(by, name) {
      const now = clock.monotonic();
      const before = names.get(keyOf(by), now);
      names.set(keyOf(by), before === undefined || before === name ? name : null, now + rememberedMs);
    },
    nameOf: (by) => names.get(keyOf(by), clock.monotonic()) ?? null,
  };
}

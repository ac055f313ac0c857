// The document that an agent of the hosted API runs, inferred from its fetches. Agents whose streams name no document
// receive updates of that one alone, and are shown to follow it.
import { environmentKey } from '../../../actors/protocol.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type FetchedRuleset, fetchedMs, fetchedName, mergedFetches } from '../rules/fetched-ruleset.ts';

/** An agent, with the API key that it uses. */
export interface Fetcher {
  readonly keyId: string;
  readonly agentId: string;
}

export interface FetchedRulesets {
  /** The agent has fetched what an environment runs under this name. */
  fetched(tenantId: string, env: Env, by: Fetcher, name: string): void;
  /** The agent's fetches that this node has recorded; null without any. */
  of(by: Fetcher): FetchedRuleset | null;
  /** The one name that it fetched within 24 hours on this node; null when there was none, or several. */
  nameOf(by: Fetcher): string | null;
}

const maxAgents = 100_000;
/** Time after which the environment receives a name again. */
const tellAgainMs = fetchedMs / 2;

export function createFetchedRulesets({
  clock,
  actors,
  log,
}: Pick<AppPorts, 'clock' | 'actors' | 'log'>): FetchedRulesets {
  const fetchedRulesets = new BoundedMap<{ readonly fetched: FetchedRuleset; readonly toldAt: number }>(
    maxAgents,
  );
  const keyOf = ({ keyId, agentId }: Fetcher): string => `${keyId}/${agentId}`;
  const of = (by: Fetcher): FetchedRuleset | null =>
    fetchedRulesets.get(keyOf(by), clock.now())?.fetched ?? null;
  return {
    fetched(tenantId, env, by, bundleName) {
      const at = clock.now();
      const before = fetchedRulesets.get(keyOf(by), at);
      const isTold = before?.fetched.bundleName === bundleName && at < before.toldAt + tellAgainMs;
      const fetched = mergedFetches(before?.fetched ?? null, { bundleName, at, otherUntil: 0 });
      const toldAt = isTold ? before.toldAt : at;
      fetchedRulesets.set(keyOf(by), { fetched, toldAt }, Math.max(at, fetched.otherUntil) + fetchedMs);
      if (isTold) return;
      // Only status is worse off without it, until the agent's stream opens again.
      actors
        .tell('environment', environmentKey(tenantId, env), 'fetched', { ...by, fetched })
        .catch((err: unknown) => log.debug({ err }, 'cannot record which ruleset an agent fetched'));
    },
    of,
    nameOf: (by) => fetchedName(of(by), clock.now()),
  };
}

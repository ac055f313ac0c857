// Which bundles the connected agents of an environment follow, and which versions they run. Looks at each agent once.
import type { FollowedBundle } from '../src/agent/record.ts';
import type { Roster } from './roster.ts';
import { type CurrentVersions, driftSince, followed, type IsGone, newest, newestOf } from './roster-agent.ts';

/** Versions of a bundle that are counted apart; the most frequent ones stay. */
const maxVersions = 50;

type Running = { policyVersion: string | null; agents: number; oldestSince: number | null };

/** By bundle; null: agents that follow none, and without a deployment in the environment. */
export function followedBundles(
  roster: Pick<Roster, 'connectedAgents'>,
  deployed: CurrentVersions,
  isGone: IsGone,
): readonly FollowedBundle[] {
  const bundles = new Map<string | null, Map<string | null, Running>>();
  for (const [, agent] of roster.connectedAgents()) {
    const stream = newestOf(agent.streams, isGone);
    if (stream === null) continue;
    const follows = followed(agent, stream);
    const policyVersion = newest(agent.versions, follows);
    const running = bundles.get(follows) ?? new Map<string | null, Running>();
    bundles.set(follows, running);
    const row = running.get(policyVersion) ?? { policyVersion, agents: 0, oldestSince: null };
    running.set(policyVersion, row);
    row.agents++;
    const since = driftSince(agent, follows, deployed);
    if (since !== null) row.oldestSince = Math.min(row.oldestSince ?? since, since);
  }
  return [...bundles].map(([bundleName, running]) => {
    const versions = [...running.values()].sort((a, b) => b.agents - a.agents);
    return {
      bundleName,
      connected: versions.reduce((sum, { agents }) => sum + agents, 0),
      versions: versions.slice(0, maxVersions),
    };
  });
}

// The history of an agent: what was deployed for it, and how long it ran something else. Told from deployments and
// stored events.

import type { Deployment } from '../../deployment/record.ts';
import { requireRole, visibleEnvs } from '../../shared/access.ts';
import { notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { VersionAnswer } from '../../usage/port.ts';
import type { Rulings } from './rulings.ts';

export type HistoryEntry =
  | { readonly kind: 'deployment'; readonly at: number; readonly deployment: Deployment }
  | {
      readonly kind: 'driftDetected';
      readonly at: number;
      readonly bundleName: string;
      readonly expected: string;
      /** The version before it, if the agent reported it. */
      readonly actual: string | null;
    }
  | {
      readonly kind: 'driftResolved';
      readonly at: number;
      readonly bundleName: string;
      readonly version: string;
      readonly seconds: number;
    }
  | { readonly kind: 'firstSeen'; readonly at: number; readonly env: Env };

export interface AgentHistory {
  /** Of its newest event that the principal sees. */
  readonly env: Env;
  /** Newest first. */
  readonly entries: readonly HistoryEntry[];
}

export interface Histories {
  /**
   * @param limit deployments looked at, the newest.
   * @throws HubError not_found when no event of the agent is stored where the principal has a role; search_timeout
   */
  getOfAgent(principal: Principal, agentId: string, limit: number): Promise<AgentHistory>;
}

export function createHistories({
  store,
  rulings,
}: Pick<AppPorts, 'store'> & { readonly rulings: Rulings }): Histories {
  return {
    async getOfAgent(principal, agentId, limit) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const span = await store.usage.getSpan(tenantId, agentId, visibleEnvs(principal));
      if (!span) throw notFound('No event of this agent is stored.');
      const { env, firstAt, firstEnv } = span;
      const registration = await store.agents.get(tenantId, agentId);
      const agent = registration ?? { agentId, bundleName: null, tags: {} };
      const [standing] = await rulings.standings(tenantId, env, [agent]);
      const bundleName = standing?.bundleName ?? null;
      const filter = bundleName === null ? { env } : { env, bundleName };
      const { items: deployments } = await store.deployments.list(tenantId, filter, { limit, offset: 0 });
      const answers = await store.usage.listVersionsAt(
        tenantId,
        agentId,
        env,
        deployments.map(({ revisionHash, createdAt }) => ({ version: revisionHash, since: createdAt })),
      );
      // An agent that never ran anything of a bundle has not drifted from it: it may have rules of its own, or another
      // bundle.
      const hashes = [...new Set(deployments.map(({ revisionHash }) => revisionHash))];
      const ever = await store.usage.listVersionsAt(
        tenantId,
        agentId,
        env,
        hashes.map((version) => ({ version, since: firstAt })),
      );
      const ran = new Set(hashes.filter((_, i) => ever[i]?.firstAt != null));
      const followed = new Set(
        deployments.filter(({ revisionHash }) => ran.has(revisionHash)).map((one) => one.bundleName),
      );
      const entries = deployments.flatMap((deployment, i): HistoryEntry[] => {
        const { createdAt: at } = deployment;
        const answer = answers[i];
        // Nor from what was deployed before it was there.
        const tracked = answer && followed.has(deployment.bundleName) && at >= firstAt;
        return [{ kind: 'deployment', at, deployment }, ...(tracked ? driftOver(deployment, answer) : [])];
      });
      entries.push({ kind: 'firstSeen', at: firstAt, env: firstEnv });
      return { env, entries: entries.sort((a, b) => b.at - a.at) };
    },
  };
}

/** From the deployment until the first event with its version; less than a second is none. */
function driftOver(
  { createdAt, revisionHash, bundleName }: Deployment,
  { firstAt, before }: VersionAnswer,
): HistoryEntry[] {
  const seconds = firstAt === null ? null : Math.floor((firstAt - createdAt) / 1000);
  if (seconds !== null && seconds < 1) return [];
  return [
    { kind: 'driftDetected', at: createdAt, bundleName, expected: revisionHash, actual: before },
    ...(firstAt === null || seconds === null
      ? []
      : [{ kind: 'driftResolved', at: firstAt, bundleName, version: revisionHash, seconds } as const]),
  ];
}

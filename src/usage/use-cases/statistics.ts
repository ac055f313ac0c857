// Statistics of what contracts decided, from the store's summaries.

import type { Rulings } from '../../agent/use-cases/rulings.ts';
import type { SampleRuns } from '../../run/use-cases/samples.ts';
import { listedEnvs, requireRole, visibleEnvs } from '../../shared/access.ts';
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ContractUse } from '../port.ts';

const floorMinute = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;

/** Contracts that are listed: those of most calls. */
const maxContracts = 1000;

/** The figures of the last 24 hours. Agents are counted per tenant, the rest in the environments that are seen. */
export interface Overview {
  /** Without the sample run's. */
  readonly pendingApprovals: number;
  readonly totalAgents: number;
  /** Agents that sent an event within the hour. */
  readonly activeAgents: number;
  readonly events: number;
  readonly denials: number;
  readonly observeFindings: number;
  readonly contractsTriggered: number;
}

export interface Statistics {
  /** @param env null: all environments that the principal sees */
  overview(principal: Principal, env: Env | null): Promise<Overview>;
  /**
   * How contracts decided in [since, until); a call counts once for each contract of the library that it names, by
   * whichever of its entries.
   * @throws HubError unprocessable for a range that ends before it begins; search_timeout
   */
  contracts(
    principal: Principal,
    range: { readonly env: Env | null; readonly since: number; readonly until: number },
  ): Promise<{ readonly events: number; readonly contracts: readonly ContractUse[] }>;
}

type Ports = Pick<AppPorts, 'store' | 'clock'> & {
  readonly sampleRuns: Pick<SampleRuns, 'pending'>;
  readonly rulings: Pick<Rulings, 'entryNames'>;
};

export const createStatistics = ({ store, clock, sampleRuns, rulings }: Ports): Statistics => ({
  async overview(principal, env) {
    const { tenantId } = principal;
    const now = clock.now();
    const seen = listedEnvs(principal, env);
    const { entries } = await rulings.entryNames(tenantId);
    const [pending, ofSample, totalAgents, counts] = await Promise.all([
      store.approvals.countPending(tenantId, seen, now),
      sampleRuns.pending(tenantId, seen),
      store.agents.count(tenantId, principal.env === null ? visibleEnvs(principal) : null),
      // To the minute: whole minutes are counted already.
      store.events.counts(tenantId, seen, floorMinute(now - dayMs), now - hourMs, entries),
    ]);
    return { pendingApprovals: Math.max(0, pending - ofSample), totalAgents, ...counts };
  },

  async contracts(principal, { env, since, until }) {
    requireRole(principal, 'viewer');
    if (until < since) {
      throw new HubError(
        'unprocessable',
        'The time range ends before it begins. Choose an until that is not before since.',
      );
    }
    const names = await rulings.entryNames(principal.tenantId);
    const seen = listedEnvs(principal, env);
    const { events, contracts } = await store.usage.contracts(principal.tenantId, seen, since, until, names);
    return { events, contracts: contracts.slice(0, maxContracts) };
  },
});

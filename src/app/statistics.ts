// Statistics of what contracts decided, from the store's summaries.
import { HubError } from '../domain/error.ts';
import type { Env } from '../domain/ids.ts';
import type { Principal } from '../domain/principal.ts';
import type { Store } from '../ports/store.ts';
import type { ContractUse } from '../ports/usage.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';
import type { SampleRuns } from './sample-runs.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

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
   * How contracts decided in [since, until); a call counts once for each contract that it names.
   * @throws HubError unprocessable for a range that ends before it begins; search_timeout
   */
  contracts(
    principal: Principal,
    range: { readonly env: Env | null; readonly since: number; readonly until: number },
  ): Promise<{ readonly events: number; readonly contracts: readonly ContractUse[] }>;
}

/** Entries of what is deployed now that stand for a contract of the library under another id. */
async function contractsOfEntries(
  { bundles, deployments }: Pick<Store, 'bundles' | 'deployments'>,
  tenantId: string,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { bundleName, version } of await deployments.currentAll(tenantId)) {
    const bundle = await bundles.version(tenantId, bundleName, version);
    for (const { contract_id, entries = [] } of bundle?.snapshot ?? [])
      for (const entry of entries) names.set(entry, contract_id);
  }
  return names;
}

/** Sums what belongs to one contract; those of most calls first. A call that several entries decided counts for each. */
function summed(found: readonly ContractUse[], names: ReadonlyMap<string, string>): readonly ContractUse[] {
  if (names.size === 0) return found;
  const uses = new Map<string, ContractUse>();
  for (const use of found) {
    const name = names.get(use.name) ?? use.name;
    const before = uses.get(name) ?? { name, calls: 0, denials: 0, warnings: 0, lastTriggered: 0 };
    uses.set(name, {
      name,
      calls: before.calls + use.calls,
      denials: before.denials + use.denials,
      warnings: before.warnings + use.warnings,
      lastTriggered: Math.max(before.lastTriggered, use.lastTriggered),
    });
  }
  return [...uses.values()].sort((a, b) => b.calls - a.calls);
}

type Ports = Pick<AppPorts, 'store' | 'clock'> & { readonly sampleRuns: Pick<SampleRuns, 'pending'> };

export const createStatistics = ({ store, clock, sampleRuns }: Ports): Statistics => ({
  async overview({ tenantId, env: own }, env) {
    const now = clock.now();
    const seen = own ?? env;
    const [pending, ofSample, totalAgents, counts] = await Promise.all([
      store.approvals.countPending(tenantId, seen, now),
      sampleRuns.pending(tenantId, seen),
      store.agents.count(tenantId),
      // To the minute: whole minutes are counted already.
      store.events.counts(tenantId, seen, floorMinute(now - dayMs), now - hourMs),
    ]);
    return { pendingApprovals: Math.max(0, pending - ofSample), totalAgents, ...counts };
  },

  async contracts(principal, { env, since, until }) {
    requireRole(principal, 'viewer');
    if (until < since) {
      throw new HubError(
        'unprocessable',
        'The time range ends before it begins: until must not be before since.',
      );
    }
    const found = await store.usage.contracts(principal.tenantId, env, since, until);
    const names = await contractsOfEntries(store, principal.tenantId);
    return { events: found.events, contracts: summed(found.contracts, names).slice(0, maxContracts) };
  },
});

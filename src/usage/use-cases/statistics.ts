// Statistics of what contracts decided, from the store's summaries.

import { environmentKey } from '../../../actors/protocol.ts';
import type { FleetNumbers } from '../../agent/record.ts';
import type { Rulings } from '../../agent/use-cases/rulings.ts';
import type { SeriesRange } from '../../event/rules/series.ts';
import type { SampleRuns } from '../../run/use-cases/samples.ts';
import { listedEnvs, requireRole, visibleEnvs } from '../../shared/access.ts';
import { requireAllAgents } from '../../shared/acting-agent.ts';
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { type Env, environments, isInFilter } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import { checkRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ContractUse } from '../port.ts';

const floorMinute = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;

/** Contracts that are listed: those of most calls. */
const maxContracts = 1000;

/** The figures of the last 24 hours, in the named environment or in all visible ones. */
export interface Overview {
  /** Without the sample run's. */
  readonly pendingApprovals: number;
  /** Agents that were last in a visible environment, whichever one is named. */
  readonly totalAgents: number;
  /** Agents that sent an event within the hour. */
  readonly activeAgents: number;
  readonly events: number;
  readonly denials: number;
  readonly observeFindings: number;
  readonly contractsTriggered: number;
}

/** Calls by the word that people read for their first verdict. */
export interface CallCounts {
  readonly allowed: number;
  readonly denied: number;
  readonly observed: number;
  readonly pending: number;
}

/** The figures of a range, beside those of the range of the same length before it. */
export interface RangeOverview {
  readonly calls: CallCounts;
  readonly previous: CallCounts;
  /** `registered`: registered agents; the others count connected ones. */
  readonly agents: FleetNumbers & { readonly registered: number };
  /** Of the pending approvals the first to expire, without the sample run's; null: none. Epoch milliseconds. */
  readonly nextDeadline: number | null;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'actors'> & {
  readonly sampleRuns: Pick<SampleRuns, 'approvalIdOf' | 'pending'>;
  readonly rulings: Pick<Rulings, 'entries' | 'entryNames'>;
};

const noAgents: FleetNumbers = { connected: 0, current: 0, drift: 0, unknown: 0 };

const addNumbers = (one: FleetNumbers, other: FleetNumbers): FleetNumbers => ({
  connected: one.connected + other.connected,
  current: one.current + other.current,
  drift: one.drift + other.drift,
  unknown: one.unknown + other.unknown,
});

export class Statistics {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** @throws HubError validation_failed for a range that ends before it begins; forbidden for a key of some agents */
  async range(
    principal: Principal,
    { env, since, until }: SeriesRange & { readonly env: Env | null },
  ): Promise<RangeOverview> {
    const { store, actors, clock, sampleRuns } = this.#ports;
    requireRole(principal, 'viewer');
    requireAllAgents(principal);
    checkRange({ since, until });
    const { tenantId } = principal;
    const visibleEnvs = listedEnvs(principal, env);
    const envs = environments.filter((one) => isInFilter(visibleEnvs, one));
    const countsIn = async (range: SeriesRange): Promise<CallCounts> => {
      const bucketMs = range.until - range.since;
      const request = { ...range, env: visibleEnvs, by: 'total', values: [''], bucketMs } as const;
      const [series] = await store.events.series(tenantId, request);
      const sum = (counts: readonly number[] = []) => counts.reduce((total, count) => total + count, 0);
      return {
        allowed: sum(series?.allowed),
        denied: sum(series?.denied),
        observed: sum(series?.observed),
        pending: sum(series?.pending),
      };
    };
    const [calls, previous, agentCount, pending, ...fleets] = await Promise.all([
      countsIn({ since, until }),
      countsIn({ since: 2 * since - until, until: since }),
      store.agents.count(tenantId, visibleEnvs),
      Promise.all(envs.map((one) => store.approvals.listDeadlines(tenantId, one))),
      ...envs.map((one) => actors.ask('environment', environmentKey(tenantId, one), 'fleet', null)),
    ]);
    const now = clock.now();
    const sampleId = sampleRuns.approvalIdOf(tenantId);
    const deadlines = pending
      .flat()
      .filter(({ id, deadline }) => deadline > now && id !== sampleId)
      .map(({ deadline }) => deadline);
    return {
      calls,
      previous,
      agents: { registered: agentCount, ...fleets.reduce(addNumbers, noAgents) },
      nextDeadline: deadlines.length === 0 ? null : deadlines.reduce((a, b) => Math.min(a, b)),
    };
  }

  /**
   * @param env null: all environments that the principal sees
   * @throws HubError forbidden for a key of some agents
   */
  async overview(principal: Principal, env: Env | null): Promise<Overview> {
    const { clock, rulings, store, sampleRuns } = this.#ports;
    requireAllAgents(principal);
    const { tenantId } = principal;
    const now = clock.now();
    const envsInSight = listedEnvs(principal, env);
    const entries = await rulings.entries(tenantId);
    const [pending, ofSample, totalAgents, counts] = await Promise.all([
      store.approvals.countPending(tenantId, envsInSight, now),
      sampleRuns.pending(tenantId, envsInSight),
      store.agents.count(tenantId, visibleEnvs(principal)),
      // To the minute: whole minutes are counted already.
      store.events.counts(tenantId, envsInSight, floorMinute(now - dayMs), now - hourMs, entries),
    ]);
    return { pendingApprovals: Math.max(0, pending - ofSample), totalAgents, ...counts };
  }

  /**
   * How contracts decided in [since, until); a call counts once for each contract of the library that it names, by
   * whichever of its entries.
   * @throws HubError unprocessable for a range that ends before it begins; search_timeout
   */
  async contracts(
    principal: Principal,
    { env, since, until }: { readonly env: Env | null; readonly since: number; readonly until: number },
  ): Promise<{ readonly events: number; readonly contracts: readonly ContractUse[] }> {
    requireRole(principal, 'viewer');
    if (until < since) {
      throw new HubError(
        'unprocessable',
        'The time range ends before it begins. Choose an until that is not before since.',
      );
    }
    const names = await this.#ports.rulings.entryNames(principal.tenantId);
    const visibleEnvs = listedEnvs(principal, env);
    const { events, contracts } = await this.#ports.store.usage.listContracts(
      principal.tenantId,
      visibleEnvs,
      since,
      until,
      names,
    );
    return { events, contracts: contracts.slice(0, maxContracts) };
  }
}

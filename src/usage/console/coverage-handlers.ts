// Coverage and history of agents in the console API's words.
import type { ToolDurations } from '../../agent/rules/tool-durations.ts';
import type { HistoryEntry } from '../../agent/use-cases/history.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { dayMs, hourMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import { parseInstant, renderInstant } from '../../shared/instant.ts';
import { coverageRecord } from '../record.ts';
import type { CoveredTool } from '../use-cases/coverage.ts';
import type { FleetAgentCoverage } from '../use-cases/coverage-figures.ts';
import type { coverageRoutes } from './coverage-routes.ts';

const units: { readonly [unit: string]: number } = { m: 60_000, h: hourMs, d: dayMs };
const maxUnits = 3650;

/** Beginning of a time range: `24h`, `30m`, `7d`, or a time. @throws HubError bad_request */
export function beginOf(since: string, now: number): number {
  const [, amount, unit = ''] = /^(\d{1,4})([mhd])$/.exec(since) ?? [];
  const begin =
    amount === undefined
      ? parseInstant(since)
      : Number(amount) > 0 && Number(amount) <= maxUnits
        ? now - Number(amount) * (units[unit] ?? 0)
        : null;
  if (begin !== null) return begin;
  throw new HubError(
    'bad_request',
    `The value of since is not valid. Send an ISO 8601 time, or 1 to ${maxUnits} minutes, hours or days, such as 30m, 24h or 7d.`,
  );
}

export const coverage: Handlers<typeof coverageRoutes> = {
  async agentCoverage({ app, clock }, { params, query }, caller) {
    const since = beginOf(query.since, clock.now());
    const withVerdicts = query.include_verdicts === 'true' || query.include_verdicts === '1';
    const withDurations = query.include_durations === 'true';
    const range = { since, until: query.until, withDurations };
    const coverage = await app.coverage.getAgentCoverage(principalOf(caller), params.agent_id, range);
    const { deployed } = coverage;
    return {
      agent_id: params.agent_id,
      environment: coverage.env,
      time_window: { since: iso(since), until: iso(coverage.until) },
      deployed_bundle: deployed && {
        name: deployed.bundleName,
        version: deployed.version,
        revision_hash: deployed.revisionHash,
      },
      tools: coverage.tools.map((tool) => ({
        ...renderTool(tool, withVerdicts),
        ...(withDurations ? { durations: renderDurations(coverage.durations.get(tool.tool)) } : {}),
      })),
      summary: coverageRecord.render('console', coverage.counts),
    };
  },

  async fleetCoverage(hub, { query }, caller) {
    const { tenantId } = caller;
    const since = beginOf(query.since, hub.clock.now());
    const scope = { tenantId, list: 'coverage' } as const;
    const after = query.cursor === undefined ? null : openCursor(hub, scope, query.cursor);
    const { env = null, limit } = query;
    const fleet = await hub.app.coverage.getFleetCoverage(principalOf(caller), { env, since, limit, after });
    const { summary } = fleet;
    return {
      time_window: { since: iso(since), until: iso(fleet.until) },
      agents: fleet.agents.map(renderAgent),
      fleet_summary: {
        total_agents: summary.agents,
        fully_enforced: summary.fullyEnforced,
        with_ungoverned: summary.withUngoverned,
        with_drift: summary.withDrift,
        total_ungoverned_tools: summary.ungovernedTools,
        ungoverned_tools: summary.tools.map(({ tool, agentCount, agentIds }) => ({
          tool_name: tool,
          agent_count: agentCount,
          agent_ids: [...agentIds],
        })),
      },
      next_cursor: fleet.next === null ? null : sealCursor(hub, scope, fleet.next),
    };
  },

  async agentHistory({ app }, { params, query }, caller) {
    const history = await app.histories.getOfAgent(principalOf(caller), params.agent_id, query.limit);
    return {
      agent_id: params.agent_id,
      environment: history.env,
      events: history.entries.map((entry) => ({
        ...nothing,
        timestamp: time(entry.at),
        ...renderEntry(entry),
      })),
    };
  },
};

const time = (ms: number): string => renderInstant(ms);

const renderTool = ({ by, ...tool }: CoveredTool, withVerdicts: boolean) => ({
  tool_name: tool.tool,
  status: tool.status,
  contract_name: by?.contractName ?? null,
  contract_type: by?.contractType ?? null,
  mode: by?.mode ?? null,
  bundle_name: by?.bundleName ?? null,
  source: by?.source ?? null,
  event_count: tool.events,
  last_used: time(tool.lastUsed),
  deny_count: withVerdicts ? tool.denied : null,
  allow_count: withVerdicts ? tool.allowed : null,
  observe_count: withVerdicts ? tool.observed : null,
});

const renderDurations = (durations: ToolDurations | undefined) =>
  durations
    ? {
        runs: durations.runs,
        p50_ms: durations.p50Ms,
        p95_ms: durations.p95Ms,
        max_ms: durations.maxMs,
      }
    : null;

const renderAgent = ({ agentId, env, counts, drift, lastSeen, events }: FleetAgentCoverage) => ({
  agent_id: agentId,
  environment: env,
  ...coverageRecord.render('console', counts),
  drift_status: drift,
  last_seen: time(lastSeen),
  event_count_24h: events,
});

/** The fields that only some entries of a history have. */
const nothing = {
  bundle_name: null,
  bundle_version: null,
  deployed_by: null,
  revision_hash: null,
  expected_version: null,
  actual_version: null,
  policy_version: null,
  drift_duration_seconds: null,
  environment: null,
};

function renderEntry(entry: HistoryEntry) {
  switch (entry.kind) {
    case 'deployment': {
      const { bundleName, version, deployedBy, revisionHash } = entry.deployment;
      return {
        type: 'deployment',
        bundle_name: bundleName,
        bundle_version: version,
        deployed_by: deployedBy,
        revision_hash: revisionHash,
      } as const;
    }
    case 'driftDetected':
      return {
        type: 'drift_detected',
        bundle_name: entry.bundleName,
        expected_version: entry.expected,
        actual_version: entry.actual,
      } as const;
    case 'driftResolved':
      return {
        type: 'drift_resolved',
        bundle_name: entry.bundleName,
        policy_version: entry.version,
        drift_duration_seconds: entry.seconds,
      } as const;
    case 'firstSeen':
      return { type: 'first_seen', environment: entry.env } as const;
  }
}

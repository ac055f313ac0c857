// Routes of what agents used and ran: coverage of an agent and of the fleet, and an agent's history.
import { z } from 'zod';
import { driftStatus } from '../../agent/record.ts';
import { env, instant, instantInput, intQuery, line, mode, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { coverageCounts } from './coverage-counts.ts';

const count = z.number().int();
/** `<n>m`, `<n>h` or `<n>d`, at most 3,650 of them, or an ISO 8601 time. */
const window = text(40, 1).default('24h');
const environment = z.union([env, z.literal('unknown')]);
export const timeWindow = z.object({ since: instant, until: instant });

export const coverageRoutes = routes({
  agentCoverage: {
    method: 'GET',
    path: '/api/v1/agents/{agent_id}/coverage',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'agents',
    summary:
      'Tools that the agent used in the range, and the contract that governs each: from the bundle that it follows as ' +
      'deployed now, else from the document that it reported',
    params: z.object({ agent_id: line(255) }),
    query: z.object({
      since: window,
      /** Exclusive. Default: up to now. */
      until: instantInput.optional(),
      include_verdicts: z.enum(['true', 'false', '1', '0']).default('false'),
      include_durations: z.enum(['true', 'false']).default('false'),
    }),
    status: 200,
    reply: z.object({
      agent_id: z.string(),
      /** Of its newest event. */
      environment,
      time_window: timeWindow,
      deployed_bundle: z.object({ name: z.string(), version: count, revision_hash: z.string() }).nullable(),
      /** Enforced, observed, ungoverned; each by name. */
      tools: z.array(
        z.object({
          tool_name: z.string(),
          status: z.enum(['enforced', 'observed', 'ungoverned']),
          contract_name: z.string().nullable(),
          contract_type: z.string().nullable(),
          mode: mode.nullable(),
          bundle_name: z.string().nullable(),
          /** `local`: the agent itself reported it. */
          source: z.enum(['console', 'local']).nullable(),
          event_count: count,
          last_used: instant,
          /** With `include_verdicts`; else null. */
          deny_count: count.nullable(),
          allow_count: count.nullable(),
          observe_count: count.nullable(),
          /**
           * With `include_durations`: how long the tool ran in the agent's newest 1,000 calls, in milliseconds; null
           * when none of these was measured.
           */
          durations: z
            .object({ runs: count, p50_ms: z.number(), p95_ms: z.number(), max_ms: z.number() })
            .nullable()
            .optional(),
        }),
      ),
      summary: coverageCounts,
    }),
    search: true,
    errors: ['bad_request', 'not_found', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  fleetCoverage: {
    method: 'GET',
    path: '/api/v1/agents/fleet-coverage',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'agents',
    summary:
      'Coverage of every agent with events since then, ordered by agent id; next_cursor names the next page. The summary covers all agents',
    query: z.object({
      since: window,
      env: env.optional(),
      limit: intQuery(1, 5_000).default(1_000),
      cursor: text(4096, 1).optional(),
    }),
    status: 200,
    reply: z.object({
      time_window: timeWindow,
      agents: z.array(
        z.object({
          agent_id: z.string(),
          environment,
          ...coverageCounts.shape,
          drift_status: driftStatus,
          last_seen: instant.nullable(),
          event_count_24h: count,
        }),
      ),
      fleet_summary: z.object({
        total_agents: count,
        fully_enforced: count,
        with_ungoverned: count,
        with_drift: count,
        total_ungoverned_tools: count,
        /** Tools of most agents first; at most 100, each with the first 100 of its agents. */
        ungoverned_tools: z.array(
          z.object({ tool_name: z.string(), agent_count: count, agent_ids: z.array(z.string()) }),
        ),
      }),
      /** Null on the last page. */
      next_cursor: z.string().nullable(),
    }),
    search: true,
    errors: [
      'bad_request',
      'validation_failed',
      'search_timeout',
      'rate_limited',
      'overloaded',
      'unavailable',
    ],
  },
  agentHistory: {
    method: 'GET',
    path: '/api/v1/agents/{agent_id}/history',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'agents',
    summary: 'Deployments for the agent, and the times of its drift; newest first',
    params: z.object({ agent_id: line(255) }),
    /** Deployments looked at, the newest. */
    query: z.object({ limit: intQuery(1, 200).default(50) }),
    status: 200,
    reply: z.object({
      agent_id: z.string(),
      environment: environment.nullable(),
      events: z.array(
        z.object({
          type: z.enum(['deployment', 'drift_detected', 'drift_resolved', 'first_seen']),
          timestamp: instant,
          bundle_name: z.string().nullable(),
          bundle_version: count.nullable(),
          deployed_by: z.string().nullable(),
          revision_hash: z.string().nullable(),
          expected_version: z.string().nullable(),
          actual_version: z.string().nullable(),
          policy_version: z.string().nullable(),
          drift_duration_seconds: count.nullable(),
          environment: environment.nullable(),
        }),
      ),
    }),
    search: true,
    errors: ['not_found', 'validation_failed', 'search_timeout', 'rate_limited', 'unavailable'],
  },
});

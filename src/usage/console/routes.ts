// Routes of statistics: the figures on the first page, and how contracts decided.
import { z } from 'zod';
import { seriesBy } from '../../event/rules/series.ts';
import { env, instant, instantInput, intQuery, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { attentionKinds } from '../record.ts';

const count = z.number().int();

/** Calls by their first verdict. */
export const callCounts = z.object({ allowed: count, denied: count, would_deny: count, asked: count });

export const overviewRoutes = routes({
  statsOverview: {
    method: 'GET',
    path: '/api/v1/stats/overview',
    auth: ['key', 'cookie'],
    role: 'viewer',
    envs: 'query',
    ownEnvironment: true,
    tag: 'stats',
    summary:
      'Current counts and those of the last 24 hours; an API key gets its environment, a user all or one',
    query: z.object({
      env: env.optional(),
      /** Adds `calls` and the fields below it, of the range and of the range of the same length before it. */
      compare: z.literal('previous').optional(),
      /** Of the range; by default the last 24 hours. */
      since: instantInput.optional(),
      until: instantInput.optional(),
    }),
    status: 200,
    reply: z.object({
      pending_approvals: count,
      active_agents: count,
      total_agents: count,
      events_24h: count,
      denials_24h: count,
      observe_findings_24h: count,
      contracts_triggered_24h: count,
      /** This and the rest only with `compare`. An event counts once, by its first verdict. */
      calls: callCounts.optional(),
      previous: callCounts.optional(),
      /** `known`: registered agents; the others count connected ones. */
      agents: z
        .object({ known: count, connected: count, current: count, drift: count, unknown: count })
        .optional(),
      /** Expiry of the first pending approval. */
      next_deadline: instant.nullable().optional(),
    }),
    search: true,
    errors: ['env_mismatch', 'forbidden', 'validation_failed', 'search_timeout', 'rate_limited'],
  },
  attention: {
    method: 'GET',
    path: '/api/v1/attention',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'stats',
    summary:
      'Items that need attention now, the most urgent first, at most 50: those about subjects that the caller may read. ' +
      'Computed at most once in 5 seconds',
    query: z.object({ env: env.optional() }),
    status: 200,
    reply: z.object({
      items: z.array(
        z.object({
          kind: z.enum(attentionKinds),
          severity: z.enum(['high', 'medium']),
          /** Null: of all environments. */
          env: env.nullable(),
          subject: z.object({ type: z.string(), id: z.string(), name: z.string() }),
          since: instant.nullable(),
          /** After it, it is too late; null: none. */
          deadline: instant.nullable(),
          count,
          /** By kind: docs/console-client.md. */
          facts: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
        }),
      ),
    }),
    search: true,
    errors: ['validation_failed', 'search_timeout', 'rate_limited', 'unavailable'],
  },
  statsSeries: {
    method: 'GET',
    path: '/api/v1/stats/series',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'stats',
    summary:
      'Calls over time, in total or by agent, tool, contract or policy version, by default of the last 24 hours; an event counts ' +
      'once for each of its values, by its first verdict',
    query: z.object({
      env: env.optional(),
      since: instantInput.optional(),
      until: instantInput.optional(),
      by: z.enum(seriesBy).default('total'),
      /**
       * May be repeated. Without it, the `top` values with most denials and would-be denials. Agents beyond 20,000 and
       * tools beyond 2,000 in the range follow as one more, `other`.
       */
      values: z.array(text(255, 1)).max(100).optional(),
      top: intQuery(1, 20).default(10),
      /** Buckets, at most. */
      points: intQuery(1, 200).default(48),
    }),
    repeated: ['values'],
    status: 200,
    reply: z.object({
      /** Beginning of the first bucket. */
      start: instant,
      /** 60, 300, 900, 3,600, 21,600 or 86,400: the smallest that keeps `points`. By agent at least 3,600. */
      bucket_seconds: count,
      /** Events that the hub received until then are counted, the late ones too. */
      complete_to: instant,
      series: z.array(
        z.object({
          /** Null for the total. */
          value: z.string().nullable(),
          total: count,
          allowed: z.array(count),
          denied: z.array(count),
          would_deny: z.array(count),
          asked: z.array(count),
        }),
      ),
    }),
    search: true,
    errors: ['validation_failed', 'unprocessable', 'search_timeout', 'rate_limited'],
  },
  statsContracts: {
    method: 'GET',
    path: '/api/v1/stats/contracts',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'stats',
    summary:
      'Decisions by contract in a time range, by default the last 24 hours, most evaluations first; a call counts once for each ' +
      'contract in its event',
    query: z.object({ env: env.optional(), since: instantInput.optional(), until: instantInput.optional() }),
    status: 200,
    reply: z.object({
      /** The 1,000 contracts of most calls. */
      coverage: z.array(
        z.object({
          decision_name: z.string(),
          total_evaluations: count,
          total_denials: count,
          /** Calls that it would have denied. */
          total_warnings: count,
          last_triggered: instant.nullable(),
        }),
      ),
      total_events: count,
      period_start: instant,
      /** Not part of it. */
      period_end: instant,
    }),
    search: true,
    errors: ['validation_failed', 'unprocessable', 'search_timeout', 'rate_limited'],
  },
});

// Routes of replays: what a document would have decided on the calls that agents reported, against what is deployed.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { env, instant, instantInput, line, yamlContent } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import { doubts } from '../rules/replay-judge.ts';

const count = z.number().int();

/** Calls that are looked at, results that are listed, and their defaults. */
export const replayLimits = { calls: 10_000, results: 2000, usualResults: 500 } as const;

export const replayErrors = [
  'forbidden',
  'not_found',
  'validation_failed',
  'unprocessable',
  'search_timeout',
  'rate_limited',
  'overloaded',
  'unavailable',
] as const;

/** Why a result is not certain; see docs/hosted-api.md. */
export const replayDoubt = z.enum(doubts);

/** A document of the replay; its version is null where it is not a saved one. */
export const replaySide = z.object({ version: count.nullable(), revision_hash: z.string() });

export const replayWindow = z.object({ since: instant, until: instant, env: env.nullable() });

export const replayedSession = z.object({
  agent_id: z.string(),
  session_id: z.string(),
  calls: count,
  changed: count,
});

/** Post rules look at what a tool gave, which is not stored. */
export const skippedRules = z.object({ base: count, candidate: count });

/** What a result says of its call. */
export const replayedCall = {
  /** The event that decided it first. */
  event_id: z.string(),
  /** Null when its sender gave none. */
  call_id: z.string().nullable(),
  agent_id: z.string(),
  session_id: z.string().nullable(),
  tool_name: z.string(),
  timestamp: instant,
};

/** What stands beside the results, in the words of either API. */
export const replayFrame = {
  name: z.string(),
  candidate: replaySide,
  window: replayWindow,
  /** How many calls were looked at, of how many. */
  calls_seen: count,
  calls_in_window: count,
  /** The time was over before all calls that were asked for had been seen. */
  truncated: z.boolean(),
  /** Results that found no room in the answer, or in `limit`. */
  results_left_out: count,
  /** The first 200, those with the newest calls first. */
  sessions: z.array(replayedSession),
};

export const replayJudgement = z.object({
  decision: z.enum(['allow', 'deny', 'approve', 'would_deny']),
  contract_id: z.string().nullable(),
  message: z.string().nullable(),
  policy_error: z.boolean(),
});

const change = z.enum(['unchanged', 'newly_denied', 'newly_asked', 'newly_allowed', 'newly_observed']);

export const consoleReplay = z.object({
  ...replayFrame,
  /** What is deployed; null: nothing, which allows every call. */
  base: replaySide.nullable(),
  totals: z.object({
    sessions: count,
    calls: count,
    unchanged: count,
    newly_denied: count,
    newly_asked: count,
    newly_allowed: count,
    newly_observed: count,
    uncertain: count,
    errors: count,
    by_contract: z.array(z.object({ contract_id: z.string(), base_hits: count, candidate_hits: count })),
  }),
  results: z.array(
    z.object({
      ...replayedCall,
      recorded_verdict: z.string(),
      base: replayJudgement,
      candidate: replayJudgement,
      change,
      uncertain: z.boolean(),
      uncertain_because: z.array(replayDoubt),
    }),
  ),
  skipped_contracts: skippedRules,
});

/** Whose calls, and how many. */
const scope = {
  env,
  /** Compared with this saved version; absent: with what is deployed in the environment. */
  base_version: z.number().int().min(1).max(999_999_999).optional(),
  /** Default: the last 7 days, until now. */
  since: instantInput.optional(),
  until: instantInput.optional(),
  agent_id: line(255).optional(),
  /** The newest. */
  calls: z.number().int().min(1).max(replayLimits.calls).default(replayLimits.calls),
  /** Results that are listed. */
  limit: z.number().int().min(1).max(replayLimits.results).default(replayLimits.usualResults),
  /** Lists only calls that would be decided otherwise. */
  changed_only: z.boolean().default(true),
};

export const replayRoutes = routes({
  replayBundle: {
    method: 'POST',
    path: '/api/v1/bundles/replay',
    auth: ['cookie'],
    tag: 'bundles',
    summary:
      'Compare the decisions of a text and of the deployed bundle of its name on the newest calls that agents reported. Deploys nothing',
    body: z.object({ yaml_content: yamlContent, ...scope }),
    reads: true,
    limits: [limits.replays],
    status: 200,
    reply: consoleReplay,
    errors: replayErrors,
    bodyLimit: documentBody,
  },
  replayComposition: {
    method: 'POST',
    path: '/api/v1/compositions/{name}/replay',
    auth: ['cookie'],
    tag: 'compositions',
    summary:
      'Compare the decisions of a saved composition and of the deployed bundle of its name on the newest calls ' +
      'that agents reported. Deploys nothing',
    params: z.object({ name: z.string().max(512) }),
    body: z.object(scope),
    reads: true,
    limits: [limits.replays],
    status: 200,
    reply: consoleReplay,
    errors: replayErrors,
  },
});

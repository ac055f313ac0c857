// Routes of replays on the hosted API: two saved versions of a ruleset, or a saved one and a text, over the calls that
// agents reported.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { env, instantInput, intQuery, yamlContent } from '../../http/contract/fields.ts';
import { identifier } from '../../http/contract/hosted-fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import {
  replayDoubt,
  replayErrors,
  replayedCall,
  replayFrame,
  replayLimits,
  replaySide,
  skippedRules,
} from '../wire/replay-schemas.ts';

const count = z.number().int();
const maxVersion = 999_999_999;
const [maxSessions, usualSessions] = [200, 20];

export const hostedReplayJudgement = z.object({
  decision: z.enum(['allow', 'block', 'ask', 'would_block']),
  rule_id: z.string().nullable(),
  message: z.string().nullable(),
  policy_error: z.boolean(),
});

export const hostedReplayChange = z.enum([
  'unchanged',
  'newly_blocked',
  'newly_asked',
  'newly_allowed',
  'newly_observed',
]);

export const hostedReplay = z.object({
  ...replayFrame,
  base: replaySide,
  totals: z.object({
    sessions: count,
    calls: count,
    unchanged: count,
    newly_blocked: count,
    newly_asked: count,
    newly_allowed: count,
    newly_observed: count,
    uncertain: count,
    errors: count,
    by_rule: z.array(z.object({ rule_id: z.string(), base_hits: count, candidate_hits: count })),
  }),
  results: z.array(
    z.object({
      ...replayedCall,
      recorded_action: z.string(),
      base: hostedReplayJudgement,
      candidate: hostedReplayJudgement,
      change: hostedReplayChange,
      uncertain: z.boolean(),
      uncertain_because: z.array(replayDoubt),
    }),
  ),
  skipped_rules: skippedRules,
});

const version = z.number().int().min(1).max(maxVersion);
const params = z.object({ name: z.string().max(512) });

const shared = {
  method: 'GET',
  path: '/v1/rulesets/{name}/replay',
  auth: ['operatorJwt'],
  role: 'operator',
  envs: 'query',
  tag: 'hosted-rulesets',
  params,
  limits: [limits.replays],
  status: 200,
  reply: hostedReplay,
  errors: replayErrors,
} as const;

export const hostedReplayRoutes = routes({
  hostedReplayVersions: {
    ...shared,
    summary: 'Compare the decisions of two saved versions on the newest calls that agents reported',
    query: z.object({
      /** Default: the newest version. */
      candidate: intQuery(1, maxVersion).optional(),
      /** Default: what is deployed in the environment, else the version before the candidate. */
      base: intQuery(1, maxVersion).optional(),
      /** Default: all. */
      env: env.optional(),
      /** Default: the last 7 days, until now. */
      since: instantInput.optional(),
      until: instantInput.optional(),
      /** The most recent ones; calls of no session count besides. */
      sessions: intQuery(1, maxSessions).default(usualSessions),
      agent_id: identifier.optional(),
      session_id: identifier.optional(),
      calls: intQuery(1, replayLimits.calls).default(replayLimits.calls),
      /** Results that are listed. */
      limit: intQuery(1, replayLimits.results).default(replayLimits.usualResults),
      changed_only: z
        .enum(['true', 'false'])
        .default('true')
        .transform((value) => value === 'true'),
    }),
  },
  hostedReplayText: {
    ...shared,
    envs: 'body',
    method: 'POST',
    summary: 'Compare an unsaved document (`yaml_content`) with a saved version; parameters are in the body',
    body: z
      .object({
        yaml_content: yamlContent.optional(),
        candidate: version.optional(),
        base: version.optional(),
        env: env.optional(),
        since: instantInput.optional(),
        until: instantInput.optional(),
        sessions: z.number().int().min(1).max(maxSessions).default(usualSessions),
        agent_id: identifier.optional(),
        session_id: identifier.optional(),
        calls: z.number().int().min(1).max(replayLimits.calls).default(replayLimits.calls),
        limit: z.number().int().min(1).max(replayLimits.results).default(replayLimits.usualResults),
        changed_only: z.boolean().default(true),
      })
      .refine(
        ({ yaml_content, candidate }) => yaml_content === undefined || candidate === undefined,
        'must not contain both yaml_content and candidate',
      ),
    reads: true,
    bodyLimit: documentBody,
  },
});

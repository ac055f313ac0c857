// Routes of replays on the hosted API: two saved versions of a ruleset, or a saved one and a text, over the calls that
// agents reported.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { env, instantInput, intQuery, yamlContent } from '../../http/contract/fields.ts';
import { identifier } from '../../http/contract/hosted-fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import {
  count,
  replayDoubt,
  replayErrors,
  replayFrame,
  replayLimits,
  replaySide,
  skippedRules,
} from '../console/replay-schemas.ts';
import {
  changeCountRecord,
  changeRecord,
  judgementRecord,
  replayedCallRecord,
  ruleHitsRecord,
} from '../record.ts';

const maxVersion = 999_999_999;
const [maxSessions, usualSessions] = [200, 20];

export const hostedReplayJudgement = judgementRecord.reply('hosted', 'one');
const change = changeRecord.reply('hosted', 'one').shape;
export const hostedReplayChange = change.change;

export const hostedReplay = z.object({
  ...replayFrame,
  base: replaySide,
  totals: z.object({
    sessions: count,
    calls: count,
    ...changeCountRecord.reply('hosted', 'one').shape,
    uncertain: count,
    errors: count,
    by_rule: z.array(ruleHitsRecord.reply('hosted', 'one')),
  }),
  results: z.array(
    z.object({
      ...replayedCallRecord.reply('hosted', 'one').shape,
      recorded_action: z.string(),
      base: hostedReplayJudgement,
      candidate: hostedReplayJudgement,
      ...change,
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
      /** The most recent ones; calls of no session count beside them. */
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

// Routes of replays: what a document would have decided on the calls that agents reported, against what is deployed.
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { env, instantInput, line, yamlContent } from '../../http/contract/fields.ts';
import { documentBody, routes } from '../../http/contract/route.ts';
import {
  changeCountRecord,
  changeRecord,
  judgementRecord,
  replayedCallRecord,
  ruleHitsRecord,
} from '../record.ts';
import {
  count,
  replayDoubt,
  replayErrors,
  replayFrame,
  replayLimits,
  replaySide,
  skippedRules,
} from './replay-schemas.ts';

export const replayJudgement = judgementRecord.reply('console', 'one');

export const consoleReplay = z.object({
  ...replayFrame,
  /** Deployed side; null: nothing is deployed, which allows every call. */
  base: replaySide.nullable(),
  totals: z.object({
    sessions: count,
    calls: count,
    ...changeCountRecord.reply('console', 'one').shape,
    uncertain: count,
    errors: count,
    by_contract: z.array(ruleHitsRecord.reply('console', 'one')),
  }),
  results: z.array(
    z.object({
      ...replayedCallRecord.reply('console', 'one').shape,
      recorded_verdict: z.string(),
      base: replayJudgement,
      candidate: replayJudgement,
      ...changeRecord.reply('console', 'one').shape,
      uncertain: z.boolean(),
      uncertain_because: z.array(replayDoubt),
    }),
  ),
  skipped_contracts: skippedRules,
});

/** Calls to replay, and how many. */
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
    role: 'operator',
    envs: 'body',
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
    role: 'operator',
    envs: 'body',
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

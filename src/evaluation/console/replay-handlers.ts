// Replays in the console API's words.
import type { z } from 'zod';
import { consoleVerdict } from '../../event/rules/decision.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { ReplayChange } from '../rules/replay.ts';
import type { Judgement } from '../rules/replay-judge.ts';
import type { Replay, ReplayCandidate, ReplayRequest } from '../use-cases/replays.ts';
import { renderCall, renderFrame, renderSide } from '../wire/replay.ts';
import type { consoleReplay, replayRoutes } from './replay-routes.ts';

type Body = z.output<(typeof replayRoutes)['replayComposition']['body']>;

const requestOf = (candidate: ReplayCandidate, body: Body): ReplayRequest => ({
  candidate,
  base: body.base_version ?? null,
  baseRequired: false,
  name: null,
  noun: 'Bundle',
  env: body.env,
  since: body.since ?? null,
  until: body.until ?? null,
  agentId: body.agent_id ?? null,
  sessionId: null,
  maxCalls: body.calls,
  maxSessions: null,
  maxResults: body.limit,
  changedOnly: body.changed_only,
});

export const replay: Handlers<typeof replayRoutes> = {
  replayBundle: async ({ app }, { body }, caller, { limits }) =>
    render(
      await app.replays.run(principalOf(caller), requestOf({ yaml: body.yaml_content }, body), limits.count),
    ),

  replayComposition: async ({ app }, { params, body }, caller, { limits }) =>
    render(
      await app.replays.run(principalOf(caller), requestOf({ composition: params.name }, body), limits.count),
    ),
};

const decisions = { allow: 'allow', block: 'deny', ask: 'approve', wouldBlock: 'would_deny' } as const;

const changes = {
  unchanged: 'unchanged',
  newlyBlocked: 'newly_denied',
  newlyAsked: 'newly_asked',
  newlyAllowed: 'newly_allowed',
  newlyObserved: 'newly_observed',
} as const satisfies { readonly [C in ReplayChange]: string };

const judgement = ({ decision, ruleId, message, policyError }: Judgement) => ({
  decision: decisions[decision],
  contract_id: ruleId,
  message,
  policy_error: policyError,
});

function render(replay: Replay): z.input<typeof consoleReplay> {
  const { totals } = replay;
  const { newlyBlocked: newly_denied, ...others } = totals.changes;
  return {
    ...renderFrame(replay),
    base: replay.base && renderSide(replay.base),
    totals: {
      sessions: totals.sessions,
      calls: totals.calls,
      ...snakeKeys(others),
      newly_denied,
      uncertain: totals.uncertain,
      errors: totals.errors,
      by_contract: replay.byRule.map(({ ruleId, base, candidate }) => ({
        contract_id: ruleId,
        base_hits: base,
        candidate_hits: candidate,
      })),
    },
    results: replay.results.map(({ call, base, candidate, change, doubts }) => ({
      ...renderCall(call),
      recorded_verdict: consoleVerdict(call.recordedAction),
      base: judgement(base),
      candidate: judgement(candidate),
      change: changes[change],
      uncertain: doubts.length > 0,
      uncertain_because: [...doubts],
    })),
    skipped_contracts: replay.skippedRules,
  };
}

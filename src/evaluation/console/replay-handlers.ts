// Replays in the console API's words.
import type { z } from 'zod';
import { consoleVerdict } from '../../event/rules/decision.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import {
  changeCountRecord,
  changeRecord,
  judgementRecord,
  replayedCallRecord,
  replayedSessionRecord,
  replaySideRecord,
  replaySizeRecord,
  replayWindowRecord,
  ruleHitsRecord,
} from '../record.ts';
import type { Replay, ReplayCandidate, ReplayRequest } from '../use-cases/replays.ts';
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

function render(replay: Replay): z.input<typeof consoleReplay> {
  const { totals } = replay;
  return {
    name: replay.name,
    candidate: replaySideRecord.render('console', replay.candidate),
    window: replayWindowRecord.render('console', replay.window),
    ...replaySizeRecord.render('console', replay),
    sessions: replay.sessions.map((session) => replayedSessionRecord.render('console', session)),
    base: replay.base && replaySideRecord.render('console', replay.base),
    totals: {
      sessions: totals.sessions,
      calls: totals.calls,
      ...changeCountRecord.render('console', totals.changes),
      uncertain: totals.uncertain,
      errors: totals.errors,
      by_contract: replay.byRule.map((hits) => ruleHitsRecord.render('console', hits)),
    },
    results: replay.results.map(({ call, base, candidate, change, doubts }) => ({
      ...replayedCallRecord.render('console', call),
      recorded_verdict: consoleVerdict(call.recordedAction),
      base: judgementRecord.render('console', base),
      candidate: judgementRecord.render('console', candidate),
      ...changeRecord.render('console', { change }),
      uncertain: doubts.length > 0,
      uncertain_because: [...doubts],
    })),
    skipped_contracts: replay.skippedRules,
  };
}

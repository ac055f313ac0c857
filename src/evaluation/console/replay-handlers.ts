// Replays in the console API's words.
import type { z } from 'zod';
import { consoleVerdict } from '../../event/rules/decision.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { replaySideRecord } from '../record.ts';
import type { Replay, ReplayCandidate, ReplayRequest } from '../use-cases/replays.ts';
import { renderFrame, renderHits, renderResult, renderTotals } from '../wire/replay.ts';
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

const render = (replay: Replay): z.input<typeof consoleReplay> => ({
  ...renderFrame('console', replay),
  base: replay.base && replaySideRecord.render('console', replay.base),
  totals: { ...renderTotals('console', replay), by_contract: renderHits('console', replay) },
  results: replay.results.map((result) =>
    renderResult('console', result, { recorded_verdict: consoleVerdict(result.call.recordedAction) }),
  ),
  skipped_contracts: replay.skippedRules,
});

// Replays in the hosted API's words.
import type { z } from 'zod';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { HubError } from '../../shared/error.ts';
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
import type { hostedReplay, hostedReplayRoutes } from './routes.ts';

type Query = z.output<(typeof hostedReplayRoutes)['hostedReplayVersions']['query']>;

const requestOf = (name: string, candidate: ReplayCandidate, query: Query): ReplayRequest => ({
  candidate,
  base: query.base ?? null,
  baseRequired: true,
  name,
  noun: 'Ruleset',
  env: query.env ?? null,
  since: query.since ?? null,
  until: query.until ?? null,
  agentId: query.agent_id ?? null,
  sessionId: query.session_id ?? null,
  maxCalls: query.calls,
  maxSessions: query.sessions,
  maxResults: query.limit,
  changedOnly: query.changed_only,
});

export const hostedReplays: Handlers<typeof hostedReplayRoutes> = {
  async hostedReplayVersions({ app }, { params: { name }, query }, caller, { limits }) {
    const candidate = { name, version: query.candidate ?? null };
    return render(
      await app.replays.run(principalOf(caller), requestOf(name, candidate, query), limits.count),
    );
  },

  async hostedReplayText({ app }, { params: { name }, body }, caller, { limits }) {
    const { yaml_content: yaml } = body;
    const candidate = yaml === undefined ? { name, version: body.candidate ?? null } : { yaml };
    return render(await app.replays.run(principalOf(caller), requestOf(name, candidate, body), limits.count));
  },
};

function render(replay: Replay): z.input<typeof hostedReplay> {
  const { totals } = replay;
  // The request asks for a base.
  if (!replay.base) throw new HubError('internal', 'A replay without a base.');
  return {
    name: replay.name,
    candidate: replaySideRecord.render('hosted', replay.candidate),
    window: replayWindowRecord.render('hosted', replay.window),
    ...replaySizeRecord.render('hosted', replay),
    sessions: replay.sessions.map((session) => replayedSessionRecord.render('hosted', session)),
    base: replaySideRecord.render('hosted', replay.base),
    totals: {
      sessions: totals.sessions,
      calls: totals.calls,
      ...changeCountRecord.render('hosted', totals.changes),
      uncertain: totals.uncertain,
      errors: totals.errors,
      by_rule: replay.byRule.map((hits) => ruleHitsRecord.render('hosted', hits)),
    },
    results: replay.results.map(({ call, base, candidate, change, doubts }) => ({
      ...replayedCallRecord.render('hosted', call),
      recorded_action: call.recordedAction,
      base: judgementRecord.render('hosted', base),
      candidate: judgementRecord.render('hosted', candidate),
      ...changeRecord.render('hosted', { change }),
      uncertain: doubts.length > 0,
      uncertain_because: [...doubts],
    })),
    skipped_rules: replay.skippedRules,
  };
}

// The parts of a replay that both APIs share.
// biome-ignore lint/correctness/noUnusedImports: declarations of these functions name types of it.
import type * as zodCore from 'zod/v4/core';
import type { ReplyApi } from '../../shared/record.ts';
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
import type { ReplayResult } from '../rules/replay.ts';
import type { Replay } from '../use-cases/replays.ts';

/** Fields beside the results. */
export const renderFrame = <A extends ReplyApi>(api: A, replay: Replay) => ({
  name: replay.name,
  candidate: replaySideRecord.render(api, replay.candidate),
  window: replayWindowRecord.render(api, replay.window),
  ...replaySizeRecord.render(api, replay),
  sessions: replay.sessions.map((session) => replayedSessionRecord.render(api, session)),
});

export const renderTotals = <A extends ReplyApi>(api: A, { totals }: Replay) => ({
  sessions: totals.sessions,
  calls: totals.calls,
  ...changeCountRecord.render(api, totals.changes),
  uncertain: totals.uncertain,
  errors: totals.errors,
});

export const renderHits = <A extends ReplyApi>(api: A, { byRule }: Replay) =>
  byRule.map((hits) => ruleHitsRecord.render(api, hits));

/** @param recorded the decision of then, in the words of the API */
export const renderResult = <A extends ReplyApi, R extends object>(
  api: A,
  { call, base, candidate, change, doubts }: ReplayResult,
  recorded: R,
) => ({
  ...replayedCallRecord.render(api, call),
  ...recorded,
  base: judgementRecord.render(api, base),
  candidate: judgementRecord.render(api, candidate),
  ...changeRecord.render(api, { change }),
  uncertain: doubts.length > 0,
  uncertain_because: [...doubts],
});

// What both APIs say alike of a replay.
import type { ReplyApi, ReplyOf } from '../../shared/record.ts';
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

interface Frame<A extends ReplyApi> {
  readonly name: Replay['name'];
  readonly candidate: ReplyOf<typeof replaySideRecord, A>;
  readonly window: ReplyOf<typeof replayWindowRecord, A>;
}
interface Sessions<A extends ReplyApi> {
  readonly sessions: ReplyOf<typeof replayedSessionRecord, A>[];
}

// The types of replies are written out: declarations of the build cannot name them by themselves.
/** What stands beside the results. */
export const renderFrame = <A extends ReplyApi>(
  api: A,
  replay: Replay,
): Frame<A> & ReplyOf<typeof replaySizeRecord, A> & Sessions<A> =>
  Object.assign(
    {
      name: replay.name,
      candidate: replaySideRecord.render(api, replay.candidate),
      window: replayWindowRecord.render(api, replay.window),
    },
    replaySizeRecord.render(api, replay),
    { sessions: replay.sessions.map((session) => replayedSessionRecord.render(api, session)) },
  );

type Totals = Replay['totals'];

export const renderTotals = <A extends ReplyApi>(
  api: A,
  { totals }: Replay,
): Pick<Totals, 'sessions' | 'calls'> &
  ReplyOf<typeof changeCountRecord, A> &
  Pick<Totals, 'uncertain' | 'errors'> =>
  Object.assign(
    { sessions: totals.sessions, calls: totals.calls },
    changeCountRecord.render(api, totals.changes),
    { uncertain: totals.uncertain, errors: totals.errors },
  );

export const renderHits = <A extends ReplyApi>(
  api: A,
  { byRule }: Replay,
): ReplyOf<typeof ruleHitsRecord, A>[] => byRule.map((hits) => ruleHitsRecord.render(api, hits));

interface Judgements<A extends ReplyApi> {
  readonly base: ReplyOf<typeof judgementRecord, A>;
  readonly candidate: ReplyOf<typeof judgementRecord, A>;
}
interface Doubts {
  readonly uncertain: boolean;
  readonly uncertain_because: ReplayResult['doubts'][number][];
}

/** @param recorded the decision of then, in the words of the API */
export const renderResult = <A extends ReplyApi, R extends object>(
  api: A,
  { call, base, candidate, change, doubts }: ReplayResult,
  recorded: R,
): ReplyOf<typeof replayedCallRecord, A> & R & Judgements<A> & ReplyOf<typeof changeRecord, A> & Doubts => {
  const judgements = {
    base: judgementRecord.render(api, base),
    candidate: judgementRecord.render(api, candidate),
  };
  const changed = Object.assign(judgements, changeRecord.render(api, { change }), {
    uncertain: doubts.length > 0,
    uncertain_because: [...doubts],
  });
  return Object.assign({}, replayedCallRecord.render(api, call), recorded, changed);
};

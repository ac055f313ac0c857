// Schemas of replays that both APIs share.
import { z } from 'zod';
import { replayedSessionRecord, replaySideRecord, replaySizeRecord, replayWindowRecord } from '../record.ts';
import { doubts } from '../rules/replay-judge.ts';

export const count = z.number().int();

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

/** Reason why a result is not certain; see docs/hosted-api.md. */
export const replayDoubt = z.enum(doubts);

/** Post rules look at what a tool gave, which is not stored. */
export const skippedRules = z.object({ base: count, candidate: count });

export const replaySide = replaySideRecord.reply('console', 'one');
export const replayWindow = replayWindowRecord.reply('console', 'one');
export const replayedSession = replayedSessionRecord.reply('console', 'one');

/** Fields beside the results, in the words of either API. */
export const replayFrame = {
  name: z.string(),
  candidate: replaySide,
  window: replayWindow,
  ...replaySizeRecord.reply('console', 'one').shape,
  /** The first 200, those with the newest calls first. */
  sessions: z.array(replayedSession),
};

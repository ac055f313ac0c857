// Schemas of replays that both APIs share.
import { z } from 'zod';
import { env, instant } from '../../http/contract/fields.ts';
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

/** Why a result is not certain; see docs/hosted-api.md. */
export const replayDoubt = z.enum(doubts);

/** A document of the replay; its version is null where it is not a saved one. */
export const replaySide = z.object({ version: count.nullable(), revision_hash: z.string() });

export const replayWindow = z.object({ since: instant, until: instant, env: env.nullable() });

export const replayedSession = z.object({
  agent_id: z.string(),
  session_id: z.string(),
  calls: count,
  changed: count,
});

/** Post rules look at what a tool gave, which is not stored. */
export const skippedRules = z.object({ base: count, candidate: count });

/** What a result says of its call. */
export const replayedCall = {
  /** The event that decided it first. */
  event_id: z.string(),
  /** Null when its sender gave none. */
  call_id: z.string().nullable(),
  agent_id: z.string(),
  session_id: z.string().nullable(),
  tool_name: z.string(),
  timestamp: instant,
};

/** What stands beside the results, in the words of either API. */
export const replayFrame = {
  name: z.string(),
  candidate: replaySide,
  window: replayWindow,
  /** How many calls were looked at, of how many. */
  calls_seen: count,
  calls_in_window: count,
  /** The time was over before all calls that were asked for had been seen. */
  truncated: z.boolean(),
  /** Results that found no room in the answer, or in `limit`. */
  results_left_out: count,
  /** The first 200, those with the newest calls first. */
  sessions: z.array(replayedSession),
};

// The fields of a dry run, and those of a replay's parts.
import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { anyObject, env } from '../shared/schemas.ts';
import type { SnakeKeys } from '../shared/snake-keys.ts';

const count = z.number().int();

/** A dry run of a document against one call, in the words of the rule language. */
const evaluationFields = {
  /** `allow`, `deny`, `approve` (nothing refuses, and a person would be asked) or `warn` (a post contract fired). */
  verdict: field(z.string()),
  mode: field(z.string()),
  contractsEvaluated: field(
    z.array(
      z.object({
        id: z.string(),
        type: z.string(),
        /** True when the call passed the contract; false when it fired. */
        matched: z.boolean(),
        /** The opposite of `matched`. */
        fired: z.boolean(),
        effect: z.string().nullable(),
        message: z.string().nullable(),
        observed: z.boolean(),
        tags: z.array(z.string()),
        /** Each condition with the value it saw, secrets replaced; null for sandboxes and session contracts. */
        trace: anyObject.nullable(),
      }),
    ),
  ),
  decidingContract: field(z.string().nullable()),
  policyVersion: field(z.string()),
  /** Milliseconds of the run itself, to two places: no waiting, no start of a worker. */
  evaluationTimeMs: field(z.number()),
};
export const evaluationRecord = record('evaluations', evaluationFields);
/** The time of a dry run, as its result contains it: a worker writes the whole result as JSON. */
export type EvaluationTime = SnakeKeys<Pick<RecordOf<typeof evaluationFields>, 'evaluationTimeMs'>>;

export const replayDecisions = ['allow', 'block', 'ask', 'wouldBlock'] as const;
export type ReplayDecision = (typeof replayDecisions)[number];

const judgementFields = {
  decision: field(z.enum(replayDecisions), {
    console: { words: { block: 'deny', ask: 'approve', wouldBlock: 'would_deny' } },
    hosted: { words: { wouldBlock: 'would_block' } },
  }),
  /** The rule or limit that decided, or that would have. */
  ruleId: field(z.string().nullable(), { console: { name: 'contract_id' } }),
  message: field(z.string().nullable()),
  /** A rule could not be evaluated, and fired for that reason. */
  policyError: field(z.boolean()),
};
export type Judgement = RecordOf<typeof judgementFields>;
export const judgementRecord = record('judgements', judgementFields);

/** Named by the second document's decision; `unchanged`: both decide the same, whichever rule decides. */
export const replayChanges = [
  'unchanged',
  'newlyBlocked',
  'newlyAsked',
  'newlyAllowed',
  'newlyObserved',
] as const;
export type ReplayChange = (typeof replayChanges)[number];

const others = {
  newlyAsked: 'newly_asked',
  newlyAllowed: 'newly_allowed',
  newlyObserved: 'newly_observed',
} as const;
export const changeRecord = record('changes', {
  change: field(z.enum(replayChanges), {
    console: { words: { newlyBlocked: 'newly_denied', ...others } },
    hosted: { words: { newlyBlocked: 'newly_blocked', ...others } },
  }),
});

/** Calls by change. */
const changeCountFields = {
  unchanged: field(count),
  newlyBlocked: field(count, { console: { name: 'newly_denied' } }),
  newlyAsked: field(count),
  newlyAllowed: field(count),
  newlyObserved: field(count),
} satisfies { readonly [C in ReplayChange]: unknown };
export type ReplayChangeCounts = RecordOf<typeof changeCountFields>;
export const changeCountRecord = record('changes', changeCountFields);

/** A call of a replay, as its result names it. */
const replayedCallFields = {
  /** The first event that decided the call. */
  eventId: field(z.string()),
  /** Null: its sender gave it none. */
  callId: field(z.string().nullable()),
  agentId: field(z.string()),
  sessionId: field(z.string().nullable()),
  tool: field(z.string(), { name: 'tool_name' }),
  timestamp: field(instant),
};
export type ReplayedCall = RecordOf<typeof replayedCallFields>;
export const replayedCallRecord = record('calls', replayedCallFields);

/** A document of a replay. */
const replaySideFields = {
  /** Null: it is no saved version. */
  version: field(count.nullable()),
  revisionHash: field(z.string()),
};
export type ReplaySide = RecordOf<typeof replaySideFields>;
export const replaySideRecord = record('documents', replaySideFields);

const replayedSessionFields = {
  agentId: field(z.string()),
  sessionId: field(z.string()),
  calls: field(count),
  changed: field(count),
};
export type ReplayedSession = RecordOf<typeof replayedSessionFields>;
export const replayedSessionRecord = record('sessions', replayedSessionFields);

/** Of how many calls a rule decided. */
const ruleHitsFields = {
  ruleId: field(z.string(), { console: { name: 'contract_id' } }),
  base: field(count, { name: 'base_hits' }),
  candidate: field(count, { name: 'candidate_hits' }),
};
export type RuleHits = RecordOf<typeof ruleHitsFields>;
export const ruleHitsRecord = record('rules', ruleHitsFields);

/** The time of the calls; null: every environment. */
const replayWindowFields = {
  since: field(instant),
  until: field(instant),
  env: field(env.nullable()),
};
export type ReplayWindow = RecordOf<typeof replayWindowFields>;
export const replayWindowRecord = record('windows', replayWindowFields);

/** The size of a replay. */
const replaySizeFields = {
  /** Looked at. */
  callsSeen: field(count),
  /**
   * All that there are. Where not all were seen they are counted by their events: a call counts once for each event
   * that decided it, which is once but for rules that observe.
   */
  callsInWindow: field(count),
  /** The time was over before all calls that were requested had been seen. */
  truncated: field(z.boolean()),
  /** Results that found no room in the answer, or in the limit of the request. */
  leftOut: field(count, { name: 'results_left_out' }),
};
export type ReplaySize = RecordOf<typeof replaySizeFields>;
export const replaySizeRecord = record('replays', replaySizeFields);

// The result of a replay: the decisions of two documents on each stored call, their differences and sums. Pure.
import type { Judgement, ReplayChange, ReplayChangeCounts, ReplayedSession, RuleHits } from '../record.ts';
import type { SeenCall } from './replay-call.ts';
import type { Doubt, Judged, LimitJudged } from './replay-judge.ts';

const changeTo: { readonly [D in Judgement['decision']]: ReplayChange } = {
  block: 'newlyBlocked',
  ask: 'newlyAsked',
  allow: 'newlyAllowed',
  wouldBlock: 'newlyObserved',
};

export interface ReplayResult {
  readonly call: SeenCall;
  readonly base: Judgement;
  readonly candidate: Judgement;
  readonly change: ReplayChange;
  /** Empty: it is certain. */
  readonly doubts: readonly Doubt[];
}

export interface ReplayTotals {
  readonly sessions: number;
  readonly calls: number;
  readonly changes: ReplayChangeCounts;
  readonly uncertain: number;
  /** Calls on which a rule of either document could not be evaluated. */
  readonly errors: number;
}

export interface ReplayReport {
  readonly totals: ReplayTotals;
  /** Rules of most hits first. */
  readonly byRule: readonly RuleHits[];
  /** Newest first. */
  readonly results: readonly ReplayResult[];
  /** Results that were asked for and found no room. */
  readonly leftOut: number;
  /** Sessions, those with the newest calls first. */
  readonly sessions: readonly ReplayedSession[];
}

/** Both judgements of a call by its rules, and by its limits. */
export interface JudgedCall {
  readonly base: Judged;
  readonly candidate: Judged;
  readonly baseLimits: LimitJudged;
  readonly candidateLimits: LimitJudged;
}

export interface ReportOptions {
  /** Results that are listed at most. */
  readonly maxResults: number;
  /** Lists only calls that are decided otherwise. */
  readonly changedOnly: boolean;
}

/** Sessions, and rules, that a report names. */
const maxSessions = 200;
const maxRules = 500;
/** Bytes of the results of one report, as JSON: an answer holds 4 MiB, with rules and sessions. */
const maxBytes = 2.75 * 1024 * 1024;

/** The engine's order: the attempt limit, then what refuses, session rules and limits, and last what asks or allows. */
export function withLimits(judged: Judged, { judgement, first }: LimitJudged): Judgement {
  if (judgement !== null && (first || !judged.refuses)) return judgement;
  const { decision, ruleId, message, policyError } = judged;
  return { decision, ruleId, message, policyError };
}

/** A limit that might have refused matters only where nothing else refuses. */
const isInDoubt = (judged: Judged, limits: LimitJudged): boolean => limits.uncertain && !judged.refuses;

function resultOf(call: SeenCall, judged: JudgedCall): ReplayResult {
  const base = withLimits(judged.base, judged.baseLimits);
  const candidate = withLimits(judged.candidate, judged.candidateLimits);
  const doubts = new Set<Doubt>([...judged.base.doubts, ...judged.candidate.doubts]);
  if (isInDoubt(judged.base, judged.baseLimits) || isInDoubt(judged.candidate, judged.candidateLimits)) {
    doubts.add('session');
  }
  // A person then decides about the call.
  if ((base.decision === 'ask') !== (candidate.decision === 'ask')) doubts.add('approval');
  const change = base.decision === candidate.decision ? 'unchanged' : changeTo[candidate.decision];
  return { call, base, candidate, change, doubts: [...doubts] };
}

/** @param calls newest first @param judgedAt what was judged of the call at a place */
export function reportOf(
  calls: readonly SeenCall[],
  judgedAt: (place: number) => JudgedCall,
  { maxResults, changedOnly }: ReportOptions,
): ReplayReport {
  const changes = { unchanged: 0, newlyBlocked: 0, newlyAsked: 0, newlyAllowed: 0, newlyObserved: 0 };
  const hits = new Map<string, { base: number; candidate: number }>();
  const sessions = new Map<string, { agentId: string; sessionId: string; calls: number; changed: number }>();
  const results: ReplayResult[] = [];
  let [uncertain, errors, leftOut, bytes] = [0, 0, 0, 0];
  const hit = (side: 'base' | 'candidate', { ruleId }: Judgement): void => {
    if (ruleId === null) return;
    const counts = hits.get(ruleId) ?? { base: 0, candidate: 0 };
    counts[side]++;
    hits.set(ruleId, counts);
  };
  for (const [place, call] of calls.entries()) {
    const result = resultOf(call, judgedAt(place));
    const isChanged = result.change !== 'unchanged';
    changes[result.change]++;
    if (result.doubts.length > 0) uncertain++;
    if (result.base.policyError || result.candidate.policyError) errors++;
    hit('base', result.base);
    hit('candidate', result.candidate);
    const { agentId, sessionId } = call;
    if (sessionId !== null) {
      const key = JSON.stringify([agentId, sessionId]);
      const session = sessions.get(key) ?? { agentId, sessionId, calls: 0, changed: 0 };
      session.calls++;
      if (isChanged) session.changed++;
      sessions.set(key, session);
    }
    if (changedOnly && !isChanged) continue;
    const size = results.length < maxResults ? Buffer.byteLength(JSON.stringify(result)) : 0;
    if (results.length >= maxResults || bytes + size > maxBytes) {
      leftOut++;
      continue;
    }
    bytes += size;
    results.push(result);
  }
  return {
    totals: { sessions: sessions.size, calls: calls.length, changes, uncertain, errors },
    byRule: [...hits]
      .map(([ruleId, counts]) => ({ ruleId, ...counts }))
      .sort((a, b) => b.base + b.candidate - a.base - a.candidate || (a.ruleId < b.ruleId ? -1 : 1))
      .slice(0, maxRules),
    results,
    leftOut,
    sessions: [...sessions.values()].slice(0, maxSessions),
  };
}

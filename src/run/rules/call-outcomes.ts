// The calls of a run by their last decision. Events are counted one by one and in any order, so each event adds to one
// figure, and the outcomes follow from the figures. Pure.
import type { EventInput } from '../../event/record.ts';
import type { CallOutcomes, CallStep, CallSteps } from '../record.ts';

const stepOfAction: ReadonlyMap<string, CallStep> = new Map([
  ['call_allowed', 'allowed'],
  ['call_blocked', 'denied'],
  ['call_asked', 'asked'],
  ['call_would_block', 'wouldDeny'],
  ['call_approval_granted', 'granted'],
  ['call_approval_blocked', 'refused'],
  ['call_approval_timeout', 'expired'],
]);
const laterSteps: { readonly [S in CallStep]?: CallStep } = {
  denied: 'deniedLater',
  wouldDeny: 'wouldDenyLater',
};
const firstSteps: ReadonlySet<CallStep> = new Set(['allowed', 'denied', 'asked', 'wouldDeny']);

/**
 * The step that an event with this action reports; null if it reports none. A verdict from one contract in observe mode
 * comes beside the decision, without the session's counts. If the guard itself observes, the verdict is the decision
 * and has the counts.
 */
export function callStepOf(action: string, { mode, payload }: EventInput): CallStep | null {
  const isBeside = action === 'call_would_block' && !(Number(payload?.session_attempt_count) > 0);
  const reported = isBeside ? undefined : stepOfAction.get(action);
  if (reported === undefined) return null;
  const step = reported === 'denied' && mode === 'observe' ? 'wouldDeny' : reported;
  if (payload?.follows_decision !== true || !firstSteps.has(step)) return step;
  return laterSteps[step] ?? null;
}

/** True for the first decision on a call. */
export const isFirstStep = (step: CallStep): boolean => firstSteps.has(step);

export function addStep(steps: { [S in CallStep]?: number }, step: CallStep, count = 1): void {
  steps[step] = (steps[step] ?? 0) + count;
}

export function joinSteps(a: CallSteps, b: CallSteps): CallSteps {
  const joined: { [S in CallStep]?: number } = { ...a };
  for (const [step, count] of Object.entries(b)) addStep(joined, step as CallStep, count);
  return joined;
}

/**
 * A later denial takes its call from those approved, then from those without a decision, and then from those that were
 * allowed or expired. The sum is the number of calls, unless events are missing.
 */
export function callOutcomes(steps: CallSteps): CallOutcomes {
  const of = (step: CallStep): number => steps[step] ?? 0;
  let later = of('deniedLater') + of('wouldDenyLater');
  const takeLater = (calls: number): number => {
    const taken = Math.min(later, calls);
    later -= taken;
    return calls - taken;
  };
  const approved = takeLater(of('granted'));
  const askingCount = takeLater(Math.max(0, of('asked') - of('granted') - of('refused') - of('expired')));
  const expired = takeLater(of('expired'));
  const allowed = takeLater(of('allowed'));
  return {
    allowed: allowed + approved,
    denied: of('denied') + of('refused') + of('deniedLater'),
    asking: askingCount,
    wouldDeny: of('wouldDeny') + of('wouldDenyLater'),
    expired,
  };
}

// The sums of a run: as a text, and for a ribbon.
import { counted } from '../../lib/text.ts';
import type { Run } from './run.ts';

type Sums = Pick<Run, 'counts' | 'call_outcomes'>;

/** Counts each call once, by its last decision, and then the contracts in observe mode that fired beside the calls. */
export function runSums({ counts, call_outcomes: outcomes }: Sums): string {
  const calls = counted(counts.calls, 'call');
  if (outcomes === null) return `${calls}. The outcomes of a part of the run are unknown.`;
  const parts = [
    calls,
    `${outcomes.allowed} allowed`,
    `${outcomes.denied} denied`,
    ...(outcomes.asked > 0 ? [`${outcomes.asked} asked`] : []),
    ...(outcomes.would_deny > 0 ? [`${outcomes.would_deny} would deny`] : []),
    ...(outcomes.expired > 0 ? [`${outcomes.expired} expired`] : []),
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.warned > 0 ? [`${counts.warned} warned`] : []),
  ];
  const beside = counts.would_block - outcomes.would_deny;
  const observed = beside > 0 ? ` Contracts in observe mode fired ${counted(beside, 'time')}.` : '';
  return `${parts.join(', ')}.${observed}`;
}

/** The calls of a run by their last decision; an expired call is one that was asked. Null if a part is unknown. */
export const callsOfRun = ({ call_outcomes: outcomes }: Sums) =>
  outcomes && { ...outcomes, asked: outcomes.asked + outcomes.expired };

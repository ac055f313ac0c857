// Run times of an agent's tools, by its newest calls. Pure.
import { durationOf, type StoredEvent } from '../../event/record.ts';

/** The newest calls of an agent that are looked at. */
export const measuredCalls = 1000;

/** Of one tool, in milliseconds. A percentile is the duration of a run, not a value between two. */
export interface ToolDurations {
  /** Runs that were measured. */
  readonly runs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

/** The smallest duration that so many of a hundred runs do not exceed. @param sorted at least one, ascending */
const percentile = (sorted: readonly number[], percent: number): number =>
  sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0;

/** By tool, of the tools that were measured. The sample run counts nowhere. */
export function durationsByTool(events: readonly StoredEvent[]): Map<string, ToolDurations> {
  const durations = new Map<string, number[]>();
  for (const event of events) {
    if (event.sample) continue;
    for (const duration of [durationOf(event), ...event.outcomes.map((one) => one.durationMs)]) {
      if (duration === null || duration === undefined) continue;
      const ofTool = durations.get(event.toolName);
      if (ofTool) ofTool.push(duration);
      else durations.set(event.toolName, [duration]);
    }
  }
  return new Map(
    [...durations].map(([tool, values]) => {
      const sorted = values.sort((a, b) => a - b);
      const [p50Ms, p95Ms, maxMs] = [50, 95, 100].map((percent) => percentile(sorted, percent));
      return [tool, { runs: sorted.length, p50Ms: p50Ms ?? 0, p95Ms: p95Ms ?? 0, maxMs: maxMs ?? 0 }];
    }),
  );
}

// Time that an agent was connected. Pure.
import type { PastStream } from '../record.ts';

/** Milliseconds since `since` in which at least one of the streams was open; ended ones count. */
export function connectedMs(
  streams: readonly Pick<PastStream, 'startedAt' | 'endedAt'>[],
  since: number,
): number {
  let [total, through] = [0, since];
  for (const { startedAt, endedAt } of [...streams].sort((a, b) => a.startedAt - b.startedAt)) {
    if (endedAt === null || endedAt <= through) continue;
    total += endedAt - Math.max(startedAt, through);
    through = endedAt;
  }
  return total;
}

// How late this process's event loop is. The figures are about the time since their last reset, one to two minutes.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { minuteMs } from '../../src/shared/duration.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { NodeMetrics } from '../../src/shared/ports/node-health.ts';

const resolutionMs = 20;

export interface LoopDelay {
  now(): NodeMetrics['eventLoop'];
  stop(): void;
}

export function watchLoopDelay(clock: Pick<Clock, 'every'>): LoopDelay {
  const measured = monitorEventLoopDelay({ resolution: resolutionMs });
  measured.enable();
  let before: NodeMetrics['eventLoop'] | null = null;
  // The histogram counts the wait between two samples as well.
  const late = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds)
      ? Math.max(0, Math.round((nanoseconds / 1e6 - resolutionMs) * 100) / 100)
      : 0;
  const figures = (): NodeMetrics['eventLoop'] => ({
    meanMs: late(measured.mean),
    p99Ms: late(measured.percentile(99)),
    maxMs: late(measured.max),
  });
  const timer = clock.every(minuteMs, () => {
    before = figures();
    measured.reset();
  });
  return {
    now() {
      const current = figures();
      if (before === null) return current;
      return {
        meanMs: current.meanMs,
        p99Ms: Math.max(before.p99Ms, current.p99Ms),
        maxMs: Math.max(before.maxMs, current.maxMs),
      };
    },
    stop() {
      timer.cancel();
      measured.disable();
    },
  };
}

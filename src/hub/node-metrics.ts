// Gathers the metrics of a node's work: from the edge, its streams, its queues and its event loop.
import type { LoopDelay } from '../../adapters/node/loop-delay.ts';
import type { Live } from '../http/live/live.ts';
import { durationBuckets, type Metrics } from '../http/metrics.ts';
import type { Meters } from '../shared/meters.ts';
import type { InstallationStore } from '../shared/ports/installation.ts';
import type { Jobs } from '../shared/ports/jobs.ts';
import type { NodeHealth, NodeMetrics } from '../shared/ports/node-health.ts';

export interface MetricSources {
  readonly startedAt: number;
  readonly requests: Metrics;
  readonly live: () => Pick<Live, 'counts'>;
  readonly jobs: Pick<Jobs, 'health' | 'counts'>;
  readonly cluster: NodeHealth['cluster'];
  readonly delay: Pick<LoopDelay, 'now'>;
  readonly events: Meters['events'];
  readonly installation: InstallationStore;
  /** Null in a cluster. */
  readonly lastBackupAt: (() => Promise<number>) | null;
}

/** @throws HubError unavailable when the bus or the store does not answer */
export async function nodeMetrics(sources: MetricSources): Promise<NodeMetrics> {
  const { node, lag, broadcastLagMs } = await sources.cluster();
  const [{ storeBytes, unsignedSince }, jobCounts, lastBackupAt] = await Promise.all([
    sources.installation.figures(),
    sources.jobs.counts(),
    sources.lastBackupAt?.() ?? null,
  ]);
  const { agentStreams, dashboardStreams, blocked, ended } = sources.live().counts();
  return {
    node,
    startedAt: sources.startedAt,
    routes: sources.requests.snapshot(),
    bucketsMs: durationBuckets,
    streams: { agents: agentStreams, dashboards: dashboardStreams, blocked, ended: { ...ended } },
    queues: {
      messages: lag.reduce((sum, { waiting }) => sum + waiting, 0),
      oldestMessageMs: Math.max(0, ...lag.map(({ oldestMs }) => oldestMs)),
      broadcastLagMs,
      jobs: sources.jobs.health().running,
    },
    storedEvents: sources.events
      .series()
      .reduce((sum, { values: [, outcome], count }) => (outcome === 'stored' ? sum + count : sum), 0),
    installation: {
      storeBytes,
      deadJobs: jobCounts.reduce((sum, { state, count }) => (state === 'dead' ? sum + count : sum), 0),
      unsignedSince,
      lastBackupAt,
    },
    eventLoop: sources.delay.now(),
  };
}

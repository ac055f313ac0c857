// Gathers what a node can say of its work: from the edge, its streams, its queues and its event loop.
import type { LoopDelay } from '../../adapters/node/loop-delay.ts';
import type { Live } from '../http/live/live.ts';
import { durationBuckets, type Metrics } from '../http/metrics.ts';
import type { Jobs } from '../shared/ports/jobs.ts';
import type { NodeHealth, NodeMetrics } from '../shared/ports/node-health.ts';

export interface MetricSources {
  readonly startedAt: number;
  readonly requests: Metrics;
  readonly live: () => Pick<Live, 'counts'>;
  readonly jobs: Pick<Jobs, 'health'>;
  readonly cluster: NodeHealth['cluster'];
  readonly delay: Pick<LoopDelay, 'now'>;
}

/** @throws HubError unavailable when the bus does not answer */
export async function nodeMetrics(sources: MetricSources): Promise<NodeMetrics> {
  const { node, lag, broadcastLagMs } = await sources.cluster();
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
    eventLoop: sources.delay.now(),
  };
}

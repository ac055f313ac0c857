// Gauges of what the nodes share. One node reports them, so that a sum over nodes is right: the owner of a shard that
// is the same everywhere. The others report nothing.
import type { Registry } from 'prom-client';
import { environments } from '../../shared/ids.ts';
import { jobQueues } from '../../shared/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { InstallationStore } from '../../shared/ports/installation.ts';
import type { JobCount, JobState, Jobs } from '../../shared/ports/jobs.ts';
import { withinScrape } from './answers.ts';
import { addGauge, type Sample } from './series.ts';

export interface InstallationSources {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** True while this node speaks for the installation. */
  readonly isSpeaker: () => boolean;
  readonly installation: InstallationStore;
  readonly jobs: Pick<Jobs, 'counts'>;
}

/** States that are reported as 0 without a job, for each queue. */
const states: readonly JobState[] = ['waiting', 'running', 'dead'];

function jobSamples(counts: readonly JobCount[]): readonly Sample[] {
  const names = new Set([...jobQueues, ...counts.map(({ queue }) => queue)]);
  return [...names].flatMap((queue) =>
    states.map((state) => ({
      labels: { queue, state },
      value: counts.find((count) => count.queue === queue && count.state === state)?.count ?? 0,
    })),
  );
}

/** A figure is read from the store no more often, in milliseconds. */
const freshMs = 10_000;

/** The same answer for every gauge, and for scrapes in quick succession. */
function kept<T>(clock: Pick<Clock, 'after' | 'now'>, read: () => Promise<T>): () => Promise<T | null> {
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<T | null> = Promise.resolve(null);
  return () => {
    if (Math.abs(clock.now() - readAt) >= freshMs) {
      readAt = clock.now();
      reading = withinScrape(clock, read());
    }
    return reading;
  };
}

export function addInstallation(
  registry: Registry,
  { clock, isSpeaker, installation, jobs }: InstallationSources,
): void {
  const figures = kept(clock, () => installation.figures());
  const jobCounts = kept(clock, () => jobs.counts());
  const shared = async <T>(read: () => Promise<T | null>, samplesOf: (answer: T) => readonly Sample[]) => {
    const answer = isSpeaker() ? await read() : null;
    return answer === null ? [] : samplesOf(answer);
  };
  const single = (value: number | null): readonly Sample[] => (value === null ? [] : [{ labels: {}, value }]);

  addGauge(registry, 'reeve_approvals_pending', 'Pending approvals of all tenants; from one node', () =>
    shared(figures, ({ pendingApprovals }) =>
      environments.map((env) => ({ labels: { env }, value: pendingApprovals[env] ?? 0 })),
    ),
  );
  addGauge(registry, 'reeve_jobs', 'Background jobs; from one node', () => shared(jobCounts, jobSamples));
  addGauge(registry, 'reeve_store_bytes', 'Bytes of the database; from one node', () =>
    shared(figures, ({ storeBytes }) => single(storeBytes)),
  );
  addGauge(
    registry,
    'reeve_audit_head_age_seconds',
    'Age of the oldest audit entry that no signed head covers; from one node',
    () =>
      shared(figures, ({ unsignedSince }) =>
        single(unsignedSince === null ? 0 : Math.max(0, clock.now() - unsignedSince) / 1000),
      ),
  );
}

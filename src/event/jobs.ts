// The job that removes what a request left of a removal of old events (event/use-cases/removal.ts). Keeps promise P33.

import { removalQueues } from '../shared/job.ts';
import type { JobHandler, Jobs } from '../shared/ports/jobs.ts';
import { type RemovalParts, removeInSlices } from './use-cases/removal.ts';

const purgeJob =
  (parts: RemovalParts): JobHandler =>
  async ({ payload, signal, progress }) => {
    const { tenantId, before } = payload as { readonly tenantId: string; readonly before: number };
    const { complete } = await removeInSlices(parts, tenantId, before, {
      stop: () => signal.aborted,
      signal,
      removed: (deleted) => progress({ deleted }),
    });
    // Interrupted, not failed: it goes on where it was, because what is removed is removed.
    if (!complete) throw new Error('interrupted');
  };

/** Makes this node remove what `removeLater` left, one tenant at a time. */
export const workPurges = (jobs: Jobs, parts: RemovalParts): void =>
  jobs.work(removalQueues.purge, purgeJob(parts));

// The job that removes a tenant's records past their retention (tenant/use-cases/retention.ts).
import { removalQueues } from '../shared/job.ts';
import type { Jobs } from '../shared/ports/jobs.ts';
import type { RecordRetention } from './use-cases/retention.ts';

/** Makes this node remove old records, one tenant at a time. */
export const workRetention = (jobs: Jobs, retention: Pick<RecordRetention, 'apply'>): void =>
  jobs.work(removalQueues.retention, async ({ payload, signal, progress }) => {
    const { tenantId } = payload as { readonly tenantId: string };
    // Interrupted, not failed: the next run finds what is left.
    if (!(await retention.apply(tenantId, signal, (removed) => progress({ removed }))))
      throw new Error('interrupted');
  });

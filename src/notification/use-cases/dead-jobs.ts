// Background jobs that failed too often: what died, and another try for one of them.

import { HubError } from '../../shared/error.ts';
import type { DeadJob } from '../../shared/ports/jobs.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';

export interface DeadJobs {
  /** The newest dead jobs of a queue, at most `limit`. @throws HubError unavailable */
  list(queue: string, limit: number): Promise<readonly DeadJob[]>;
  /** The job runs again, now and with all its attempts. @throws HubError not_found unless it is dead, unavailable */
  retry(queue: string, id: string): Promise<void>;
}

export const createDeadJobs = ({ jobs, log }: Pick<AppPorts, 'jobs' | 'log'>): DeadJobs => ({
  list: (queue, limit) => jobs.dead(queue, limit),

  async retry(queue, id) {
    if (!(await jobs.retry(queue, id)))
      throw new HubError('not_found', 'This queue has no dead job with this id. List the dead jobs again.');
    log.info({ queue, job: id }, 'the operator retries a dead job');
  },
});

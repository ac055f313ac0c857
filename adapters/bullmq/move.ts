// Jobs of a move in BullMQ: waiting ones as a hub adds them, dead ones as it keeps them.

import type { Job, Queue } from 'bullmq';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { MovedRecords } from '../../src/shared/ports/moved-records.ts';
import { connectionTo, type RedisClient, within } from './connection.ts';
import { type Kept, redisId } from './form.ts';
import { BullQueues, newJobOptions } from './queues.ts';

type MovedJob = MovedRecords['jobs'];

const connectMs = 2000;
const pageSize = 200;
/** A dead job is added with a delay that nobody waits for, before it is marked dead. */
const aside = 365 * 86_400_000;

export interface JobTarget {
  /** @param now the time of the move: no job is due before it */
  write(jobs: readonly MovedJob[], now: number): Promise<void>;
  /** Jobs of these queues. */
  read(queues: readonly string[]): AsyncIterable<readonly MovedJob[]>;
  close(): Promise<void>;
}

function recordOf(job: Job, queue: string, isDead: boolean): MovedJob {
  const { id, payload, backoffMs, longestBackoffMs } = job.data as Kept;
  return {
    queue,
    id,
    payload,
    state: isDead ? 'dead' : 'waiting',
    runAt: isDead ? 0 : job.timestamp + job.delay,
    failures: job.attemptsMade,
    maxAttempts: job.opts.attempts ?? 0,
    backoffMs,
    longestBackoffMs,
    error: isDead ? (job.failedReason ?? null) : null,
    diedAt: isDead ? (job.finishedOn ?? null) : null,
  };
}

/** Adds a job as a hub does; a dead one then gets what BullMQ notes of it. */
async function addJob(connection: RedisClient, queue: Queue, job: MovedJob, now: number): Promise<void> {
  const { id, payload, backoffMs, longestBackoffMs, state, failures } = job;
  const isDead = state === 'dead';
  const kept: Kept = { id, payload, backoffMs, longestBackoffMs };
  const jobId = redisId(id);
  const delay = isDead ? aside : Math.max(0, job.runAt - now);
  await queue.add(
    job.queue,
    kept,
    newJobOptions({ jobId, timestamp: now, delay, attempts: job.maxAttempts }),
  );
  const key = queue.toKey(jobId);
  const steps = connection.multi();
  steps.hSet(key, { atm: String(failures), ats: String(failures) });
  if (isDead) {
    const diedAt = job.diedAt ?? now;
    steps.zRem(queue.toKey('delayed'), jobId);
    steps.hSet(key, { failedReason: job.error ?? '', finishedOn: String(diedAt), delay: '0' });
    steps.zAdd(queue.toKey('failed'), { score: diedAt, value: jobId });
  }
  await steps.exec();
}

/** @param name of the cluster @throws HubError unavailable when Redis does not answer within about 2 s */
export async function openJobTarget(url: string, name: string, clock: Clock): Promise<JobTarget> {
  const group = new ConnectionGroup({ down() {}, up() {} });
  const connection = connectionTo({ url, clock, group, name: 'move-jobs', patient: true });
  const prefix = `${name}:jobs`;
  const queues = new BullQueues(connection, prefix);
  await within(clock, connectMs, connection.connect()).catch((error) => {
    connection.destroy();
    throw error;
  });

  return {
    async write(jobs, now) {
      for (const job of jobs) await addJob(connection, queues.of(job.queue), job, now);
    },
    async *read(names) {
      for (const name of names) {
        for (const type of ['waiting', 'delayed', 'failed'] as const) {
          for (let start = 0; ; start += pageSize) {
            const jobs = await queues.of(name).getJobs([type], start, start + pageSize - 1, true);
            yield jobs.map((job) => recordOf(job, name, type === 'failed'));
            if (jobs.length < pageSize) break;
          }
        }
      }
    },
    async close() {
      group.close();
      await within(clock, connectMs, queues.close()).catch(() => {});
      if (connection.isOpen) connection.destroy();
    },
  };
}

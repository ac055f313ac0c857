// Background jobs in SQLite: a row per job. `due` is when a job may be taken: its time while it waits, the end of its
// lease while it runs.
import { keptDeadJobs } from '../../src/shared/job.ts';
import type { JobRunKey, JobTable, TakenJob } from '../../src/shared/ports/job-table.ts';
import type { DeadJob, JobState, JobStatus } from '../../src/shared/ports/jobs.ts';
import { type Database, givenText } from './database.ts';
import type { Sync } from './sync.ts';

const byRun = "WHERE queue = ? AND id = ? AND run = ? AND state = 'running'";

const parsed = (text: unknown): unknown => (text === null ? null : JSON.parse(String(text)));

const keyOf = ({ queue, id, run }: JobRunKey) => [queue, id, run] as const;

function die(db: Database, queue: string, id: string, now: number, error: string): void {
  db.run(`UPDATE jobs SET state = 'dead', died_at = ?, error = ? WHERE queue = ? AND id = ?`, [
    now,
    error,
    queue,
    id,
  ]);
  db.run(
    `DELETE FROM jobs WHERE queue = ?1 AND state = 'dead' AND died_at < (SELECT died_at FROM jobs
       WHERE queue = ?1 AND state = 'dead' ORDER BY died_at DESC LIMIT 1 OFFSET ?2)`,
    [queue, keptDeadJobs - 1],
  );
}

function takeJobs(
  db: Database,
  queue: string,
  limit: number,
  now: number,
  until: number,
): readonly TakenJob[] {
  const rows = db.all(
    `UPDATE jobs SET run = run + 1, losses = losses + (state = 'running'), state = 'running', due = ?4
       WHERE queue = ?1 AND id IN (SELECT id FROM jobs WHERE queue = ?1 AND state <> 'dead' AND due <= ?3
         ORDER BY due LIMIT ?2)
       RETURNING id, payload, run, failures, losses, max_attempts, backoff, longest_backoff`,
    [queue, limit, now, until],
  );
  return rows.map(([id, payload, run, failures, losses, maxAttempts, backoffMs, longestBackoffMs]) => ({
    id: givenText(String(id)),
    payload: parsed(payload),
    run: Number(run),
    failures: Number(failures),
    losses: Number(losses),
    maxAttempts: Number(maxAttempts),
    backoffMs: Number(backoffMs),
    longestBackoffMs: Number(longestBackoffMs),
  }));
}

function findJob(db: Database, queue: string, id: string): JobStatus | null {
  const row = db.get('SELECT state, failures, error, progress FROM jobs WHERE queue = ? AND id = ?', [
    queue,
    id,
  ]);
  if (!row) return null;
  const [state, failures, error, progress] = row;
  return {
    id,
    state: state as JobState,
    failures: Number(failures),
    error: error === null ? null : givenText(String(error)),
    progress: parsed(progress),
  };
}

function deadJobs(db: Database, queue: string, limit: number): readonly DeadJob[] {
  return db
    .all(
      `SELECT id, payload, failures, error, died_at FROM jobs WHERE queue = ? AND state = 'dead'
         ORDER BY died_at DESC LIMIT ?`,
      [queue, limit],
    )
    .map(([id, payload, failures, error, diedAt]) => ({
      id: givenText(String(id)),
      payload: parsed(payload),
      failures: Number(failures),
      error: givenText(String(error)),
      diedAt: Number(diedAt),
    }));
}

export const jobTable = (db: Database): Sync<JobTable> => ({
  add({ queue, id, payload, runAt, maxAttempts, backoffMs, longestBackoffMs }) {
    db.run(
      `INSERT INTO jobs (queue, id, payload, due, max_attempts, backoff, longest_backoff)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (queue, id) DO NOTHING`,
      [queue, id, JSON.stringify(payload), runAt, maxAttempts, backoffMs, longestBackoffMs],
    );
  },

  take: (queue, limit, now, until) => takeJobs(db, queue, limit, now, until),

  release() {
    db.run(`UPDATE jobs SET due = 0 WHERE state = 'running' AND due > 0`);
  },

  renew: (runs, until) =>
    runs.filter((run) => db.run(`UPDATE jobs SET due = ? ${byRun}`, [until, ...keyOf(run)]) === 0),

  finish(run) {
    db.run(`DELETE FROM jobs ${byRun}`, keyOf(run));
  },

  again(run, runAt, error) {
    db.run(
      `UPDATE jobs SET state = 'waiting', due = ?, failures = failures + ?, error = ifnull(?, error) ${byRun}`,
      [runAt, error === null ? 0 : 1, error, ...keyOf(run)],
    );
  },

  bury(run, now, error) {
    if (db.run(`UPDATE jobs SET failures = failures + 1 ${byRun}`, keyOf(run)) > 0) {
      die(db, run.queue, run.id, now, error);
    }
  },

  progress(run, value) {
    db.run(`UPDATE jobs SET progress = ?, losses = 0 ${byRun}`, [JSON.stringify(value), ...keyOf(run)]);
  },

  find: (queue, id) => findJob(db, queue, id),

  counts: () =>
    db.all('SELECT queue, state, count(*) FROM jobs GROUP BY queue, state').map(([queue, state, count]) => ({
      queue: String(queue),
      state: state as JobState,
      count: Number(count),
    })),

  dead: (queue, limit) => deadJobs(db, queue, limit),

  retry: (queue, id, now) =>
    db.run(
      `UPDATE jobs SET state = 'waiting', due = ?, failures = 0, losses = 0, died_at = NULL
         WHERE queue = ? AND id = ? AND state = 'dead'`,
      [now, queue, id],
    ) > 0,

  remove: (queue, id) =>
    db.run(`DELETE FROM jobs WHERE queue = ? AND id = ? AND state <> 'running'`, [queue, id]) > 0,
});

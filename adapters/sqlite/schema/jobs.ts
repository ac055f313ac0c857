// The table of background jobs.
export const jobTable = `
CREATE TABLE jobs (
  queue TEXT NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
  due INTEGER NOT NULL, run INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL, backoff INTEGER NOT NULL,
  longest_backoff INTEGER NOT NULL, error TEXT, progress TEXT, died_at INTEGER, PRIMARY KEY (queue, id)) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (queue, due) WHERE state <> 'dead';
CREATE INDEX jobs_dead ON jobs (queue, died_at) WHERE state = 'dead';
`;

// Entry of the thread that copies the write-ahead log into the file while the writer goes on. It knows no table.
import { parentPort, workerData } from 'node:worker_threads';
import { Database } from '../database.ts';
import { type Failure, failureOf } from '../failure.ts';

/** Null: all that was in the log when the copy began is in the file. */
export type LogCopied = Failure | null;

const { path } = workerData as { readonly path: string };
const port = parentPort;
const db = new Database(path);
// The file is on disk before the log may begin again.
db.exec('PRAGMA synchronous = FULL');

function copy(): LogCopied {
  try {
    db.get('PRAGMA wal_checkpoint(PASSIVE)');
    return null;
  } catch (error) {
    return failureOf(error);
  }
}

port?.on('message', (message: 'copy' | 'close') => {
  if (message === 'copy') return port.postMessage(copy());
  db.close();
  port.close();
});

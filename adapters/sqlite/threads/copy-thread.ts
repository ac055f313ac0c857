// Entry of the thread that copies or checks a whole database for the commands: both take long and cannot be done in
// parts. Its connection is really closed when the thread has ended, not before.
import { parentPort, workerData } from 'node:worker_threads';
import { type CopyMessage, type CopyTask, copyTo, inspect } from '../copy.ts';
import { failureOf } from '../failure.ts';
import { openingError } from '../trouble.ts';

const task = workerData as CopyTask;
const post = (message: CopyMessage): void => parentPort?.postMessage(message);

try {
  if (task.kind === 'copy') copyTo(task.path, task.to, (bytes) => post({ kind: 'bytes', bytes }));
  post({ kind: 'done', facts: inspect(task.kind === 'copy' ? task.to : task.path, task.kind === 'check') });
} catch (error) {
  post({ kind: 'failed', failure: failureOf(openingError(error, task.path)) });
}

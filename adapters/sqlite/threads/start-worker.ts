// Starts this folder's threads.
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { threadFile } from '../../threads/thread-file.ts';

const isSource = import.meta.url.endsWith('.ts');

/**
 * @param file the entry's name in this folder, without its ending
 * @param resourceLimits default: those of Node
 */
export function startWorker(
  file: string,
  name: string,
  workerData: object,
  resourceLimits: ResourceLimits = {},
): Worker {
  const entry = threadFile(new URL(`./${file}.${isSource ? 'ts' : 'js'}`, import.meta.url));
  return new Worker(entry, {
    ...{ workerData, name, resourceLimits },
    // A thread's end would close its files, and with the log's index all locks of this process on it (log-index.ts).
    trackUnmanagedFds: false,
    // A loader of TypeScript among the options of this process is not for its threads.
    ...(isSource ? { execArgv: [] } : {}),
  });
}

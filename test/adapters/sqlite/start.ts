// The store's threads as tests start them: compiled when the build is fresh, because each thread would otherwise load a
// compiler.
import { Worker } from 'node:worker_threads';
import { startThread } from '../../../adapters/sqlite/threads/threads.ts';
import type { ThreadStart } from '../../../adapters/sqlite/threads/wire.ts';
import { bundledThread } from '../../compiled.ts';

const entry = bundledThread('thread');

export const startTestThread = (start: ThreadStart): Worker =>
  entry
    ? new Worker(entry, { workerData: start, name: `store-${start.role}`, trackUnmanagedFds: false })
    : startThread(start);

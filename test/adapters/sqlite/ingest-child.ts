// A process that ingests until it is killed. Prints the number of each batch once it is acknowledged.
// Arguments: the program of the store's threads, the file, the first batch's number, and how many call ids the writer
// holds in memory.
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../../adapters/node/clock.ts';
import { openSqlite } from '../../../adapters/sqlite/index.ts';
import { numberedBatch } from './numbered.ts';

const [thread = '', path = '', first = '0', held] = process.argv.slice(2);
const callLimits = { calls: Number(held), bytes: 1 << 30 };
const store = await openSqlite({
  path,
  clock: systemClock,
  startThread: (start) =>
    new Worker(thread, {
      workerData: held === undefined ? start : { ...start, callLimits },
      trackUnmanagedFds: false,
    }),
});
let next = Number(first);

async function sender(): Promise<never> {
  for (;;) {
    const n = next++;
    await store.events.ingest(numberedBatch(n));
    process.stdout.write(`${n}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, sender));

// A process that ingests until it is killed. Prints the number of each batch once it is acknowledged.
// Arguments: the file, the first batch's number, and how many call ids the writer holds in memory.
import { systemClock } from '../../../adapters/node/clock.ts';
import { openSqlite } from '../../../adapters/sqlite/index.ts';
import { numberedBatch } from './numbered.ts';
import { startTestThread } from './start.ts';

const [path = '', first = '0', held] = process.argv.slice(2);
const callLimits = { calls: Number(held), bytes: 1 << 30 };
const store = await openSqlite({
  path,
  clock: systemClock,
  startThread: (start) => startTestThread(held === undefined ? start : { ...start, callLimits }),
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

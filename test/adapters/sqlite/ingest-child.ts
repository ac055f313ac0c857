// A process that ingests until it is killed. Prints the number of each batch once it is acknowledged.

import { systemClock } from '../../../adapters/node/clock.ts';
import { openSqlite } from '../../../adapters/sqlite/index.ts';
import { numberedBatch } from './numbered.ts';
import { startTestThread } from './start.ts';

const store = await openSqlite({
  path: String(process.argv[2]),
  clock: systemClock,
  startThread: startTestThread,
});
let next = 0;

async function sender(): Promise<never> {
  for (;;) {
    const n = next++;
    await store.events.ingest(numberedBatch(n));
    process.stdout.write(`${n}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, sender));

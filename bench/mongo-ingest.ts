// Ingest through the MongoDB store beside a bare insertMany loop: the same driver settings, batches, documents and
// indexes, on the same server, in turns.
import { randomBytes, randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { type EventRow, toEventRow } from '../adapters/mongo/event-filter.ts';
import { openMongo } from '../adapters/mongo/index.ts';
import { risingIds } from '../adapters/mongo/uuidv7.ts';
import { systemClock } from '../adapters/node/clock.ts';
import { createLog } from '../adapters/node/log.ts';
import type { EventInput } from '../src/domain/event.ts';
import type { EventBatch } from '../src/ports/events.ts';
import { median } from './numbers.ts';
import { readOptions } from './options.ts';
import { startServices } from './services.ts';

/** The store's rate over the bare loop's. */
const goal = 0.6;
const batchSize = 50;
const inFlight = 16;

const { seconds, repeats, json } = readOptions({
  program: 'mongo-ingest',
  options: {
    seconds: { about: 'length of each measurement', default: 5 },
    repeats: { about: 'repeats', default: 3, atLeast: 3 },
  },
});
const tenantId = randomUUID();
const filler = randomBytes(300).toString('hex').slice(0, 560);
const arrival = risingIds();
let made = 0;

/** 50 events of one agent, about 0.9 KB each, random call ids. */
function makeBatch(): EventBatch {
  const n = made++;
  const at = Date.now();
  const events = Array.from(
    { length: batchSize },
    (_, i): EventInput => ({
      call_id: randomUUID(),
      agent_id: `agent-${(n * 7919) % 1000}`,
      tool_name: `tool-${i % 5}`,
      verdict: (n + i) % 17 === 0 ? 'call_denied' : 'call_allowed',
      mode: 'enforce',
      timestamp: at + i,
      payload: { tool_args: { path: `/srv/${n}/${i}`, body: filler }, decision_name: `contract-${i % 3}` },
    }),
  );
  return { tenantId, env: 'production', receivedAt: at, events };
}

/** Events per second of `write`, so many at once, for the time asked for. */
async function rate(write: (batch: EventBatch) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let batches = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < end) {
      await write(makeBatch());
      batches++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return (batches * batchSize) / ((performance.now() - started) / 1000);
}

const services = await startServices();
const name = (word: string): string => `reeve_bench_${word}_${randomUUID().slice(0, 8)}`;
const [storeName, bareName] = [name('store'), name('bare')];
const store = await openMongo({
  url: services.mongoUrl,
  database: storeName,
  clock: systemClock,
  log: createLog({ level: 'warn' }),
});
const client = new MongoClient(services.mongoUrl, {
  maxPoolSize: 64,
  writeConcern: { w: 'majority', journal: true },
  retryWrites: false,
});
const bare = client.db(bareName).collection<EventRow>('events');
const same = await client.db(storeName).collection('events').indexes();
for (const { key, unique } of same) {
  if (!('_id' in key && Object.keys(key).length === 1))
    await bare.createIndex(key, { unique: unique === true });
}
const insert = (batch: EventBatch): Promise<unknown> =>
  bare.insertMany(
    batch.events.map((event) => toEventRow(event, batch, arrival(batch.receivedAt))),
    { ordered: false },
  );

const rounds: { store: number; bare: number }[] = [];
// The first round warms up both.
for (let i = 0; i <= repeats; i++) {
  const storeFirst = i % 2 === 0;
  const first = await rate(storeFirst ? store.events.ingest : insert);
  const second = await rate(storeFirst ? insert : store.events.ingest);
  if (i > 0) rounds.push(storeFirst ? { store: first, bare: second } : { store: second, bare: first });
}
await store.close();
for (const database of [storeName, bareName]) await client.db(database).dropDatabase();
await client.close();
await services.stop();

const ratio = median(rounds.map((round) => round.store / round.bare));
const result = {
  benchmark: 'mongo-ingest',
  repeats: rounds,
  store_events_per_second: Math.round(median(rounds.map((round) => round.store))),
  bare_events_per_second: Math.round(median(rounds.map((round) => round.bare))),
  ratio,
  goal,
  met: ratio >= goal,
};
if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  process.stdout.write(`events/s into MongoDB, batches of ${batchSize}, ${inFlight} at once\n`);
  for (const round of rounds)
    process.stdout.write(`  store ${Math.round(round.store)}, bare insertMany ${Math.round(round.bare)}\n`);
  process.stdout.write(
    `  store ÷ bare: ${ratio.toFixed(2)} (goal ≥ ${goal}) ${result.met ? 'met' : 'MISSED'}\n`,
  );
}
process.exitCode = result.met ? 0 : 1;

// The bounds of a cluster, without a hub, by the bare drivers: one durable write and one hop through Redis, and a loop
// of insertMany.
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import { batchSize, makeBatch } from '../batch.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { callsOf, type OpenLoop, type OpenLoopResult, runOpenLoop } from '../suite/open-loop.ts';
import { newStoredName } from '../suite/stored-names.ts';
import { withinLimit } from '../suite/time-limit.ts';

export const mongoHopText = 'one compare-and-set in the store and one entry through Redis, bare drivers';
export const insertManyText = 'a bare insertMany loop of the same batches';

interface Addresses {
  readonly mongoUrl: string;
  readonly redisUrl: string;
}

type Order =
  | ({ readonly type: 'hops' } & Addresses & OpenLoop)
  | ({ readonly type: 'insert'; readonly seconds: number; readonly connections: number } & Addresses);

export class ClusterBounds extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'bound');
  }

  hops(order: Addresses & OpenLoop): Promise<OpenLoopResult> {
    return this.request({ type: 'hops', ...order });
  }

  /** Events per second. */
  insertMany(order: Addresses & { readonly seconds: number; readonly connections: number }): Promise<number> {
    return this.request({ type: 'insert', ...order });
  }
}

/** The services remove the database at their end: some servers need minutes to drop one with many documents. */
async function withDatabase<T>(
  url: string,
  run: (client: MongoClient, name: string) => Promise<T>,
): Promise<T> {
  const writeConcern = { w: 'majority', journal: true } as const;
  const client = new MongoClient(url, { writeConcern, retryWrites: false, maxPoolSize: 64 });
  const name = newStoredName();
  try {
    return await run(client, name);
  } finally {
    await client.close();
  }
}

/** Calls back for each number that comes through the stream `key`. */
async function followLog(redisUrl: string, key: string, onNumber: (n: number) => void): Promise<() => void> {
  const reader = createClient({ url: redisUrl, RESP: 2 });
  await reader.connect();
  let isReading = true;
  const read = async (): Promise<void> => {
    let last = '0-0';
    while (isReading) {
      const command = ['XREAD', 'BLOCK', '200', 'STREAMS', key, last];
      const answer = await reader.sendCommand<[[string, [string, [string, string]][]]] | null>(command);
      for (const [id, [, text]] of answer?.[0][1] ?? []) {
        last = id;
        onNumber(Number(text));
      }
    }
  };
  const reading = read().catch(() => undefined);
  return () => {
    isReading = false;
    void reading.then(() => reader.destroy());
  };
}

function runHops({ mongoUrl, redisUrl, ...loop }: Addresses & OpenLoop): Promise<OpenLoopResult> {
  return withDatabase(mongoUrl, async (client, name) => {
    const rows = client.db(name).collection<{ readonly _id: number; readonly status: string }>('approvals');
    await rows.insertMany(Array.from({ length: callsOf(loop) }, (_, n) => ({ _id: n, status: 'pending' })));
    const writer = createClient({ url: redisUrl });
    await writer.connect();
    const waiting = new Map<number, () => void>();
    const key = `${name}:log`;
    const unfollow = await followLog(redisUrl, key, (n) => waiting.get(n)?.());
    try {
      return await runOpenLoop(loop, async (n) => {
        const arrival = new Promise<void>((resolve) => void waiting.set(n, resolve));
        await rows.findOneAndUpdate({ _id: n, status: 'pending' }, { $set: { status: 'approved' } });
        await writer.sendCommand(['XADD', key, '*', 'b', String(n)]);
        await withinLimit(arrival, 'An entry through Redis');
      });
    } finally {
      unfollow();
      await writer.sendCommand(['DEL', key]);
      writer.destroy();
    }
  });
}

function runInsert({
  mongoUrl,
  seconds,
  connections,
}: Addresses & { readonly seconds: number; readonly connections: number }): Promise<number> {
  return withDatabase(mongoUrl, async (client, name) => {
    const rows = client.db(name).collection('events');
    await rows.createIndex({ call_id: 1 }, { unique: true });
    await rows.createIndex({ agent_id: 1, timestamp: 1 });
    let events = 0;
    const began = performance.now();
    const insertInTurn = async (n: number): Promise<void> => {
      while (performance.now() < began + seconds * 1000) {
        await rows.insertMany([...makeBatch(`agent-${n}`, Date.now())], { ordered: false });
        events += batchSize;
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, n) => insertInTurn(n)));
    return (events * 1000) / (performance.now() - began);
  });
}

async function run(order: Order): Promise<unknown> {
  return order.type === 'hops' ? runHops(order) : runInsert(order);
}

serveOrders(import.meta.url, run);

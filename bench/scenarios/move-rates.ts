// A move's copy in a process of its own, and a bare loop of insertMany of the same documents as its bound.
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { openJobTarget } from '../../adapters/bullmq/move.ts';
import { openMoveTarget } from '../../adapters/mongo/move/target.ts';
import { systemClock as clock } from '../../adapters/node/clock.ts';
import { createLog } from '../../adapters/node/log.ts';
import { openValueTarget } from '../../adapters/redis/move.ts';
import { openMoveSource } from '../../adapters/sqlite/move/source.ts';
import { Move } from '../../src/hub/move/move.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { newStoredName } from '../suite/stored-names.ts';

interface MoveOrder {
  /** Of a stopped hub. */
  readonly folder: string;
  readonly mongoUrl: string;
  readonly redisUrl: string;
  /** The bound before the copy. */
  readonly isBoundFirst: boolean;
}

/** Documents a second. */
export interface MoveRound {
  readonly documents: number;
  readonly copied: number;
  /** Indexed and compared. */
  readonly checked: number;
  /** Copied, indexed and compared. */
  readonly moved: number;
  /** Bare. */
  readonly inserted: number;
}

export class MoveRates extends ClientProcess<MoveOrder> {
  constructor() {
    super(import.meta.url, 'move');
  }

  measure(order: MoveOrder): Promise<MoveRound> {
    return this.request(order);
  }
}

const log = createLog({ level: 'error' });
/** As many as a write of a move. */
const perWrite = 1_000;
/** By collection. The first copy brings them: every copy of one folder is the same. */
let documents: ReadonlyMap<string, readonly Document[]> | null = null;

async function withDatabase<T>(
  url: string,
  task: (url: string, client: MongoClient) => Promise<T>,
): Promise<T> {
  const address = new URL(url);
  address.pathname = `/${newStoredName()}`;
  const client = new MongoClient(address.href, { writeConcern: { w: 'majority', journal: true } });
  try {
    return await task(address.href, client);
  } finally {
    await client.db().dropDatabase();
    await client.close();
  }
}

async function readDocuments(client: MongoClient): Promise<ReadonlyMap<string, readonly Document[]>> {
  const collections = await client.db().collections();
  const pairs = collections.map(
    async (collection) => [collection.collectionName, await collection.find().toArray()] as const,
  );
  return new Map(await Promise.all(pairs));
}

/** Milliseconds of the copy, of the indexes and the comparison after it, and of the whole. */
function measureCopy({ folder, mongoUrl, redisUrl }: MoveOrder) {
  return withDatabase(mongoUrl, async (url, client) => {
    const name = newStoredName();
    const source = openMoveSource(join(folder, 'reeve.db'), { read: () => null, write() {} });
    const target = await openMoveTarget(url, log);
    const values = await openValueTarget(redisUrl, `${name}:`, clock, log);
    const jobs = await openJobTarget(redisUrl, name, clock);
    const at = { begin: 0, copied: 0, checked: 0 };
    const begin = target.begin.bind(target);
    const write = target.write.bind(target);
    const timed: typeof target = Object.assign(target, {
      async begin(hubId: string, time: number) {
        await begin(hubId, time);
        at.begin = performance.now();
      },
      async write(...args: Parameters<typeof target.write>) {
        await write(...args);
        at.copied = performance.now();
      },
    });
    try {
      const checked = (): void => {
        at.checked = performance.now();
      };
      await new Move({ source, target: timed, values, jobs, clock, report() {}, checked }).run();
      const wholeMs = performance.now() - at.begin;
      documents ??= await readDocuments(client);
      return { copyMs: at.copied - at.begin, checkMs: at.checked - at.copied, wholeMs };
    } finally {
      source.close();
      await values.empty();
      for (const part of [jobs, values, target]) await part.close();
    }
  });
}

const measureInserts = ({ mongoUrl }: MoveOrder): Promise<number> =>
  withDatabase(mongoUrl, async (_, client) => {
    const began = performance.now();
    for (const [name, list] of documents ?? []) {
      for (let from = 0; from < list.length; from += perWrite) {
        await client
          .db()
          .collection(name)
          .insertMany(list.slice(from, from + perWrite), { ordered: false });
      }
    }
    return performance.now() - began;
  });

async function run(order: MoveOrder): Promise<MoveRound> {
  const early = order.isBoundFirst && documents !== null ? await measureInserts(order) : null;
  const { copyMs, checkMs, wholeMs } = await measureCopy(order);
  const insertMs = early ?? (await measureInserts(order));
  const count = [...(documents ?? new Map()).values()].reduce((sum, list) => sum + list.length, 0);
  const rate = (ms: number): number => (count * 1000) / ms;
  return {
    documents: count,
    copied: rate(copyMs),
    checked: rate(checkMs),
    moved: rate(wholeMs),
    inserted: rate(insertMs),
  };
}

serveOrders(import.meta.url, run);

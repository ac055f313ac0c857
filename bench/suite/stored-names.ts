// Names of databases and of parts of Redis. All names of a run begin alike, so that the run can remove what it leaves
// in servers that stay.
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';

const randomName = (): string => randomUUID().slice(0, 8);

/** Client processes inherit it. */
process.env.REEVE_BENCH_STORED ??= `reeve_bench_${randomName()}_`;
const prefix = process.env.REEVE_BENCH_STORED;

/** For a database, or for keys of Redis that begin with it. */
export const newStoredName = (): string => prefix + randomName();

const connectMs = 3000;

async function removeDatabases(mongoUrl: string): Promise<void> {
  const mongo = new MongoClient(mongoUrl, { serverSelectionTimeoutMS: connectMs });
  try {
    const { databases } = await mongo.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of databases) if (name.startsWith(prefix)) await mongo.db(name).dropDatabase();
  } finally {
    await mongo.close();
  }
}

async function removeKeys(redisUrl: string): Promise<void> {
  const redis = createClient({ url: redisUrl, socket: { reconnectStrategy: false } });
  await redis.connect();
  try {
    for await (const keys of redis.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 })) {
      if (keys.length > 0) await redis.unlink(keys);
    }
  } finally {
    redis.destroy();
  }
}

/** Removes the databases and the keys of this run. */
export async function removeStored(mongoUrl: string, redisUrl: string): Promise<void> {
  await Promise.all([removeDatabases(mongoUrl), removeKeys(redisUrl)]);
}

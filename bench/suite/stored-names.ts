// Names of databases and of parts of Redis. All names of a run begin alike, so that the run can remove what it leaves
// in servers that stay.
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';

const randomName = (): string => randomUUID().slice(0, 8);

/**
 * The beginning of all names. Everything that begins like it is removed, so a value of other origin is not used.
 * @param inherited from the process of the suite; undefined: there is none
 */
export const prefixFrom = (inherited: string | undefined): string =>
  inherited !== undefined && /^reeve_bench_[0-9a-f]{8}_$/.test(inherited)
    ? inherited
    : `reeve_bench_${randomName()}_`;

const prefix = prefixFrom(process.env.REEVE_BENCH_STORED);
/** Client processes inherit it. */
process.env.REEVE_BENCH_STORED = prefix;

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

// The ground of the cluster suites: a log that keeps quiet, and databases of their own.
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, inject } from 'vitest';
import { openMongo } from '../../adapters/mongo/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { startOwnMongo } from '../services/start.ts';

const quiet = () => {};
export const noLog: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** Servers that the tests start go with their data; of one that somebody gave, databases are dropped. */
export const mustDrop = (): boolean => Boolean(process.env.MONGODB_URL);

/** Opens stores on new databases (or on the one named). */
export function mongoDatabases(url = () => inject('mongoUrl')): {
  newName(): string;
  open(database?: string): Promise<DocumentStore>;
} {
  const used = new Set<string>();
  const newName = () => {
    const name = `reeve_test_${randomUUID().slice(0, 18)}`;
    used.add(name);
    return name;
  };
  afterAll(async () => {
    if (!mustDrop()) return;
    const client = new MongoClient(url());
    try {
      for (const name of used) await client.db(name).dropDatabase();
    } finally {
      await client.close();
    }
  });
  return {
    newName,
    open: (database = newName()) => openMongo({ url: url(), database, log: noLog, clock: systemClock }),
  };
}

/**
 * As `mongoDatabases`, on a server of the file, which keeps it busy: the one that the tests start works in one thread.
 * A server that somebody gave serves all files.
 */
export function mongoDatabasesOfFile(): ReturnType<typeof mongoDatabases> {
  let server: Awaited<ReturnType<typeof startOwnMongo>>;
  beforeAll(async () => {
    server = await startOwnMongo({ forced: false });
  });
  afterAll(() => server?.stop());
  return mongoDatabases(() => server.mongo.url);
}

// The suite on servers of others: an interrupted run leaves neither a database nor a key.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect } from 'vitest';
import { root } from '../../bench/suite/root.ts';
import { benchProgram } from '../bench/program.ts';
import { itAtNight } from '../runs.ts';
import { type Services, startServices } from '../services/start.ts';

let services: Services;
beforeAll(async () => {
  services = await startServices({ own: true });
});
afterAll(() => services.stop());

/** Names of databases and keys that a run of the suite has stored. */
async function storedNames() {
  const mongo = new MongoClient(services.mongoUrl);
  const redis = createClient({ url: services.redisUrl });
  await redis.connect();
  try {
    const { databases } = await mongo.db().admin().listDatabases({ nameOnly: true });
    const isOfRun = (name: string): boolean => name.startsWith('reeve_bench_');
    return {
      databases: databases.map(({ name }) => name).filter(isOfRun),
      keys: (await redis.keys('*')).filter(isOfRun),
    };
  } finally {
    redis.destroy();
    await mongo.close();
  }
}

itAtNight(
  'Ctrl-C removes what the nodes of a run have stored, and ends them',
  async () => {
    const child = spawn(process.execPath, [...benchProgram, 'cluster', '--hub', root, '--seconds', '600'], {
      cwd: root,
      env: { ...process.env, MONGODB_URL: services.mongoUrl, REDIS_URL: services.redisUrl },
      stdio: 'ignore',
      detached: true,
    });
    const hasBoth = async (): Promise<boolean> => {
      const { databases, keys } = await storedNames();
      return databases.length > 0 && keys.length > 0;
    };
    await expect.poll(hasBoth, { timeout: 90_000, interval: 500 }).toBe(true);
    const exited = once(child, 'exit');
    process.kill(-(child.pid ?? 0), 'SIGINT');
    expect(await exited).toEqual([130, null]);
    expect(await storedNames()).toEqual({ databases: [], keys: [] });
    const isGroupAlive = (): boolean => {
      try {
        return process.kill(-(child.pid ?? 0), 0);
      } catch {
        return false;
      }
    };
    await expect.poll(isGroupAlive, { timeout: 60_000 }).toBe(false);
  },
  150_000,
);

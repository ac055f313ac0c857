// Starts that fail at MongoDB or Redis name the cause, in one line without an address.
import { createServer } from 'node:net';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openMongo } from '../../adapters/mongo/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis } from '../../adapters/redis/index.ts';
import { type Forwarder, startForwarder } from '../services/forwarder.ts';
import { type Service, startOwnRedis } from '../services/start.ts';
import { mongoDatabases, noLog } from './stage.ts';

const failureOf = (opening: Promise<unknown>): Promise<string> =>
  opening.then(
    () => 'opened',
    (error: Error) => error.message,
  );
const redisAt = (url: string) => failureOf(openRedis({ url, log: noLog, clock: systemClock }));
const mongoAt = (url: string) =>
  failureOf(openMongo({ url, database: 'none', log: noLog, clock: systemClock }));

describe('a connection that fails', () => {
  let redis: Service;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ redis, stop } = await startOwnRedis('everysec'));
    const client = await createClient({ url: redis.url }).connect();
    await client.sendCommand(['CONFIG', 'SET', 'requirepass', 'right']);
    client.destroy();
  });
  afterAll(() => stop());

  it('to Redis is named by its cause, and no password is', async () => {
    const { port } = new URL(redis.url);
    const cases = [
      [`redis://:wrong-one@127.0.0.1:${port}`, /refuses the user or the password \(WRONGPASS\)/],
      [redis.url, /refuses the user or the password \(NOAUTH\)/],
      [`rediss://:right@127.0.0.1:${port}`, /TLS on this port/],
      ['redis://nowhere.invalid:6379', /host name cannot be resolved/],
      ['redis://127.0.0.1:1', /nothing listens at this address \(ECONNREFUSED\)/],
    ] as const;
    const opened = cases.map(async ([url, words]) => ({ message: await redisAt(url), words }));
    for (const { message, words } of await Promise.all(opened)) {
      expect(message).toContain('The hub cannot use Redis (REDIS_URL): ');
      expect(message).toMatch(words);
      expect(message).not.toContain('wrong-one');
    }
  });

  it('to MongoDB is named by its cause', async () => {
    const silent = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    const { port } = new URL(inject('mongoUrl'));
    const cases = [
      ['mongodb://nowhere.invalid:27017/?directConnection=true', /host name cannot be resolved/],
      ['mongodb://127.0.0.1:1/?directConnection=true', /nothing listens at this address \(ECONNREFUSED\)/],
      [`mongodb://127.0.0.1:${port}/?directConnection=true&tls=true`, /TLS on this port/],
    ] as const;
    const opened = cases.map(async ([url, words]) => ({ message: await mongoAt(url), words }));
    for (const { message, words } of await Promise.all(opened)) {
      expect(message).toMatch(/^The hub cannot use MongoDB \(MONGODB_URL\): /);
      expect(message).toMatch(words);
    }
    expect(await mongoAt('mongodb://a@b@c')).toBe(
      'MONGODB_URL is not a valid MongoDB connection string. Correct it.',
    );
    silent.close();
  });
});

describe('a first start on a large MongoDB', () => {
  let forwarder: Forwarder;
  const databases = mongoDatabases();
  afterAll(() => forwarder?.close());

  it('waits for an index that takes longer than any command may', async () => {
    const url = new URL(inject('mongoUrl'));
    forwarder = await startForwarder(Number(url.port));
    let held = 0;
    forwarder.delay = (sent) => {
      if (held > 0 || !sent.includes('createIndexes')) return null;
      held++;
      return new Promise((resolve) => void setTimeout(resolve, 9_000));
    };
    url.port = String(forwarder.port);
    const database = databases.newName();
    const store = await openMongo({ url: url.href, database, log: noLog, clock: systemClock });
    expect(held).toBe(1);
    await store.close();
  }, 60_000);
});

// `reeve doctor` on the servers of a cluster: sound ones, one that evicts keys and keeps nothing, and none.
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import { checkServers } from '../../src/hub/doctor/servers.ts';
import { startOwnRedis } from '../services/start.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
let redis: Awaited<ReturnType<typeof startOwnRedis>>;
let mongoUrl: string;

beforeAll(async () => {
  redis = await startOwnRedis();
  const database = databases.newName();
  mongoUrl = inject('mongoUrl').replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${database}`);
  const store = await databases.open(database);
  await store.keyCheck.first('master', 'sealed by another secret');
  await store.close();
});
afterAll(() => redis.stop());

async function outcomes(of: { readonly mongoUrl?: string; readonly redisUrl?: string }) {
  const servers = { mongoUrl, redisUrl: redis.redis.url, name: 'reeve', ...of };
  const { findings } = await checkServers(servers, 'k'.repeat(40));
  return Object.fromEntries(findings.map(({ check, outcome }) => [check, outcome]));
}

describe('reeve doctor on servers', () => {
  it('finds what is well, and a SECRET_KEY that is not the one of the database', async () => {
    expect(await outcomes({})).toEqual({
      mongodb: 'ok',
      mongodb_replica_set: 'ok',
      mongodb_indexes: 'ok',
      mongodb_clock: 'ok',
      secret: 'failure',
      redis: 'ok',
      redis_role: 'ok',
      redis_eviction: 'ok',
      redis_persistence: 'ok',
      redis_acl: 'ok',
      redis_clock: 'ok',
    });
  });

  it('finds eviction, missing persistence and a user without rights, and writes nothing', async () => {
    const client = createClient({ url: redis.redis.url });
    await client.connect();
    await client.configSet({ 'maxmemory-policy': 'allkeys-lru', appendonly: 'no', save: '' });
    const bare = ['on', '>secret', '~*', '+@all', '-xadd', '-eval', '-evalsha'];
    await client.sendCommand(['ACL', 'SETUSER', 'bare', ...bare]);
    const found = await outcomes({ redisUrl: redis.redis.url.replace('//', '//bare:secret@') });
    expect(found).toMatchObject({
      redis_eviction: 'failure',
      redis_persistence: 'warning',
      redis_acl: 'failure',
    });
    expect(await client.dbSize()).toBe(0);
    await client.close();
  });

  it('fails where no server answers', async () => {
    const nowhere = `127.0.0.1:${await freePort()}`;
    const found = await outcomes({ mongoUrl: `mongodb://${nowhere}/x`, redisUrl: `redis://${nowhere}` });
    expect(found).toEqual({ mongodb: 'failure', redis: 'failure' });
  });
});

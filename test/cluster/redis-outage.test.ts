// A node on Redis while Redis is away, hangs, comes back on its data, or comes back without them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis, type RedisParts } from '../../adapters/redis/index.ts';
import { dashboardsOf } from '../../src/shared/frame.ts';
import type { BroadcastEntry } from '../../src/shared/ports/broadcast.ts';
import { aFrame, collector, numbers } from '../conformance/broadcast.ts';
import { uuid, writerOf } from '../conformance/fixtures.ts';
import { until } from '../services/service.ts';
import { type Service, startOwnRedis } from '../services/start.ts';
import { noLog } from './stage.ts';

let redis: Service;
let stop: () => Promise<void>;
let prefix: string;

beforeAll(async () => {
  ({ redis, stop } = await startOwnRedis('always'));
});
afterAll(() => stop());

async function using(test: (a: RedisParts, b: RedisParts) => Promise<void>): Promise<void> {
  prefix = `test-${uuid()}:`;
  const open = () => openRedis({ url: redis.url, log: noLog, clock: systemClock, prefix });
  const [a, b] = [await open(), await open()];
  try {
    await test(a, b);
  } finally {
    await a.close();
    await b.close();
  }
}

/** Resolves when the node's commands work again. */
const back = (parts: RedisParts) =>
  until('the link', async () => {
    await parts.ping();
  });

const refusal = { name: 'HubError', code: 'unavailable', detail: { retryAfter: 2 } };

describe('redis away', () => {
  it('refuses as unavailable, limits too, and works again afterwards', () =>
    using(async (a) => {
      const [lease] = await a.leases.acquire(['x']);
      if (!lease) throw new Error('no lease');
      await redis.kill9();
      await until('the link', () =>
        a.ping().then(
          () => Promise.reject(new Error('still there')),
          () => {},
        ),
      );
      await expect(Promise.resolve(a.limits.hit('x', 100, 60_000))).rejects.toMatchObject(refusal);
      await expect(a.values.get(uuid(), 'k', 0)).rejects.toMatchObject(refusal);
      await expect(a.broadcast.publish([aFrame(dashboardsOf(uuid()), 1)])).rejects.toMatchObject(refusal);
      await expect(a.broadcast.follow(dashboardsOf(uuid()), () => {})).rejects.toMatchObject(refusal);
      await expect(a.leases.renew([lease])).rejects.toMatchObject(refusal);
      await redis.start();
      await back(a);
      expect(await a.limits.hit('x', 100, 60_000)).toMatchObject({ ok: true });
    }));

  it('a server that hangs is given up, and a new connection works when it goes on', () =>
    using(async (a) => {
      const { deliver, reached } = collector<BroadcastEntry>();
      const audience = dashboardsOf(uuid());
      await a.broadcast.follow(audience, deliver);
      await redis.pause();
      try {
        await expect(Promise.resolve(a.limits.hit('x', 100, 60_000))).rejects.toMatchObject(refusal);
      } finally {
        await redis.resume();
      }
      await back(a);
      await a.broadcast.publish([aFrame(audience, 'after')]);
      expect(numbers(await reached(1))).toEqual(['after']);
    }));
});

describe('redis killed and started again on its data', () => {
  it('followers lose nothing and get nothing twice, over several kills under load', () =>
    using(async (a, b) => {
      const audience = dashboardsOf(uuid());
      const { deliver, got, reached } = collector<BroadcastEntry>();
      const { position } = await b.broadcast.follow(audience, deliver);
      const acknowledged: number[] = [];
      let next = 0;
      const publish = async (n: number) => {
        for (let i = 0; i < n; i++) {
          const number = next++;
          await a.broadcast.publish([aFrame(audience, number)]).then(
            () => acknowledged.push(number),
            () => {},
          );
        }
      };
      for (let round = 0; round < 3; round++) {
        const load = publish(300);
        await reached(got.length + 50);
        await redis.kill9();
        await load;
        await redis.start();
        await back(a);
        await publish(20);
      }
      await reached(acknowledged.length);
      await until('the last frame', async () => {
        if (numbers(got).at(-1) !== acknowledged.at(-1)) throw new Error('not yet');
      });
      const seen = numbers(got) as number[];
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual([...seen].sort((x, y) => x - y));
      const arrived = new Set(seen);
      expect(acknowledged.filter((n) => !arrived.has(n))).toEqual([]);
      await back(b);
      expect(await b.broadcast.since(audience, position)).toEqual(got);
    }));

  it('values and epochs outlive it', () =>
    using(async (a) => {
      const tenantId = uuid();
      await a.values.set(writerOf(tenantId), 'k', 'v', 1000);
      const [before] = await a.leases.acquire(['x']);
      if (!before) throw new Error('no lease');
      await redis.kill9();
      await redis.start();
      await back(a);
      expect(await a.values.get(tenantId, 'k', 2000)).toBe('v');
      await a.leases.release([before]);
      const [after] = await a.leases.acquire(['x']);
      expect(after?.epoch).toBeGreaterThan(before.epoch);
    }));
});

describe('redis without its data', () => {
  it('old positions are gone, followers are told once and follow on, and epochs still rise', () =>
    using(async (a, b) => {
      const audience = dashboardsOf(uuid());
      const { deliver, reached } = collector<BroadcastEntry>();
      const lost = (at: string) => deliver({ position: at, frame: aFrame(audience, 'lost') });
      const { position } = await b.broadcast.follow(audience, deliver, lost);
      await a.broadcast.publish([aFrame(audience, 1)]);
      await reached(1);
      const [before] = await a.leases.acquire(['x']);
      const { createClient } = await import('redis');
      const client = createClient({ url: redis.url });
      await client.connect();
      await client.flushAll();
      client.destroy();
      await redis.kill9();
      await redis.start();
      await back(a);
      const [, told] = await reached(2);
      expect(told?.frame).toEqual(aFrame(audience, 'lost'));
      expect(await b.broadcast.since(audience, position)).toBe('gone');
      expect(await b.broadcast.since(audience, told?.position ?? '')).toEqual([]);
      await a.broadcast.publish([aFrame(audience, 2)]);
      expect(numbers(await reached(3)).at(-1)).toBe(2);
      const [after] = await a.leases.acquire(['x']);
      expect(after?.epoch).toBeGreaterThan(before?.epoch ?? Number.POSITIVE_INFINITY);
    }));
});

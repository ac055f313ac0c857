// Limits, session values, leases and the broadcast on Redis keep every promise of their ports.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis, type RedisOptions } from '../../adapters/redis/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { broadcastContract } from '../contract/broadcast.ts';
import { leasesContract } from '../contract/leases.ts';
import { limitsContract } from '../contract/limits.ts';
import { valuesContract } from '../contract/values.ts';
import { noLog } from './stage.ts';

/** A part of Redis of its own, whose keys end by themselves. */
const open = (prefix: string, over: Partial<RedisOptions> = {}) =>
  openRedis({ url: inject('redisUrl'), log: noLog, clock: systemClock, prefix, ...over });
const newPrefix = () => `test-${randomUUID()}:`;

limitsContract('redis', async () => {
  let now = 1_000_000;
  const parts = await open(newPrefix(), { limitTime: () => now });
  return {
    limits: parts.limits,
    advance: (ms) => {
      now += ms;
    },
    close: () => parts.close(),
  };
});

valuesContract('redis', async () => (await open(newPrefix())) as unknown as Store, false);

leasesContract('redis', async () => {
  const prefix = newPrefix();
  const leaseMs = 400;
  const nodes: Awaited<ReturnType<typeof open>>[] = [];
  return {
    async node() {
      const parts = await open(prefix, { leaseMs });
      nodes.push(parts);
      return parts.leases;
    },
    async lapse() {
      // A lease taken now ends after all that were taken before.
      const [parts] = nodes;
      if (!parts) return;
      const probe = await parts.leases.acquire([randomUUID()]);
      const others = await open(prefix, { leaseMs: 1 });
      const name = probe[0]?.name ?? '';
      while ((await others.leases.acquire([name])).length === 0) await setImmediate();
      await others.close();
    },
    monotonic: () => systemClock.monotonic(),
    async close() {
      await Promise.all(nodes.map((parts) => parts.close()));
    },
  };
});

broadcastContract('redis', async () => {
  const prefix = newPrefix();
  const retention = { keepFrames: 50 };
  const [one, two] = [await open(prefix, { retention }), await open(prefix, { retention })];
  return {
    broadcast: one.broadcast,
    other: two.broadcast,
    keepFrames: 50,
    async close() {
      await one.close();
      await two.close();
    },
  };
});

describe('redis: limits in its own time', () => {
  it('let the next one through when the window has passed, not before', async () => {
    const { limits, close } = await open(newPrefix());
    const begun = performance.now();
    expect((await limits.hit('x', 1, 200)).ok).toBe(true);
    while (!(await limits.hit('x', 1, 200)).ok) await setImmediate();
    expect(performance.now() - begun).toBeGreaterThanOrEqual(195);
    await close();
  });
});

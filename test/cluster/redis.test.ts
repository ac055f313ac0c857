// Limits, session values, leases and the broadcast on Redis keep every promise of their ports; what a log keeps, and
// what a reader that is late says.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { encode } from '@msgpack/msgpack';
import { describe, expect, inject, it } from 'vitest';
import { openBullJobs } from '../../adapters/bullmq/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { openBroadcast } from '../../adapters/redis/broadcast.ts';
import { writeFrame } from '../../adapters/redis/entry.ts';
import { openRedis, type RedisOptions, redisConnections } from '../../adapters/redis/index.ts';
import { type Link, openLink } from '../../adapters/redis/link.ts';
import { entriesOf, redisLogs } from '../../adapters/redis/log.ts';
import { openReader } from '../../adapters/redis/reader.ts';
import { currentFormat } from '../../src/shared/cluster-format.ts';
import { dashboardsOf } from '../../src/shared/frame.ts';
import type { BroadcastEntry } from '../../src/shared/ports/broadcast.ts';
import { aFrame, broadcastContract, collector, numbers } from '../conformance/broadcast.ts';
import { t0, writerOf } from '../conformance/fixtures.ts';
import { leasesContract } from '../conformance/leases.ts';
import { limitsContract } from '../conformance/limits.ts';
import { valuesContract } from '../conformance/values.ts';
import { noLog } from './stage.ts';

/** A part of Redis of its own, whose keys end by themselves. */
const open = (prefix: string, over: Partial<RedisOptions> = {}) =>
  openRedis({ url: inject('redisUrl'), log: noLog, clock: systemClock, prefix, ...over });
const group = redisConnections(noLog);
const newPrefix = () => `test-${randomUUID()}:`;
const aLink = () =>
  openLink({ url: inject('redisUrl'), log: noLog, clock: systemClock, timeoutMs: 2000, name: 'test', group });

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

valuesContract('redis', () => open(newPrefix()), false);

it('session values that were stored before they were counted are read, added to and overwritten', async () => {
  const prefix = newPrefix();
  const parts = await open(prefix);
  const link = await aLink();
  for (const key of ['n', 'text']) {
    await link.send(['SET', `${prefix}value:t/${key}`, `${t0 + 1000} 41`, 'PX', '60000']);
  }
  const writer = writerOf('t', { quota: { maxBytes: 10, maxKeys: 1 } });
  expect(await parts.values.get('t', 'n', t0)).toBe('41');
  expect(await parts.values.get('t', 'n', t0 + 1000)).toBeNull();
  expect(await parts.values.increment(writer, 'n', 1, t0)).toBe(42);
  expect(await parts.values.set(writer, 'text', '7', t0)).toBe('set');
  expect(await parts.values.set(writer, 'text', '1234567', t0)).toBe('bytes_full');
  expect(await parts.values.set(writer, 'text', '123456', t0)).toBe('set');
  await parts.values.remove('t', 'n');
  expect((await parts.values.getMany('t', ['n', 'text'], t0, 100)) as unknown).toEqual(
    new Map([['text', '123456']]),
  );
  await link.close();
  await parts.close();
});

it('the removal of a tenant takes its own keys alone, and no job from under its queue', async () => {
  const prefix = newPrefix();
  const [gone, stays] = [randomUUID(), randomUUID()];
  const parts = await open(prefix);
  const name = prefix.slice(0, -1);
  const jobs = await openBullJobs({ url: inject('redisUrl'), clock: systemClock, log: noLog, prefix: name });
  let runs = 0;
  let release = () => {};
  const running = new Promise<void>((resolve) => {
    release = resolve;
  });
  jobs.work('purge', async () => {
    runs++;
    await running;
  });
  const job = { queue: 'purge', runAt: Date.now() + 60_000, maxAttempts: 1 };
  const payload = { tenantId: gone };
  await jobs.add({ ...job, id: `of/${gone}`, payload });
  await jobs.add({ ...job, id: 'of-nobody', payload });
  await jobs.add({ ...job, id: `of/${stays}`, payload: { tenantId: stays } });
  await jobs.add({ ...job, id: 'running', payload, runAt: Date.now() });
  await expect.poll(() => runs).toBe(1);
  await parts.values.set(writerOf(gone), 'n', '1', t0);
  await parts.values.set(writerOf(stays), `about ${gone}`, '2', t0);

  expect(await parts.values.removeAll(gone, 500)).toBe(2);
  expect(await parts.values.removeAll(gone, 500)).toBe(0);
  expect(await parts.values.get(gone, 'n', t0)).toBeNull();
  expect(await parts.values.get(stays, `about ${gone}`, t0)).toBe('2');
  expect(await jobs.find('purge', `of/${gone}`)).toMatchObject({ state: 'waiting' });

  expect(await jobs.removeOfTenant(gone, 1)).toBe(1);
  expect(await jobs.removeOfTenant(gone, 500)).toBe(1);
  expect(await jobs.removeOfTenant(gone, 500)).toBe(0);
  expect(await jobs.find('purge', 'running')).toMatchObject({ state: 'running' });
  expect(await jobs.find('purge', `of/${stays}`)).toMatchObject({ state: 'waiting' });
  const waiting = { queue: 'purge', state: 'waiting', count: 1 };
  expect(await jobs.counts()).toContainEqual(waiting);
  release();
  await jobs.close();
  await parts.close();
});

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

describe('redis: a log that is trimmed', () => {
  const text = 'x'.repeat(1000);
  const large = (audience: ReturnType<typeof dashboardsOf>, n: number, length = 1000) =>
    aFrame(audience, n, { text: text.slice(0, length).padEnd(length) });

  it('keeps so many bytes, and the newest frame whatever its size', async () => {
    const { broadcast, close } = await open(newPrefix(), { retention: { keepBytes: 11_000 } });
    const audience = dashboardsOf(randomUUID());
    const { deliver, reached, got } = collector<BroadcastEntry>();
    const { position } = await broadcast.follow(audience, deliver);
    const since = async (from: string) => {
      const missed = await broadcast.since(audience, from);
      return missed === 'gone' ? missed : numbers(missed);
    };
    for (let n = 0; n < 10; n++) await broadcast.publish([large(audience, n)]);
    expect(await since(position)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await broadcast.publish([large(audience, 10), large(audience, 11)]);
    await reached(12);
    expect(await since(position)).toBe('gone');
    expect(await since(got[1]?.position ?? '')).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    await broadcast.publish([large(audience, 12, 30_000)]);
    await reached(13);
    expect(await since(got[10]?.position ?? '')).toBe('gone');
    expect(await since(got[11]?.position ?? '')).toEqual([12]);
    await broadcast.publish([large(audience, 13)]);
    await reached(14);
    expect(await since(got[12]?.position ?? '')).toEqual([13]);
    expect(got.map(({ frame }) => frame.type)).toEqual(got.map(() => 'contract_update'));
    await close();
  });

  it.each([[[]], [[2, 3]]])(
    'loses old frames to those who follow it, also if no new ones come (young: %j)',
    async (young) => {
      const prefix = newPrefix();
      const { broadcast, close } = await open(prefix);
      const link = await aLink();
      const audience = dashboardsOf(randomUUID());
      const key = `${prefix}log:{${audience}}`;
      const begun = Date.now() - 7_200_000;
      let [before, total] = ['', 0];
      for (let n = 0; n < 2; n++) {
        const body = writeFrame(large(audience, n));
        total += body.length;
        const position = `${begun + n}-0`;
        await link.send(['XADD', key, position, 'b', body, 'p', before, 't', String(total)]);
        before = position;
      }
      const since = async (at: string) => {
        const missed = await broadcast.since(audience, at);
        return missed === 'gone' ? missed : numbers(missed);
      };
      expect(await since(`${begun}-0`)).toEqual([1]);
      // As a node publishes that has not trimmed yet: two hours ago the first frames were young.
      for (const n of young) {
        const body = writeFrame(large(audience, n));
        total += body.length;
        const args = ['XADD', key, '*', 'b', body, 'p', before, 't', String(total)] as const;
        before = String(await link.send(args));
      }
      const { deliver, reached } = collector<BroadcastEntry>();
      expect((await broadcast.follow(audience, deliver)).position).toBe(before);
      expect(Number(await link.send(['XLEN', key]))).toBe(young.length);
      expect([await since(`${begun}-0`), await since(`${begun + 1}-0`)]).toEqual(['gone', young]);
      await broadcast.publish([large(audience, 4)]);
      await reached(1);
      expect([await since(`${begun + 1}-0`), await since(before)]).toEqual([[...young, 4], [4]]);
      await link.close();
      await close();
    },
  );

  it('is replayed whole over many pages, by size as by number', async () => {
    const { broadcast, close } = await open(newPrefix());
    const audience = dashboardsOf(randomUUID());
    const { deliver, reached } = collector<BroadcastEntry>();
    const { position } = await broadcast.follow(audience, deliver);
    for (let i = 0; i < 12; i++) {
      const frames = Array.from({ length: 100 }, (_, k) => aFrame(audience, i * 100 + k));
      await broadcast.publish([...frames, large(audience, -1, 1_000_000)]);
    }
    const got = await reached(12 * 101);
    const ids = (placed: readonly BroadcastEntry[] | 'gone') =>
      placed === 'gone' ? placed : placed.map((one) => `${one.position} ${one.frame.json.length}`);
    expect(ids(await broadcast.since(audience, position))).toEqual(ids(got));
    const asked = [0, 99, 100, 499, 500, 700, got.length - 1];
    const missed = await Promise.all(asked.map((i) => broadcast.since(audience, got[i]?.position ?? '')));
    expect(missed.map(ids)).toEqual(asked.map((i) => ids(got.slice(i + 1))));
    await close();
  });

  it('keeps its bounds and its order also where a node of the version before writes, which keeps no list of sizes', async () => {
    const prefix = newPrefix();
    const { broadcast, close } = await open(prefix, { retention: { keepFrames: 4, keepBytes: 8000 } });
    const link = await openLink({
      url: inject('redisUrl'),
      log: noLog,
      clock: systemClock,
      group,
      timeoutMs: 2000,
      name: 't',
    });
    const audience = dashboardsOf(randomUUID());
    const key = `${prefix}log:{${audience}}`;
    const { deliver, reached, got } = collector<BroadcastEntry>();
    const losses: string[] = [];
    await broadcast.follow(audience, deliver, (at) => losses.push(at));
    let total = 0;
    /** One frame as the version before adds it: the newest entry says what stands before it. */
    const older = async (n: number) => {
      const answer = await link.send(['XREVRANGE', key, '+', '-', 'COUNT', '1']);
      const [newest] = entriesOf(answer);
      const body = Buffer.from(encode(['event_created', JSON.stringify({ n }), null, null]));
      total += body.length;
      const before = newest?.position ?? '';
      await link.send(['XADD', key, '*', 'b', body, 'p', before, 't', String(total)]);
    };
    const newer = async (n: number, length = 100) => {
      const frame = large(audience, n, length);
      total += writeFrame(frame).length;
      await broadcast.publish([frame]);
    };
    for (let n = 0; n < 12; n += 3) {
      await newer(n);
      await older(n + 1);
      await older(n + 2);
    }
    await newer(12);
    await reached(13);
    const kept = async (i: number) => {
      const missed = await broadcast.since(audience, got[i]?.position ?? '');
      return missed === 'gone' ? missed : numbers(missed);
    };
    expect(numbers(got)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(await kept(8)).toEqual([9, 10, 11, 12]);
    expect(await kept(7)).toBe('gone');
    await newer(13, 7000);
    expect(await kept(9)).toEqual([10, 11, 12, 13]);
    await newer(14, 5000);
    await reached(15);
    expect(await kept(13)).toEqual([14]);
    expect(await kept(12)).toBe('gone');
    const [entry] = entriesOf(await link.send(['XREVRANGE', key, '+', '-', 'COUNT', '1']));
    expect(entry?.before).toBe(got[13]?.position);
    expect(losses).toEqual([]);
    await link.close();
    await close();
  });

  it.each([
    ['frames', { keepMs: 3_600_000, keepFrames: 300, keepBytes: 2 ** 26 }],
    ['bytes', { keepMs: 3_600_000, keepFrames: 2000, keepBytes: 5000 }],
  ])(
    'past a reader that is late though no read failed: its followers are told, once (%s)',
    async (_, retention) => {
      const prefix = newPrefix();
      const other = await open(prefix, { retention });
      const linked = (name: string) =>
        openLink({ url: inject('redisUrl'), log: noLog, clock: systemClock, timeoutMs: 2000, name, group });
      const [link, real] = [await linked('commands'), await linked('reader')];
      let wait: Promise<void> | null = null;
      let blocked = () => {};
      const blocking: Link = {
        run: (script, keys, args) => real.run(script, keys, args),
        close: () => real.close(),
        async send(args, ms) {
          if (wait) blocked();
          await wait;
          return real.send(args, ms);
        },
      };
      const logs = redisLogs(link, link, prefix, retention);
      const ports = { link, blocking, logs, clock: systemClock, log: noLog };
      const broadcast = await openBroadcast(logs, openReader(ports, `${prefix}wake`), systemClock, noLog);
      const audience = dashboardsOf(randomUUID());
      const { deliver, reached, got } = collector<BroadcastEntry>();
      const lost = (position: string) => deliver({ position, frame: aFrame(audience, 'lost') });
      await broadcast.follow(audience, deliver, lost);
      await other.broadcast.publish([large(audience, 0)]);
      await reached(1);
      let goOn = () => {};
      wait = new Promise((resolve) => (goOn = resolve));
      const standing = new Promise<void>((resolve) => (blocked = resolve));
      await link.send(['XADD', `${prefix}wake`, '*', 'w', '']);
      await standing;
      await other.broadcast.publish(Array.from({ length: 500 }, (_, n) => large(audience, n + 1)));
      goOn();
      const kept = await other.broadcast.since(audience, got[0]?.position ?? '');
      expect(kept).toBe('gone');
      await other.broadcast.publish([large(audience, 501)]);
      await reached(3);
      while (numbers(got).at(-1) !== 501) await setImmediate();
      const [, told, ...rest] = got;
      expect(numbers(got).slice(0, 2)).toEqual([0, 'lost']);
      const seen = numbers(rest) as number[];
      expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => 502 - seen.length + i));
      expect(seen.length).toBeLessThan(500);
      expect(await other.broadcast.since(audience, told?.position ?? '')).toSatisfy(
        (missed) => missed === 'gone' || missed.length >= seen.length,
      );
      await broadcast.close();
      await link.close();
      await other.close();
    },
  );
});

describe('what somebody else wrote in the same Redis', () => {
  const evil = ['', ' ', 'no time', '99999999999999999 \u0000', '{"half":', '\u0001\u0002'];

  it('is no member, and keeps none away', async () => {
    const prefix = newPrefix();
    const parts = await open(prefix, { nodeId: 'one' });
    const link = await aLink();
    for (const [i, text] of evil.entries()) await link.send(['HSET', `${prefix}members`, `evil-${i}`, text]);
    // A time that a node could have written, and a note that none wrote.
    await link.send(['HSET', `${prefix}members`, 'evil-now', `${Date.now()} \u00c1`]);
    const note = { version: '1', ...currentFormat, startedAt: 0, shards: [1], agents: 0 };
    for (let i = 0; i < 2; i++)
      expect(await parts.members.heartbeat(note)).toEqual([{ node: 'one', note, ageMs: 0 }]);
    await link.close();
    await parts.close();
  });

  it('is no lease, and no epoch', async () => {
    const prefix = newPrefix();
    const parts = await open(prefix, { nodeId: 'one' });
    const link = await aLink();
    const names = [...evil, '5 other'].map((text, i) => ({ text, name: `shard:${i}` }));
    for (const { text, name } of names) await link.send(['SET', `${prefix}lease:${name}`, text]);
    await link.send(['LPUSH', `${prefix}lease:list`, 'x']);
    await link.send(['SET', `${prefix}lease:list:epoch`, 'x']);
    await link.send(['LPUSH', `${prefix}lease:epoch:epoch`, 'x']);
    const wanted = [...names.map(({ name }) => name), 'list', 'epoch'];
    const got = await parts.leases.acquire(wanted);
    expect(got.map(({ name }) => name)).toEqual(wanted);
    await link.send(['DEL', `${prefix}lease:list`]);
    await link.send(['LPUSH', `${prefix}lease:list`, 'x']);
    expect((await parts.leases.renew(got)).map(({ name }) => name)).toEqual(
      wanted.filter((name) => name !== 'list'),
    );
    await link.close();
    await parts.close();
  });

  it('is no session value', async () => {
    const prefix = newPrefix();
    const parts = await open(prefix);
    const link = await aLink();
    const tenantId = randomUUID();
    for (const [i, text] of [
      'abc def',
      '/production x',
      '1.2.3/production x',
      '. x',
      ...evil.filter((one) => !/^\d/.test(one)),
    ].entries()) {
      await link.send(['SET', `${prefix}value:${tenantId}/k${i}`, text]);
      expect(await parts.values.getMany(tenantId, [`k${i}`], t0, 100)).toEqual(new Map());
      expect(await parts.values.set(writerOf(tenantId), `k${i}`, 'v', t0)).toBe('set');
      expect(await parts.values.get(tenantId, `k${i}`, t0)).toBe('v');
    }
    await link.close();
    await parts.close();
  });
});

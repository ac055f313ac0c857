// The time of a node when its machine's clock is not Redis's, when answers are slow, and when Redis is away.
import { describe, expect, it } from 'vitest';
import { clusterClock } from '../../../adapters/redis/clock.ts';
import type { RedisReply } from '../../../adapters/redis/link.ts';
import { unavailable } from '../../../adapters/redis/link.ts';
import { ManualClock } from '../../clock.ts';
import { silentLog } from '../../log.ts';

/** A Redis whose clock is `ahead` of this machine's, and takes 1 ms each to be asked and to answer. */
function stage(ahead: number) {
  const own = new ManualClock();
  const redis = { ahead, asksMs: 1, answersMs: 1, away: false };
  const link = {
    async send(): Promise<RedisReply> {
      if (redis.away) throw unavailable();
      own.skip(redis.asksMs);
      const now = own.now() + redis.ahead;
      own.skip(redis.answersMs);
      return [String(Math.floor(now / 1000)), String((now % 1000) * 1000)];
    },
  };
  const warned: unknown[] = [];
  const clock = clusterClock(bound(own), { ...silentLog, warn: (about) => void warned.push(about) });
  return { own, redis, link, clock, warned, behind: () => own.now() + redis.ahead - clock.now() };
}

/** Methods that need no `this`, as those of the system's clock. */
const bound = (own: ManualClock) => ({
  now: () => own.now(),
  monotonic: () => own.monotonic(),
  random: () => own.random(),
  after: (ms: number, task: () => void) => own.after(ms, task),
  every: (ms: number, task: () => void) => own.every(ms, task),
});

describe('the clock of a cluster', () => {
  it.each([0, 3_600_000, -3_600_000, 120_000])('goes by Redis, which is %i ms ahead', async (ahead) => {
    const { own, link, clock, warned, behind } = stage(ahead);
    expect(clock.now()).toBe(own.now());
    const following = await clock.follow(link);
    expect(Math.abs(behind())).toBeLessThanOrEqual(1);
    expect(warned).toEqual(ahead === 0 ? [] : [{ differs_ms: ahead }]);
    following.stop();
    expect(own.pending).toBe(0);
  });

  it('counts on while Redis is away, and is corrected when its clock was set', async () => {
    const { own, redis, link, clock, behind } = stage(60_000);
    await clock.follow(link);
    redis.away = true;
    await own.advanceAsync(60_000, 1_000);
    expect(Math.abs(behind())).toBeLessThanOrEqual(1);
    redis.away = false;
    redis.ahead = -5_000;
    await own.advanceAsync(6_000, 1_000);
    expect(Math.abs(behind())).toBeLessThanOrEqual(1);
  });

  it('is not moved by answers that took long', async () => {
    const { own, redis, link, clock, behind } = stage(60_000);
    await clock.follow(link);
    redis.answersMs = 900;
    await own.advanceAsync(6_000, 1_000);
    expect(Math.abs(behind())).toBeLessThanOrEqual(1);
  });

  it('stands still for a small correction backwards', async () => {
    const { own, redis, link, clock } = stage(0);
    await clock.follow(link);
    const before = clock.now();
    redis.ahead = -500;
    let last = before;
    for (let i = 0; i < 60; i++) {
      await own.advanceAsync(100);
      expect(clock.now()).toBeGreaterThanOrEqual(last);
      last = clock.now();
    }
    expect(own.now() - last).toBeGreaterThan(400);
  });
});

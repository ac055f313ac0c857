// How old the reader of envelopes takes an entry to be when clocks are set while all goes well.
import { describe, expect, it } from 'vitest';
import type { Argument, Link, RedisReply } from '../../../adapters/redis/link.ts';
import { openMessageBusReader } from '../../../adapters/redis/message-bus-reader.ts';
import { ManualClock, settled } from '../../clock.ts';
import { silentLog } from '../../log.ts';

/** A wall clock that can be set; the monotonic one and the timers do not notice. */
class SettableClock extends ManualClock {
  set = 0;
  override now(): number {
    return super.now() + this.set;
  }
}

/** A reader that was started, and entries for it that were added to Redis so many milliseconds ago. */
async function started() {
  const clock = new SettableClock();
  const redis = { set: 0 };
  const redisNow = () => clock.now() - clock.set + redis.set;
  const link = {
    async send([name]: readonly Argument[]): Promise<RedisReply> {
      const ms = redisNow();
      return name === 'TIME' ? [String(Math.floor(ms / 1000)), String((ms % 1000) * 1000)] : null;
    },
    run: async (_script: unknown, keys: readonly string[]) => keys.map(() => ['0-0', []]),
    close: async () => {},
  } as unknown as Link;
  let answer: (entries: RedisReply) => void = () => {};
  const blocking = {
    send: () => new Promise<RedisReply>((resolve) => (answer = resolve)),
    close: async () => {},
  } as unknown as Link;
  const ages: number[] = [];
  const take = (_key: string, { ageMs }: { readonly ageMs: number }) => void ages.push(ageMs);
  openMessageBusReader({
    link,
    blocking,
    group: 'g',
    node: 'n',
    home: 'home',
    clock,
    log: silentLog,
    take,
  });
  await settled();
  /** How old the reader says that it is. */
  const entry = async (agoMs: number) => {
    answer([['home', [[`${redisNow() - agoMs}-0`, ['b', Buffer.from('x')]]]]]);
    await settled();
    return ages.at(-1);
  };
  return { clock, redis, entry };
}

describe('the age of an entry', () => {
  it('stays right when the wall clock of this node is set', async () => {
    const { clock, entry } = await started();
    expect(await entry(700)).toBe(700);
    clock.set = 60_000;
    expect(await entry(700)).toBe(700);
    clock.set = -60_000;
    expect(await entry(700)).toBe(700);
  });

  it('is right again within seconds after the clock of Redis was set', async () => {
    const { clock, redis, entry } = await started();
    redis.set = 60_000;
    clock.advance(3000);
    // The turn after this one is the first that asks for the time.
    await entry(0);
    expect(await entry(700)).toBe(700);
  });
});

// The reader of frames on a log that is not the one from before an outage, or before it was late. And how
// much it asks for at a time.
import { describe, expect, it } from 'vitest';
import type { Argument, Link, RedisReply } from '../../../adapters/redis/link.ts';
import type { Logs } from '../../../adapters/redis/log.ts';
import { openReader } from '../../../adapters/redis/reader.ts';
import { dashboardsOf } from '../../../src/shared/frame.ts';
import { ManualClock, settled } from '../../clock.ts';
import { silentLog } from '../../log.ts';

/** A reader that has read up to `position` when its connection breaks; afterwards the log is as `bounds` says. */
async function afterOutage(position: string, bounds: { readonly floor: string; readonly end: string }) {
  const clock = new ManualClock();
  let broken = () => {};
  let reads = 0;
  const link = { send: async () => null, close: async () => {} } as unknown as Link;
  const blocking = {
    send: () =>
      new Promise((_, reject) => {
        if (reads++ === 0) broken = () => reject(new Error('gone'));
      }),
    close: async () => {},
  } as unknown as Link;
  const logs = { keyOf: (audience: string) => audience, bounds: async () => bounds } as unknown as Logs;
  const reader = openReader({ link, blocking, logs, clock, log: silentLog }, 'wake');
  const missed: string[] = [];
  let resumptions = 0;
  const followed = {
    audience: dashboardsOf('t1'),
    position,
    take: () => {},
    missed: (at: string) => void missed.push(at),
    resumed: () => void resumptions++,
  };
  reader.add(followed);
  broken();
  await settled();
  await clock.advanceAsync(200, 50);
  expect(reads).toBe(2);
  return { missed, resumptions, position: followed.position };
}

describe('after an outage', () => {
  it('a log that is as it was misses nothing', async () => {
    const whole = { missed: [], resumptions: 1, position: '5-0' };
    expect(await afterOutage('5-0', { floor: '1-0', end: '9-0' })).toEqual(whole);
    expect(await afterOutage('5-0', { floor: '5-0', end: '5-0' })).toEqual(whole);
  });

  it('a log that was trimmed past the position misses what was before its floor', async () => {
    expect(await afterOutage('5-0', { floor: '7-0', end: '9-0' })).toEqual({
      missed: ['7-0'],
      resumptions: 0,
      position: '7-0',
    });
  });

  it('a log that ends before the position has lost entries: it is read on from its end, and positions still rise', async () => {
    expect(await afterOutage('5-0', { floor: '1-0', end: '3-0' })).toEqual({
      missed: ['5-0.1'],
      resumptions: 0,
      position: '3-0',
    });
  });
});

/** A reader of one log from 5-0, whose reads the test answers. */
async function reading() {
  const clock = new ManualClock();
  const link = { send: async () => null, close: async () => {} } as unknown as Link;
  let end: { resolve(answer: RedisReply): void; reject(error: unknown): void } | null = null;
  const counts: number[] = [];
  const blocking = {
    send: (args: readonly Argument[]) =>
      new Promise<RedisReply>((resolve, reject) => {
        counts.push(Number(args[2]));
        end = { resolve, reject };
      }),
    close: async () => {},
  } as unknown as Link;
  const logs = {
    keyOf: (audience: string) => audience,
    bounds: async () => ({ floor: '1-0', end: '9-0' }),
  } as unknown as Logs;
  const reader = openReader({ link, blocking, logs, clock, log: silentLog }, 'wake');
  const audience = dashboardsOf('t1');
  const told: string[] = [];
  reader.add({
    audience,
    position: '5-0',
    take: ({ position }) => void told.push(`take ${position}`),
    missed: (at) => void told.push(`missed ${at}`),
  });
  const answer = async (entries: readonly (readonly [position: string, before: string])[]) => {
    const list = entries.map(([position, before]) => [
      position,
      ['b', Buffer.from(''), 'p', Buffer.from(before), 't', Buffer.from('1')],
    ]);
    end?.resolve([[audience, list]]);
    await settled();
  };
  /** The read fails after so long. */
  const fail = async (ms: number) => {
    clock.advance(ms);
    end?.reject(new Error('late'));
    await settled();
    await clock.advanceAsync(100, 50);
  };
  return { told, counts, answer, fail };
}

describe('an entry that follows one that was not read', () => {
  it('is handed on after the word that others were missed, though no read failed', async () => {
    const { told, answer } = await reading();
    await answer([
      ['8-0', '7-0'],
      ['9-0', '8-0'],
    ]);
    expect(told).toEqual(['missed 7-0', 'take 8-0', 'take 9-0']);
  });

  it('is told from one that follows what was read, or whose log was begun anew', async () => {
    const { told, answer } = await reading();
    await answer([
      ['6-0', '5-0'],
      ['7-0', ''],
      ['8-0', '7-0'],
      ['9-0', '3-0'],
    ]);
    expect(told).toEqual(['take 6-0', 'take 7-0', 'take 8-0', 'take 9-0']);
  });
});

describe('a read that takes too long', () => {
  it('is repeated for half as much each time, down to one, and for more again when it goes well', async () => {
    const { counts, answer, fail } = await reading();
    for (let i = 0; i < 10; i++) await fail(4000);
    expect(counts).toEqual([256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 1]);
    counts.length = 0;
    for (let i = 6; i < 16; i++) await answer([[`${i}-0`, `${i - 1}-0`]]);
    expect(counts).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 256, 256]);
  });

  it('is told from one that fails at once, as while Redis is away', async () => {
    const { counts, fail } = await reading();
    for (let i = 0; i < 3; i++) await fail(10);
    expect(counts).toEqual([256, 256, 256, 256]);
  });
});

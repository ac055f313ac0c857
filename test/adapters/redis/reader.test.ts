// What the reader of frames says of a log that is not what it was before an outage.
import { describe, expect, it } from 'vitest';
import type { Link } from '../../../adapters/redis/link.ts';
import type { Logs } from '../../../adapters/redis/log.ts';
import { openReader } from '../../../adapters/redis/reader.ts';
import { dashboardsOf } from '../../../src/domain/frame.ts';
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
  const followed = {
    audience: dashboardsOf('t1'),
    position,
    take: () => {},
    missed: (at: string) => void missed.push(at),
  };
  reader.add(followed);
  broken();
  await settled();
  await clock.advanceAsync(200, 50);
  expect(reads).toBe(2);
  return { missed, position: followed.position };
}

describe('after an outage', () => {
  it('a log that is as it was misses nothing', async () => {
    expect(await afterOutage('5-0', { floor: '1-0', end: '9-0' })).toEqual({ missed: [], position: '5-0' });
    expect(await afterOutage('5-0', { floor: '5-0', end: '5-0' })).toEqual({ missed: [], position: '5-0' });
  });

  it('a log that was trimmed past the position misses what was before its floor', async () => {
    expect(await afterOutage('5-0', { floor: '7-0', end: '9-0' })).toEqual({
      missed: ['7-0'],
      position: '7-0',
    });
  });

  it('a log that ends before the position has lost entries: it is read on from its end, and positions still rise', async () => {
    expect(await afterOutage('5-0', { floor: '1-0', end: '3-0' })).toEqual({
      missed: ['5-0.1'],
      position: '3-0',
    });
  });
});

// Errors from the driver, as the product's errors.
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
} from 'mongodb';
import { expect, it } from 'vitest';
import { asHubError, guardStore } from '../../../adapters/mongo/failure.ts';
import { ManualClock } from '../../clock.ts';
import { noLog } from '../../cluster/stage.ts';
import { memoryLog } from '../../log.ts';

const nothing = {} as BulkWriteResult;

it('a bulk write that lost its connection is unavailable, not an error of the hub', () => {
  for (const cause of [
    new MongoNetworkError('connection 24 to 127.0.0.1:27017 closed'),
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:27017'), { code: 'ECONNREFUSED' }),
  ]) {
    const thrown = new MongoBulkWriteError(cause as never, nothing);
    expect(asHubError(thrown, noLog)).toMatchObject({ code: 'unavailable', detail: { retryAfter: 2 } });
  }
});

it('a command that the server refuses is an error of the hub, and what it cannot keep is one of the caller', () => {
  const refused = (code: number) => asHubError(new MongoServerError({ message: 'no', code }), noLog);
  expect(refused(2)).toMatchObject({ code: 'internal' });
  expect(refused(50)).toMatchObject({ code: 'search_timeout' });
  expect(refused(91)).toMatchObject({ code: 'unavailable' });
  expect(refused(10334)).toMatchObject({ code: 'unprocessable' });
  expect(
    asHubError(new MongoBulkWriteError({ message: 'no', code: 2 } as never, nothing), noLog),
  ).toMatchObject({
    code: 'internal',
  });
});

it('the log says that the store is away at once, and then now and then with how often it was not said', async () => {
  const [clock, log] = [new ManualClock(), memoryLog()];
  const guard = guardStore(log, clock, async () => {});
  const { read } = guard.guarded({
    read: async () => {
      throw new MongoNetworkError('connection 24 to 127.0.0.1:27017 closed');
    },
  });
  const calls = async (count: number) => {
    for (let i = 0; i < count; i++) await expect(read()).rejects.toMatchObject({ code: 'unavailable' });
  };
  await calls(50);
  expect(log.lines).toHaveLength(1);
  clock.advance(10_000);
  await calls(1);
  expect(log.lines.map(({ fields }) => (fields as { repeats?: number }).repeats)).toEqual([undefined, 49]);
});

it('the log of an outage of an hour has a line at once and then after growing pauses', async () => {
  const [clock, log] = [new ManualClock(), memoryLog()];
  const guard = guardStore(log, clock, async () => {});
  let isAway = true;
  const { read } = guard.guarded({
    read: async () => {
      if (isAway) throw new MongoNetworkError('connect ECONNREFUSED 127.0.0.1:27017');
    },
  });
  for (let second = 0; second < 3600; second++) {
    await read().catch(() => {});
    clock.advance(1000);
  }
  expect(log.lines.length).toBeLessThanOrEqual(11);
  expect(log.lines[0]?.fields).toMatchObject({
    cause: expect.stringContaining('Check that the server runs'),
  });
  isAway = false;
  await read();
  const before = log.lines.length;
  isAway = true;
  await read().catch(() => {});
  // After its end, an outage is logged at once, as the first was.
  expect(log.lines.length).toBe(before + 1);
});

it('the log says once that the store is back, with how many calls failed', async () => {
  const returns: object[] = [];
  const info = (fields: object, message: string) => void returns.push({ ...fields, message });
  const guard = guardStore({ ...memoryLog(), info }, new ManualClock(), async () => {});
  let away = false;
  const { read } = guard.guarded({
    read: async () => {
      if (away) throw new MongoNetworkError('connection 24 closed');
    },
  });
  await read();
  away = true;
  for (let i = 0; i < 11; i++) await expect(read()).rejects.toMatchObject({ code: 'unavailable' });
  away = false;
  for (let i = 0; i < 3; i++) await read();
  expect(returns).toEqual([{ failed_calls: 11, message: 'the store is back' }]);
});

it('a pool whose connections are all in use is no outage, unless the store is away', async () => {
  class PoolTimeout extends MongoError {
    override get name() {
      return 'MongoWaitQueueTimeoutError';
    }
  }
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const guard = guardStore({ ...memoryLog(), warn: note, info: note }, new ManualClock(), async () => {});
  let failure: Error | null = new PoolTimeout('Timed out while checking out a connection');
  const { read } = guard.guarded({
    read: async () => {
      if (failure) throw failure;
    },
  });
  await expect(read()).rejects.toThrow('All connections to the store are in use.');
  failure = null;
  await read();
  expect(lines).toEqual(['no connection to the store became free in time']);
  failure = new MongoNetworkError('connection 24 closed');
  await expect(read()).rejects.toThrow('The hub cannot reach its store.');
  failure = new PoolTimeout('Timed out while checking out a connection');
  await expect(read()).rejects.toThrow('The hub cannot reach its store.');
  failure = null;
  await read();
  expect(lines.at(-1)).toBe('the store is back');
});

it('is known to be full from a write that found no room until a probe that did', async () => {
  const clock = new ManualClock();
  const noRoom = new MongoServerError({ message: 'out of disk space', code: 14031 });
  let free = false;
  let probes = 0;
  const guard = guardStore(memoryLog(), clock, async () => {
    probes++;
    if (!free) throw noRoom;
  });
  const { write } = guard.guarded({
    write: async () => {
      if (!free) throw noRoom;
    },
  });
  expect(guard.storage().state).toBe('ok');
  for (let i = 0; i < 3; i++) {
    await expect(write()).rejects.toMatchObject({
      ...{ code: 'disk_full', detail: { retryAfter: 10, mayBeStored: true } },
    });
  }
  expect(guard.storage().state).toBe('full');
  await clock.advanceAsync(2000, 500);
  expect({ state: guard.storage().state, probes }).toEqual({ state: 'full', probes: 2 });
  free = true;
  await clock.advanceAsync(1000, 500);
  expect(guard.storage().state).toBe('ok');
  await clock.advanceAsync(5000, 500);
  expect(probes).toBe(3);
  expect(clock.pending).toBe(0);
});

import { expect, it } from 'vitest';
import { type SweepOptions, startSweep } from '../../../actors/runtime/deadlines.ts';
import type { Tell } from '../../../actors/runtime/define.ts';
import { ManualClock, settled } from '../../clock.ts';
import { memoryLog } from '../../log.ts';

const message: Tell = { kind: 'environment', key: 't1/staging', type: 'expireApproval', body: { id: 'a1' } };

function aSweep(options: Partial<SweepOptions> = {}) {
  const clock = new ManualClock(0);
  const log = memoryLog();
  const told: Tell[] = [];
  const asked: number[] = [];
  const sweep = startSweep({
    clock,
    log,
    mine: () => true,
    due: async (now) => {
      asked.push(now);
      return [message];
    },
    tell: async (tell) => void told.push(tell),
    ...options,
  });
  return { clock, log, told, asked, sweep };
}

it('asks every second for what is due and tells the actors', async () => {
  const asked: number[] = [];
  const { clock, told, sweep } = aSweep({
    due: async (now) => {
      asked.push(now);
      return [{ ...message, key: `at ${now}` }];
    },
  });
  await clock.advanceAsync(2500, 500);
  expect(asked).toEqual([1000, 2000]);
  expect(told.map(({ key }) => key)).toEqual(['at 1000', 'at 2000']);
  await sweep.stop();
  await clock.advanceAsync(2000, 500);
  expect(asked).toHaveLength(2);
  expect(clock.pending).toBe(0);
});

it('tells again what stays due, after 3 s', async () => {
  const { clock, told, asked } = aSweep();
  await clock.advanceAsync(3500, 500);
  expect([asked.length, told.length]).toEqual([3, 1]);
  await clock.advanceAsync(1000, 500);
  expect(told).toEqual([message, message]);
});

it('tells the actors of this process alone, and those that it takes over as soon as it is told to look', async () => {
  const own = new Set(['t2/staging']);
  const theirs = { ...message, key: 't2/staging' };
  const { clock, told, sweep } = aSweep({
    mine: (key) => own.has(key),
    due: async () => [message, theirs],
  });
  await clock.advanceAsync(1000);
  expect(told).toEqual([theirs]);
  own.add(message.key);
  await sweep.run();
  expect(told).toEqual([theirs, message]);
});

it('never runs twice at once; one that is asked for meanwhile follows', async () => {
  const answers: ((tells: Tell[]) => void)[] = [];
  const { clock, told, sweep } = aSweep({ due: () => new Promise((resolve) => answers.push(resolve)) });
  await clock.advanceAsync(5000, 1000);
  expect(answers).toHaveLength(1);
  const asked = sweep.run();
  await settled();
  expect(answers).toHaveLength(1);
  answers[0]?.([message]);
  await settled();
  expect(told).toHaveLength(1);
  expect(answers).toHaveLength(2);
  answers[1]?.([]);
  await asked;
  await clock.advanceAsync(1000);
  expect(answers).toHaveLength(3);
  answers[2]?.([]);
});

it('does not wait until what it told is handled, and tells at the next turn what could not be', async () => {
  const handled: ((error?: Error) => void)[] = [];
  const { clock, asked } = aSweep({
    tell: () =>
      new Promise<void>((resolve, reject) =>
        handled.push((error) => (error === undefined ? resolve() : reject(error))),
      ),
  });
  await clock.advanceAsync(1000);
  await clock.advanceAsync(1000);
  expect([asked.length, handled.length]).toEqual([2, 1]);
  handled[0]?.(new Error('the store did not answer'));
  await clock.advanceAsync(1000);
  expect(handled).toHaveLength(2);
  // It was told again 3 s after that: a failure that old says nothing of the newer one.
  await clock.advanceAsync(3000, 1000);
  expect(handled).toHaveLength(3);
  handled[1]?.(new Error('nobody waits any more'));
  await clock.advanceAsync(1000);
  expect(handled).toHaveLength(3);
});

it('goes on after a failure of the store or of an actor', async () => {
  let fail = true;
  const { clock, told, log } = aSweep({
    due: () => {
      if (fail) throw new Error('store down');
      return Promise.resolve([message, { ...message, key: 'full' }, { ...message, key: 't2/staging' }]);
    },
    tell: async (tell) => {
      if (tell.key === 'full') throw new Error('overloaded');
      told.push(tell);
    },
  });
  await clock.advanceAsync(1000);
  fail = false;
  await clock.advanceAsync(1000);
  expect(told).toHaveLength(2);
  expect(log.lines.map((line) => line.level)).toEqual(['error', 'warn']);
  await clock.advanceAsync(1000);
  // The one that could not be told is tried at once; the others have 3 s.
  expect(told).toHaveLength(2);
  expect(log.lines.map((line) => line.level)).toEqual(['error', 'warn', 'warn']);
});

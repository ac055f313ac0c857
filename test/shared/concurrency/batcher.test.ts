// Gathering: what is asked for while a batch is under way goes into the next, in order; each gets its own result.
import { expect, it } from 'vitest';
import { createBatcher } from '../../../src/shared/concurrency/batcher.ts';

/** A flush that waits to be let go, and notes what it was given. */
function held() {
  const given: (readonly number[])[] = [];
  const gates: (() => void)[] = [];
  const flush = async (items: readonly number[]) => {
    given.push(items);
    await new Promise<void>((resolve) => gates.push(resolve));
    return items.map((item) => (item < 0 ? new Error(`no ${item}`) : item * 2));
  };
  return { given, flush, release: () => gates.shift()?.() };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('takes together what comes in one turn, and what comes while a batch is under way, so many at a time', async () => {
  const { given, flush, release } = held();
  const add = createBatcher(flush, 2);
  const first = [add(1), add(2), add(3)];
  await turn();
  const later = [add(4), add(5)];
  for (let i = 0; i < 3; i++) {
    release();
    await turn();
  }
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8, 10]);
  expect(given).toEqual([[1, 2], [3, 4], [5]]);
});

it('rejects one item with its own error, and all of a batch that fails', async () => {
  const { flush, release } = held();
  const add = createBatcher(flush);
  const some = Promise.allSettled([add(1), add(-1)]);
  await turn();
  release();
  expect((await some).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  const broken = createBatcher<number, number>(async () => {
    throw new Error('away');
  });
  await expect(Promise.all([broken(1), broken(2)])).rejects.toThrow('away');
});

it('waits before a batch where it is told to gather, unless that is full', async () => {
  const { given, flush, release } = held();
  let begin: () => void = () => {};
  const add = createBatcher(flush, 3, () => new Promise<void>((resolve) => (begin = resolve)));
  const all = [add(1)];
  await turn();
  all.push(add(2));
  await turn();
  expect(given).toEqual([]);
  begin();
  await turn();
  expect(given).toEqual([[1, 2]]);
  all.push(add(3), add(4), add(5));
  release();
  await turn();
  expect(given).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  release();
  expect(await Promise.all(all)).toEqual([2, 4, 6, 8, 10]);
});

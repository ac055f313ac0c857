// Whose turn it is in a queue that many owners share.
import { expect, it } from 'vitest';
import { FairQueue } from '../../../src/shared/concurrency/fair-queue.ts';

const taken = (queue: FairQueue<string>): string[] => {
  const items: string[] = [];
  for (let next = queue.take(); next; next = queue.take()) {
    items.push(next.item);
    queue.done(next.owner);
  }
  return items;
};

it('lets owners take turns, each in the order of asking', () => {
  const queue = new FairQueue<string>({ running: 1, waiting: 9, allWaiting: 99 });
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.charAt(0), item);
  expect(taken(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect(queue.take()).toBeNull();
});

it('passes over owners whose share is running', () => {
  const queue = new FairQueue<string>({ running: 2, waiting: 9, allWaiting: 99 });
  for (const item of ['a1', 'a2', 'a3', 'b1']) queue.add(item.charAt(0), item);
  expect([1, 2, 3, 4].map(() => queue.take()?.item)).toEqual(['a1', 'b1', 'a2', undefined]);
  queue.done('b');
  expect(queue.take()).toBeNull();
  queue.done('a');
  expect(queue.take()?.item).toBe('a3');
});

it('says when more wait than may, of one owner or of all', () => {
  const queue = new FairQueue<string>({ running: 1, waiting: 2, allWaiting: 3 });
  for (const item of ['a1', 'a2', 'b1']) queue.add(item.charAt(0), item);
  expect([queue.isOver('a'), queue.isOver('b'), queue.isOver('c')]).toEqual([false, false, false]);
  queue.add('a', 'a3');
  expect([queue.isOver('a'), queue.isOver('b')]).toEqual([true, true]);
  expect(queue.remove('a', 'a3')).toBe(true);
  expect(queue.remove('a', 'a3')).toBe(false);
  expect(queue.isOver('b')).toBe(false);
  expect(queue.clear()).toEqual(['a1', 'a2', 'b1']);
  expect(queue.take()).toBeNull();
});

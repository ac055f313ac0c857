// Heavy work takes turns.
import { describe, expect, it } from 'vitest';
import { createEventLoopBudget } from '../../../src/shared/concurrency/event-loop-budget.ts';

/** A budget whose event loop is moved by hand. */
function manual() {
  let tasks: (() => void)[] = [];
  const turns = createEventLoopBudget((task) => tasks.push(task));
  const order: number[] = [];
  return {
    order,
    ask: (n: number, bytes: number) => turns.next(bytes).then(() => order.push(n)),
    async step() {
      const now = tasks;
      tasks = [];
      for (const task of now) task();
      // An admitted task reports in microtasks.
      await new Promise(setImmediate);
    },
    idle: () => tasks.length === 0,
  };
}

const kb = 1024;

describe('turns', () => {
  it('let work in at once while a turn has room', async () => {
    const { ask, order, step, idle } = manual();
    await Promise.all([ask(1, 20 * kb), ask(2, 40 * kb)]);
    expect(order).toEqual([1, 2]);
    await step();
    expect(idle()).toBe(true);
    await ask(3, 40 * kb);
    expect(order).toEqual([1, 2, 3]);
  });

  it('let what comes at once in by its bytes, the small first, else in order', async () => {
    const { ask, order, step, idle } = manual();
    const all = [60, 60, 30, 30, 5000, 1, 1].map((size, n) => ask(n, size * kb));
    const seen: number[][] = [];
    do {
      await new Promise(setImmediate);
      seen.push([...order]);
      await step();
    } while (order.length < all.length);
    expect(seen.concat([[...order]])).toEqual([[0], [0, 5, 6, 1], [0, 5, 6, 1, 2, 3], [0, 5, 6, 1, 2, 3, 4]]);
    await Promise.all(all);
    await step();
    await step();
    expect(idle()).toBe(true);
  });

  it('let large work in however much small work comes', async () => {
    const { ask, order, step } = manual();
    const flood = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => ask(n, 8 * kb));
    const large = [ask(20, 500 * kb), ask(21, 500 * kb)];
    await step();
    expect(order.slice(-5)).toEqual([8, 9, 10, 11, 20]);
    await step();
    expect(order.at(-1)).toBe(21);
    await Promise.all([...flood, ...large]);
  });

  it('never waits for ever for work larger than a turn', async () => {
    const { ask, order, step } = manual();
    const all = [ask(1, 1), ask(2, 9000 * kb), ask(3, 9000 * kb)];
    await step();
    await step();
    await Promise.all(all);
    expect(order).toEqual([1, 2, 3]);
  });
});

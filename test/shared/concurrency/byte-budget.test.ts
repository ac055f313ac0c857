import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/shared/concurrency/byte-budget.ts';

describe('a byte budget', () => {
  it('bounds each holder, then all of them', () => {
    const budget = new ByteBudget({ total: 100, share: 60 });
    budget.take('a', 60);
    expect(budget.exceeded('a', 1)).toBe('share');
    expect(budget.exceeded('b', 40)).toBe(null);
    expect(budget.exceeded('b', 41)).toBe('total');
    expect(budget.exceeded('b', 61)).toBe('share');
  });

  it('holds nothing after all was given back', () => {
    const budget = new ByteBudget({ total: 100, share: 60 });
    budget.take('a', 10);
    budget.take('a', 20);
    budget.give('a', 10);
    expect(budget.held).toBe(20);
    budget.give('a', 20);
    expect(budget.held).toBe(0);
    expect(budget.exceeded('a', 60)).toBe(null);
  });
});

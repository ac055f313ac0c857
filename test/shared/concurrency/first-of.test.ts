// The first few of many, against sorting all of them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FirstOf } from '../../../src/shared/concurrency/first-of.ts';

it('keeps the first of any items in their order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (items, max) => {
      const first = new FirstOf<number>(max, (a, b) => a - b);
      for (const item of items) first.add(item);
      expect(first.sorted()).toEqual([...items].sort((a, b) => a - b).slice(0, max));
    }),
  );
});

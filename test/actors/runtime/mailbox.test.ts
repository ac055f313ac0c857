import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Mailbox } from '../../../actors/runtime/mailbox.ts';

it('gives items back in order and takes no more than its cap', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.boolean(), { maxLength: 100 }), (cap, moves) => {
      const mailbox = new Mailbox<number>(cap);
      const model: number[] = [];
      for (const [i, push] of moves.entries()) {
        if (push) {
          expect(mailbox.push(i)).toBe(model.length < cap);
          if (model.length < cap) model.push(i);
        } else {
          expect(mailbox.shift()).toBe(model.shift());
        }
        expect(mailbox.length).toBe(model.length);
      }
    }),
  );
});

// A request's body as it comes in, in chunks of any size.
import { describe, expect, it } from 'vitest';
import { createBudgets } from '../../src/admission/byte-budgets.ts';
import { IncomingBody } from '../../src/http/incoming-body.ts';
import { random } from '../random.ts';

const open = () => {
  const { received } = createBudgets();
  const body = new IncomingBody({ limit: 1024 * 1024, declared: null, received, network: 'here' });
  return { body, received };
};

describe('a body', () => {
  it('is the same bytes, whatever the sizes of its chunks', async () => {
    const chance = random('7');
    for (let round = 0; round < 60; round++) {
      const { body } = open();
      const sent: Buffer[] = [];
      const count = 1 + chance.int(40);
      for (let i = 0; i < count; i++) {
        const max = [1, 50, 4_095, 4_096, 20_000][chance.int(5)] ?? 1;
        const chunk = Buffer.alloc(chance.int(max + 1), 65 + (i % 26));
        sent.push(chunk);
        // Lent memory is overwritten once the server has handed it over.
        const lent = new Uint8Array(chunk).buffer;
        body.push(i % 2 === 0 ? lent : Buffer.from(chunk), i === count - 1);
        if (i % 2 === 0) new Uint8Array(lent).fill(0);
      }
      expect(Buffer.compare(Buffer.from(await body.read()), Buffer.concat(sent))).toBe(0);
    }
  });

  it('of one small chunk is not copied a second time', async () => {
    const { body } = open();
    const chunk = Buffer.from('{"a":1}');
    body.push(chunk, true);
    expect(await body.read()).toBe(chunk);
  });

  it('of single bytes is gathered in few arrays', async () => {
    const { body } = open();
    const text = 'abcdefghij'.repeat(5_000);
    for (const letter of Buffer.from(text)) {
      const chunk = Uint8Array.of(letter);
      body.push(chunk, false);
      // Only what was copied lives on.
      chunk.fill(0);
    }
    body.push(new ArrayBuffer(0), true);
    expect(Buffer.from(await body.read()).toString()).toBe(text);
  });
});

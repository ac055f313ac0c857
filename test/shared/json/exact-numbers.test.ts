// Whole numbers that a double cannot hold.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedFields, withExactNumbers } from '../../../src/shared/json/exact-numbers.ts';

describe('whole numbers of JSON', () => {
  it.each([
    ['{"id":9007199254740993}', '{"id":"9007199254740993"}'],
    ['{"id":-9007199254740993}', '{"id":"-9007199254740993"}'],
    ['[12345678901234567890, 1]', '["12345678901234567890", 1]'],
    [`[${'9'.repeat(400)}]`, `["${'9'.repeat(400)}"]`],
    ['[1000000000000000000000001]', '["1000000000000000000000001"]'],
  ])('%s is read as %s', (json, exact) => {
    expect(withExactNumbers(json)).toBe(exact);
  });

  it.each([
    '{"id":9007199254740992}',
    // As JavaScript writes a double of this size.
    '{"id":12345678901234567000}',
    '[1000000000000000000000]',
    '[0.12345678901234567890]',
    '[1234567890123456789e2]',
    '{"a":"9007199254740993, 9007199254740993","b\\":9007199254740993":1}',
  ])('%s stays', (json) => {
    expect(withExactNumbers(json)).toBe(json);
  });

  it('of any value are digits that were written', () => {
    const whole = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), whole)), (pairs) => {
        const json = `[${pairs.map(([text, n]) => `${JSON.stringify(text)}, ${n}`).join(',')}]`;
        const read = JSON.parse(withExactNumbers(json)) as unknown[];
        for (const [i, [text, n]] of pairs.entries()) {
          expect(read[2 * i]).toBe(text);
          const value = read[2 * i + 1];
          expect(typeof value === 'string' ? value : Number(value)).toBe(
            typeof value === 'string' ? String(n) : Number(n),
          );
          if (n <= 2n ** 53n && n >= -(2n ** 53n)) expect(typeof value).toBe('number');
        }
      }),
    );
  });
});

it('fields that differ are named', () => {
  expect(changedFields({ a: 1, b: ['1'], c: { d: '2' } }, { a: 1, b: [1], c: { d: '2' } })).toEqual(['b']);
});

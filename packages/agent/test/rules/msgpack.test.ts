import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessagePack } from '../../src/rules/msgpack.ts';

describe('MessagePack', () => {
  it('gives back what its package wrote', () => {
    const json = fc.jsonValue({ maxDepth: 8 }).map((value) => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(json, (value) => {
        expect(readMessagePack(encode(value), { binary: true })).toEqual(value);
      }),
    );
    for (const length of [0, 31, 32, 255, 256, 65_535, 65_536]) {
      const values = ['x'.repeat(length), Array.from({ length }, () => null), new Uint8Array(length)];
      for (const value of values) expect(readMessagePack(encode(value), { binary: true })).toEqual(value);
    }
    for (const power of [0, 5, 7, 8, 15, 16, 31, 32, 52]) {
      for (const value of [2 ** power, 2 ** power - 1, -(2 ** power), -(2 ** power) - 1]) {
        expect(readMessagePack(encode(value), { binary: true })).toBe(value);
      }
    }
    expect(readMessagePack(encode(1.5, { forceFloat32: true }))).toBe(1.5);
  });

  it('refuses byte strings unless they are wanted', () => {
    expect(() => readMessagePack(encode(new Uint8Array(3)))).toThrow('binary');
  });

  it('counts the items of lists and maps', () => {
    const read = (value: unknown, maxValues: number) => readMessagePack(encode(value), { maxValues });
    expect(read([[1, 2], { a: 3 }], 5)).toEqual([[1, 2], { a: 3 }]);
    expect(() => read([[1, 2], { a: 3 }], 4)).toThrow('more than 4 values');
    // Refused by what it declares: nothing of it is made.
    const nils = new Uint8Array(1_000_005).fill(0xc0);
    nils.set([0xdd, 0, 15, 66, 64]);
    expect(() => readMessagePack(nils, { maxValues: 200_000 })).toThrow('more than 200000 values');
  });

  it('refuses, with a RangeError and little work, what is cut off, goes on, nests too deep lies about its length, or is no text where one must be', () => {
    const deep = new Uint8Array(200).fill(0x91);
    const wrong = [
      [],
      [0xa5, 0x61],
      [1, 1],
      [0xc1],
      [0xd6, 1, 1],
      [0xdd, 255, 255, 255, 255],
      deep,
      [0x81, 1, 1],
      [0xa1, 0xff],
    ];
    for (const bytes of wrong) expect(() => readMessagePack(Uint8Array.from(bytes))).toThrow(RangeError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        try {
          readMessagePack(noise);
        } catch (failure) {
          expect(failure).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});

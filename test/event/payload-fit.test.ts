// A payload over its bound: what it keeps, and that its cost does not grow faster than it does.
import { expect, it } from 'vitest';
import { fitPayload, maxPayload } from '../../src/event/rules/payload-fit.ts';

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

it('gives up its largest fields one after the other, and no more than it must', () => {
  const payload = {
    first: Array.from({ length: 20_000 }, (_, i) => i),
    second: Array.from({ length: 10_000 }, (_, i) => i),
    small: [1, 2, 3],
  };
  const { payload: fitted, cut } = fitPayload(payload);
  expect(cut).toEqual(['first']);
  expect(fitted).toEqual({ ...payload, first: { _truncated: true, bytes: bytesOf(payload.first) } });
});

it('has its texts cut no shorter than they must be, and keeps whole characters', () => {
  const payload = { long: `${'x'.repeat(8190)}😀${'y'.repeat(60_000)}`, nested: { list: ['short'] } };
  const { payload: fitted, cut } = fitPayload(payload);
  expect(cut).toEqual(['long']);
  expect(fitted).toEqual({ ...payload, long: `${'x'.repeat(8190)}…` });
  expect(fitted.nested).toBe(payload.nested);
});

it('gives way as a whole where fields alone cannot make room', () => {
  const small = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`field number ${i}`, i % 10]));
  for (const payload of [small(4_000), small(20_000), { ['k'.repeat(70_000)]: 1 }]) {
    const { payload: fitted, cut } = fitPayload(payload);
    expect([cut, fitted]).toEqual(['all', { _truncated: true, bytes: bytesOf(payload) }]);
  }
});

it('reads each of its members a bounded number of times, however many there are', () => {
  const readsOf = (count: number): number => {
    let reads = 0;
    const members = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`field${i}`, 'a text of a few words']),
    );
    const counting = new Proxy(members, {
      get(target, key) {
        reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    fitPayload(counting);
    return reads / count;
  };
  expect(readsOf(3_000)).toBeLessThan(10);
  expect(readsOf(48_000)).toBeLessThan(10);
});

it('fits, whatever it holds', () => {
  const texts = ['x'.repeat(40_000), 'é\\"'.repeat(9_000), '\ud800'.repeat(5_000), '\u0001'.repeat(12_000)];
  for (const count of [1, 3, 40]) {
    const list = Array.from({ length: count }, (_, i) => texts[i % texts.length]);
    const payloads = [
      { list },
      { ...list },
      { deep: { deeper: list } },
      JSON.parse(`{"__proto__":${JSON.stringify(list)}}`),
    ];
    for (const payload of payloads) {
      expect(bytesOf(fitPayload(payload).payload)).toBeLessThanOrEqual(maxPayload);
    }
  }
});

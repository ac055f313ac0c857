// The estimate of a value's size is never below its bytes, and its counts are exact.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { measureJson } from '../../../src/shared/json/measure.ts';
import { runsOf } from '../../runs.ts';

const countOf = (text: string): number => {
  let count = 0;
  JSON.parse(text, (_, value: unknown) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      count += Object.keys(value).length;
    return value;
  });
  return count;
};

it('holds at least the bytes of the value as JSON, and its members', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      const { maxBytes, members } = measureJson(JSON.parse(text));
      expect(maxBytes).toBeGreaterThanOrEqual(Buffer.byteLength(text));
      expect(members).toBe(countOf(text));
    }),
    { numRuns: runsOf(500, 100) },
  );
});

it('counts levels, and no deeper than an event may be nested', () => {
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect([0, 1, 64].map((levels) => measureJson(levels === 0 ? 7 : nested(levels)).depth)).toEqual([
    0, 1, 64,
  ]);
  expect(measureJson(nested(100_000)).depth).toBeGreaterThan(64);
});

// Reading and writing instants.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, renderInstant, renderMillis } from '../../src/shared/instant.ts';

describe('parseInstant', () => {
  it.each([
    ['2026-01-02T03:04:05Z', Date.UTC(2026, 0, 2, 3, 4, 5)],
    ['2026-01-02T03:04:05.678+02:00', Date.UTC(2026, 0, 2, 1, 4, 5, 678)],
    ['2026-01-02T03:04:05-0530', Date.UTC(2026, 0, 2, 8, 34, 5)],
    ['2026-01-02T03:04:05', Date.UTC(2026, 0, 2, 3, 4, 5)],
    ['2026-01-02 03:04', Date.UTC(2026, 0, 2, 3, 4)],
    ['2026-01-02', Date.UTC(2026, 0, 2)],
    ['2026-01-02T03:04:05 00:00', Date.UTC(2026, 0, 2, 3, 4, 5)],
    ['0001-01-01T00:00:00Z', Date.parse('0001-01-01T00:00:00Z')],
    ['0026-11-28', Date.parse('0026-11-28')],
  ])('reads %s', (text, ms) => {
    expect(parseInstant(text)).toBe(ms);
  });

  it.each([
    '',
    'now',
    '2026-13-01T00:00:00Z',
    '2026-06-31',
    '2026-01-02T24:00:00Z',
    '2026-01-02T00:00:00+24:00',
    '1767312000',
  ])('refuses %j', (text) => {
    expect(parseInstant(text)).toBeNull();
  });

  it('keeps microseconds through reading and writing', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4_000_000_000_000 }),
        fc.integer({ min: 0, max: 999 }),
        (ms, us) => {
          const text = `${new Date(ms).toISOString().slice(0, -1)}${String(us).padStart(3, '0')}Z`;
          const wanted = us === 0 ? new Date(ms).toISOString() : text;
          expect(renderInstant(parseInstant(text) ?? Number.NaN)).toBe(wanted);
        },
      ),
    );
  });

  it('writes instants of the same minute, others, and those far away as Date does', () => {
    const instants = fc.oneof(
      fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
      fc.integer({ min: -90_000, max: 90_000 }),
      fc.double({ min: -90_000, max: 90_000, noNaN: true }),
    );
    fc.assert(
      fc.property(instants, instants, (first, second) => {
        for (const ms of [first, second, first + 1, first]) {
          if (Math.abs(ms) <= 8.64e15) expect(renderMillis(ms)).toBe(new Date(ms).toISOString());
        }
      }),
    );
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1])
      expect(() => renderMillis(ms)).toThrow(RangeError);
  });
});

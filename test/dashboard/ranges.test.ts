// Ranges of time: the ends of a typed one, and the calls that a chart of one counts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRange } from '../../src/dashboard/lib/range.ts';
import { chartQueryOf } from '../../src/dashboard/pages/events/filters.ts';
import { dayMs } from '../../src/shared/duration.ts';

const zone = process.env.TZ;

describe('a range that a person types in Berlin', () => {
  beforeAll(() => {
    process.env.TZ = 'Europe/Berlin';
  });
  afterAll(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it.each([
    // The day before the change to winter time has 24 hours, the day of the change 25.
    ['2026-10-24', '2026-10-26T12:00Z', '2026-10-23T22:00Z', '2026-10-24T22:00Z'],
    ['2026-10-25', '2026-10-26T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    ['2026-10-25 14:00-15:00', '2026-10-26T12:00Z', '2026-10-25T13:00Z', '2026-10-25T14:00Z'],
    ['yesterday', '2026-10-26T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    ['today 00:00-24:00', '2026-10-25T12:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    // The day of the change to summer time has 23.
    ['yesterday 00:30-01:00', '2026-03-30T10:00Z', '2026-03-28T23:30Z', '2026-03-29T00:00Z'],
    ['yesterday 08:00-09:30', '2026-03-30T10:00Z', '2026-03-29T06:00Z', '2026-03-29T07:30Z'],
    ['yesterday', '2026-01-01T10:00Z', '2025-12-30T23:00Z', '2025-12-31T23:00Z'],
  ])('%s, typed at %s', (text, now, from, until) => {
    const iso = (instant: string): string => new Date(instant).toISOString();
    expect(readRange(text, Date.parse(now), false)).toEqual({ from: iso(from), to: iso(until) });
  });

  it('has the hours of UTC where times are in UTC', () => {
    expect(readRange('2026-10-25 14:00-15:00', 0, true)).toEqual({
      from: '2026-10-25T14:00:00.000Z',
      to: '2026-10-25T15:00:00.000Z',
    });
  });

  it.each(['2026-02-30', '2026-13-01', '2026-00-10', '2026-04-31 10:00-11:00', '0050-01-01'])(
    'is no range on a day that does not exist: %s',
    (text) => {
      expect(readRange(text, 0, false)).toBeNull();
      expect(readRange(text, 0, true)).toBeNull();
    },
  );
});

describe('the calls of a chart', () => {
  const filter = { tool_name: 'refund' };

  it.each([1, 7, 30])('end with a fixed range of %d days, and begin with it', (days) => {
    const until = Date.parse('2026-11-20T14:07Z');
    const span = { from: until - days * dayMs, until, open: false, range: null };
    const { since, until: end } = chartQueryOf(filter, span);
    expect([since, end].map((at) => Date.parse(at))).toEqual([span.from, span.until]);
  });

  it('end with a whole bucket where the range goes on', () => {
    const until = Date.parse('2026-11-20T14:07Z');
    const query = chartQueryOf(filter, { from: until - dayMs, until, open: true, range: '24h' });
    expect(query).toMatchObject({ until: '2026-11-20T14:15:00.000Z', bucket_seconds: 900 });
  });
});

// Points of the calls in a list's row: the hub has a width of buckets for every range up to its limit.
import { expect, it } from 'vitest';
import { pointsOf } from '../../src/dashboard/lib/series.ts';
import { bucketWidth } from '../../src/event/rules/series.ts';
import { dayMs, hourMs, minuteMs } from '../../src/shared/duration.ts';

/** Width of the buckets in hours, for a range that ends at any minute of a day. */
function hoursOf(length: number, by: 'agent' | 'contract', least: number): ReadonlySet<number | null> {
  const hours = new Set<number | null>();
  for (let minute = 0; minute < 24 * 60; minute += 1) {
    const until = 1_000 * dayMs + minute * minuteMs;
    const range = { since: until - length, until };
    const points = pointsOf(
      { since: new Date(range.since).toISOString(), until: new Date(until).toISOString() },
      least,
    );
    expect(points).toBeLessThanOrEqual(200);
    const width = bucketWidth(range, points, by);
    hours.add(width === null ? null : width / hourMs);
  }
  return hours;
}

it.each([
  [1, [1]],
  [7, [24]],
  [30, [24]],
  [90, [24]],
  [199, [24]],
])('counts agents over %d days', (days, hours) => {
  expect([...hoursOf(days * dayMs, 'agent', 24)]).toEqual(hours);
});

it('counts contracts over a day by the hour, and over 90 days by the day', () => {
  expect([...hoursOf(dayMs, 'contract', 48)]).toEqual([1]);
  expect([...hoursOf(90 * dayMs, 'contract', 48)]).toEqual([24]);
});

import { expect, it } from 'vitest';
import { TokenBucket } from '../../../src/shared/concurrency/token-bucket.ts';

it('a token bucket allows a burst, then its rate, and never more than the burst again', () => {
  const bucket = new TokenBucket({ burst: 3, perSecond: 2 }, 0);
  expect([bucket.take(2, 0), bucket.take(1, 0), bucket.take(1, 0)]).toEqual([true, true, false]);
  expect([bucket.take(1, 499), bucket.take(1, 500), bucket.take(1, 500)]).toEqual([false, true, false]);
  expect(bucket.isFull(1_999)).toBe(false);
  expect(bucket.isFull(60_000)).toBe(true);
  expect([bucket.take(4, 60_000), bucket.take(3, 60_000), bucket.take(1, 60_000)]).toEqual([
    false,
    true,
    false,
  ]);
});

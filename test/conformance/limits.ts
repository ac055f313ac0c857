// Every limiter's promises (shared/ports/limits).
import { describe, expect, it } from 'vitest';
import type { Limits } from '../../src/shared/ports/limits.ts';
import { hostileTexts, parallel, uuid } from './fixtures.ts';

export interface OpenLimits {
  readonly limits: Limits;
  /** Moves the time that the limiter counts in. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export function limitsContract(name: string, open: () => Promise<OpenLimits>): void {
  const using = async (test: (opened: OpenLimits) => Promise<void>) => {
    const opened = await open();
    try {
      await test(opened);
    } finally {
      await opened.close();
    }
  };

  describe(`${name}: limits`, () => {
    it('lets through as many as fit, then says when the next may', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        for (const left of [2, 1, 0]) expect(await limits.hit(key, 3, 60_000)).toEqual({ ok: true, left });
        expect(await limits.hit(key, 5, 60_000, 0)).toEqual({ ok: true, left: 2 });
        expect(await limits.hit(key, 3, 60_000)).toEqual({ ok: false, retryAfter: 60 });
        advance(59_500);
        expect(await limits.hit(key, 3, 60_000)).toEqual({ ok: false, retryAfter: 1 });
        advance(500);
        expect(await limits.hit(key, 3, 60_000)).toMatchObject({ ok: true });
      }));

    it('slides: at any moment the window before it holds no more than the limit', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        const passed: number[] = [];
        let now = 0;
        for (let i = 0; i < 200; i++) {
          const step = (i * 37) % 23;
          advance(step);
          now += step;
          if ((await limits.hit(key, 5, 100)).ok) passed.push(now);
        }
        for (const at of passed) {
          expect(passed.filter((other) => other > at - 100 && other <= at).length).toBeLessThanOrEqual(5);
        }
        expect(passed.length).toBeGreaterThan((now / 100) * 5 * 0.8);
      }));

    it('a refused call counts nothing', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        await limits.hit(key, 1, 1000);
        for (let i = 0; i < 10; i++) {
          advance(90);
          expect((await limits.hit(key, 1, 1000)).ok).toBe(false);
        }
        advance(100);
        expect(await limits.hit(key, 1, 1000)).toMatchObject({ ok: true });
      }));

    it('counts by cost, and waits until enough has left the window', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        expect((await limits.hit(key, 10, 10_000, 4)).ok).toBe(true);
        advance(2000);
        expect((await limits.hit(key, 10, 10_000, 4)).ok).toBe(true);
        advance(2000);
        expect((await limits.hit(key, 10, 10_000, 2)).ok).toBe(true);
        expect(await limits.hit(key, 10, 10_000, 5)).toEqual({ ok: false, retryAfter: 8 });
        expect(await limits.hit(key, 10, 10_000, 3)).toEqual({ ok: false, retryAfter: 6 });
        advance(8000);
        expect((await limits.hit(key, 10, 10_000, 8)).ok).toBe(true);
      }));

    it('what can never fit is refused and leaves the rest alone', () =>
      using(async ({ limits }) => {
        const key = uuid();
        expect(await limits.hit(key, 10, 60_000, 11)).toEqual({ ok: false, retryAfter: 60 });
        expect((await limits.hit(key, 10, 60_000, 10)).ok).toBe(true);
        expect((await limits.hit(uuid(), 0, 60_000)).ok).toBe(false);
      }));

    it('counts a cost above a limit for all limits of the name', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        expect((await limits.hit(key, 10, 10_000, 9)).ok).toBe(true);
        advance(4000);
        expect(await limits.hit(key, 10 + 19, 10_000, 20)).toEqual({ ok: true, left: 0 });
        expect(await limits.hit(key, 10 + 19, 10_000, 20)).toEqual({ ok: false, retryAfter: 10 });
        expect(await limits.hit(key, 10, 10_000)).toEqual({ ok: false, retryAfter: 10 });
        advance(10_000);
        expect(await limits.hit(key, 10, 10_000)).toEqual({ ok: true, left: 9 });
      }));

    it('a cost of 0 asks and counts nothing', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        for (let i = 0; i < 9; i++) expect(await limits.hit(key, 0, 60_000, 0)).toMatchObject({ ok: true });
        for (let i = 0; i < 3; i++) expect((await limits.hit(key, 3, 60_000)).ok).toBe(true);
        advance(1000);
        expect(await limits.hit(key, 3, 60_000, 0)).toMatchObject({ ok: true });
        expect(await limits.hit(key, 2, 60_000, 0)).toEqual({ ok: false, retryAfter: 59 });
        advance(59_000);
        expect(await limits.hit(key, 2, 60_000, 0)).toMatchObject({ ok: true });
      }));

    it('a hit that is taken back leaves room for another', () =>
      using(async ({ limits, advance }) => {
        const key = uuid();
        await limits.takeBack(key);
        for (let i = 0; i < 2; i++) expect((await limits.hit(key, 2, 60_000)).ok).toBe(true);
        await limits.takeBack(key);
        advance(10_000);
        expect((await limits.hit(key, 2, 60_000)).ok).toBe(true);
        expect(await limits.hit(key, 2, 60_000)).toEqual({ ok: false, retryAfter: 50 });
        for (let i = 0; i < 3; i++) await limits.takeBack(key);
        expect(await limits.hit(key, 2, 60_000, 2)).toMatchObject({ ok: true });
      }));

    it('of 50 at once exactly the limit passes', () =>
      using(async ({ limits }) => {
        const key = uuid();
        const answers = await parallel(50, async () => limits.hit(key, 20, 60_000));
        expect(answers.filter((answer) => answer.ok)).toHaveLength(20);
        for (const answer of answers) if (!answer.ok) expect(answer.retryAfter).toBeGreaterThanOrEqual(1);
      }));

    it('names are apart, whatever they hold', () =>
      using(async ({ limits }) => {
        const run = uuid();
        for (const text of hostileTexts) expect((await limits.hit(`${run}${text}`, 1, 60_000)).ok).toBe(true);
        for (const text of hostileTexts)
          expect((await limits.hit(`${run}${text}`, 1, 60_000)).ok).toBe(false);
      }));
  });
}

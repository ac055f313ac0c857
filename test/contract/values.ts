// What every store promises of session values (ports/values).
import { describe, expect, it } from 'vitest';
import { valueTtlMs } from '../../src/ports/values.ts';
import { hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

/** @param sweeps false for a store that removes expired values by itself */
export function valuesContract(name: string, open: Open, sweeps = true): void {
  describe(`${name}: session values`, () => {
    const shared = sharedStore(open);

    it('gives back what was set last, and null for what was not', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      expect(await values.get(tenantId, 'k', t0)).toBeNull();
      await values.set(tenantId, 'k', 'one', t0);
      await values.set(tenantId, 'k', 'two', t0);
      expect(await values.get(tenantId, 'k', t0)).toBe('two');
      await values.remove(tenantId, 'k');
      await values.remove(tenantId, 'k');
      expect(await values.get(tenantId, 'k', t0)).toBeNull();
    });

    it('hostile texts are keys and values like any other', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) await values.set(tenantId, `k${text}`, text, t0);
      for (const text of hostileTexts) expect(await values.get(tenantId, `k${text}`, t0)).toBe(text);
      const many = await values.getMany(tenantId, [...hostileTexts.map((text) => `k${text}`), 'missing'], t0);
      expect(many.size).toBe(hostileTexts.length);
      expect(many.get('k__proto__')).toBe('__proto__');
      expect(many.has('missing')).toBe(false);
    });

    it('keeps a value of 1 MiB', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const large = 'é'.repeat(512 * 1024);
      await values.set(tenantId, 'large', large, t0);
      expect((await values.get(tenantId, 'large', t0)) === large).toBe(true);
    });

    it('reads many at once, each key once, none for none', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      await values.set(tenantId, 'a', '1', t0);
      await values.set(tenantId, 'b', '2', t0);
      const many = await values.getMany(tenantId, ['b', 'c', 'a', 'a'], t0);
      expect([...many].sort()).toEqual([
        ['a', '1'],
        ['b', '2'],
      ]);
      expect((await values.getMany(tenantId, [], t0)).size).toBe(0);
    });

    it('lives for seven days after its last write', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      await values.set(tenantId, 'k', '1', t0);
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs - 1)).toBe('1');
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs)).toBeNull();
      expect((await values.getMany(tenantId, ['k'], t0 + valueTtlMs)).size).toBe(0);
      await values.increment(tenantId, 'k', 1, t0 + 1000);
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs + 999)).toBe('2');
    });

    it('a missing or expired value counts from 0', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      expect(await values.increment(tenantId, 'n', 3, t0)).toBe(3);
      expect(await values.get(tenantId, 'n', t0)).toBe('3');
      expect(await values.increment(tenantId, 'n', -0.5, t0)).toBe(2.5);
      expect(await values.get(tenantId, 'n', t0)).toBe('2.5');
      expect(await values.increment(tenantId, 'n', 1, t0 + valueTtlMs)).toBe(1);
      await values.set(tenantId, 'text', 'hello', t0);
      expect(await values.increment(tenantId, 'text', 1, t0 + valueTtlMs)).toBe(1);
    });

    it('adds to numbers that were set as text', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      for (const [text, sum] of [
        ['41', 42],
        ['-1', 0],
        ['1.5', 2.5],
        ['1e3', 1001],
      ] as const) {
        await values.set(tenantId, 'n', text, t0);
        expect(await values.increment(tenantId, 'n', 1, t0)).toBe(sum);
        expect(await values.get(tenantId, 'n', t0)).toBe(String(sum));
      }
    });

    it('1,000 parallel increments add up to 1,000', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const seen = await parallel(1000, () => values.increment(tenantId, 'n', 1, t0));
      expect(new Set(seen).size).toBe(1000);
      expect(await values.get(tenantId, 'n', t0)).toBe('1000');
    });

    it('what is not a finite number stays as it is', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      for (const text of [
        'hello',
        '',
        '12abc',
        'NaN',
        'Infinity',
        '-Infinity',
        'null',
        'true',
        '{"$gt":""}',
      ]) {
        await values.set(tenantId, 'k', text, t0);
        expect(await values.increment(tenantId, 'k', 1, t0 + 5)).toBe('not_a_number');
        expect(await values.get(tenantId, 'k', t0)).toBe(text);
        expect(await values.get(tenantId, 'k', t0 + valueTtlMs)).toBeNull();
      }
      const huge = String(Number.MAX_VALUE);
      await values.set(tenantId, 'k', huge, t0);
      expect(await values.increment(tenantId, 'k', Number.MAX_VALUE, t0)).toBe('not_a_number');
      expect(await values.get(tenantId, 'k', t0)).toBe(huge);
    });

    it('tenants do not see or change each other', async () => {
      const { values } = shared.get();
      const [mine, stranger] = [uuid(), uuid()];
      await values.set(mine, 'k', '1', t0);
      expect(await values.get(stranger, 'k', t0)).toBeNull();
      expect((await values.getMany(stranger, ['k'], t0)).size).toBe(0);
      await values.remove(stranger, 'k');
      expect(await values.increment(stranger, 'k', 5, t0)).toBe(5);
      expect(await values.get(mine, 'k', t0)).toBe('1');
    });

    it.runIf(sweeps)('a sweep removes expired values up to a limit', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const old = t0 - 100 * valueTtlMs;
      for (const key of ['a', 'b', 'c']) await values.set(tenantId, key, '1', old);
      expect(await values.sweep(old + valueTtlMs - 1, 10)).toBe(0);
      expect(await values.sweep(old + valueTtlMs, 2)).toBe(2);
      expect(await values.sweep(old + valueTtlMs, 2)).toBe(1);
      expect(await values.sweep(old + valueTtlMs, 2)).toBe(0);
    });
  });
}

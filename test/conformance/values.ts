// Every store's promises about session values (shared/ports/values).
import { describe, expect, it } from 'vitest';
import {
  type QuotaFull,
  type ValueStore,
  type ValueWriter,
  valueTtlMs,
} from '../../src/shared/ports/values.ts';
import { hostileTexts, parallel, sharedStore, t0, uuid, writerOf } from './fixtures.ts';

async function readMany(values: ValueStore, tenantId: string, keys: readonly string[], now: number) {
  const found = await values.getMany(tenantId, keys, now, 2 ** 40);
  if (found === 'too_large') throw new Error('it cannot be');
  return found;
}

type OpenValues = () => Promise<{ readonly values: ValueStore; close(): Promise<void> }>;

/** @param sweeps false for a store that removes expired values by itself */
export function valuesContract(name: string, open: OpenValues, sweeps = true): void {
  describe(`${name}: session values`, () => {
    const shared = sharedStore(open);

    it('gives back what was set last, and null for what was not', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      expect(await values.get(tenantId, 'k', t0)).toBeNull();
      await values.set(writerOf(tenantId), 'k', 'one', t0);
      await values.set(writerOf(tenantId), 'k', 'two', t0);
      expect(await values.get(tenantId, 'k', t0)).toBe('two');
      await values.remove(tenantId, 'k');
      await values.remove(tenantId, 'k');
      expect(await values.get(tenantId, 'k', t0)).toBeNull();
    });

    it('hostile texts are keys and values like any other', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) await values.set(writerOf(tenantId), `k${text}`, text, t0);
      for (const text of hostileTexts) expect(await values.get(tenantId, `k${text}`, t0)).toBe(text);
      const many = await readMany(
        values,
        tenantId,
        [...hostileTexts.map((text) => `k${text}`), 'missing'],
        t0,
      );
      expect(many.size).toBe(hostileTexts.length);
      expect(many.get('k__proto__')).toBe('__proto__');
      expect(many.has('missing')).toBe(false);
    });

    it('keeps a value of 1 MiB', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const large = 'é'.repeat(512 * 1024);
      await values.set(writerOf(tenantId), 'large', large, t0);
      expect((await values.get(tenantId, 'large', t0)) === large).toBe(true);
    });

    it('reads many at once, each key once, none for none', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      await values.set(writerOf(tenantId), 'a', '1', t0);
      await values.set(writerOf(tenantId), 'b', '2', t0);
      const many = await readMany(values, tenantId, ['b', 'c', 'a', 'a'], t0);
      expect([...many].sort()).toEqual([
        ['a', '1'],
        ['b', '2'],
      ]);
      expect((await readMany(values, tenantId, [], t0)).size).toBe(0);
    });

    it('lives for seven days after its last write', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      await values.set(writerOf(tenantId), 'k', '1', t0);
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs - 1)).toBe('1');
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs)).toBeNull();
      expect((await readMany(values, tenantId, ['k'], t0 + valueTtlMs)).size).toBe(0);
      await values.increment(writerOf(tenantId), 'k', 1, t0 + 1000);
      expect(await values.get(tenantId, 'k', t0 + valueTtlMs + 999)).toBe('2');
    });

    it('a missing or expired value counts from 0', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      expect(await values.increment(writerOf(tenantId), 'n', 3, t0)).toBe(3);
      expect(await values.get(tenantId, 'n', t0)).toBe('3');
      expect(await values.increment(writerOf(tenantId), 'n', -0.5, t0)).toBe(2.5);
      expect(await values.get(tenantId, 'n', t0)).toBe('2.5');
      expect(await values.increment(writerOf(tenantId), 'n', 1, t0 + valueTtlMs)).toBe(1);
      await values.set(writerOf(tenantId), 'text', 'hello', t0);
      expect(await values.increment(writerOf(tenantId), 'text', 1, t0 + valueTtlMs)).toBe(1);
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
        await values.set(writerOf(tenantId), 'n', text, t0);
        expect(await values.increment(writerOf(tenantId), 'n', 1, t0)).toBe(sum);
        expect(await values.get(tenantId, 'n', t0)).toBe(String(sum));
      }
    });

    it('1,000 parallel increments add up to 1,000', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const seen = await parallel(1000, () => values.increment(writerOf(tenantId), 'n', 1, t0));
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
        ' 5',
        '5\n',
        'NaN',
        'Infinity',
        '-Infinity',
        'null',
        'true',
        '{"$gt":""}',
      ]) {
        await values.set(writerOf(tenantId), 'k', text, t0);
        expect(await values.increment(writerOf(tenantId), 'k', 1, t0 + 5)).toBe('not_a_number');
        expect(await values.get(tenantId, 'k', t0)).toBe(text);
        expect(await values.get(tenantId, 'k', t0 + valueTtlMs)).toBeNull();
      }
      const huge = String(Number.MAX_VALUE);
      await values.set(writerOf(tenantId), 'k', huge, t0);
      expect(await values.increment(writerOf(tenantId), 'k', Number.MAX_VALUE, t0)).toBe('not_a_number');
      expect(await values.get(tenantId, 'k', t0)).toBe(huge);
    });

    it('tenants do not see or change each other', async () => {
      const { values } = shared.get();
      const [mine, stranger] = [uuid(), uuid()];
      await values.set(writerOf(mine), 'k', '1', t0);
      expect(await values.get(stranger, 'k', t0)).toBeNull();
      expect((await readMany(values, stranger, ['k'], t0)).size).toBe(0);
      await values.remove(stranger, 'k');
      expect(await values.increment(writerOf(stranger), 'k', 5, t0)).toBe(5);
      expect(await values.get(mine, 'k', t0)).toBe('1');
    });

    it('are read together up to a number of bytes, or not at all', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      for (const key of ['a', 'b', 'c']) await values.set(writerOf(tenantId), key, 'é'.repeat(50), t0);
      await values.set(writerOf(tenantId), 'old', 'x'.repeat(500), t0 - 1);
      const read = (keys: readonly string[], now: number, limit: number) =>
        values.getMany(tenantId, keys, now, limit);
      expect(await read(['a', 'b', 'gone'], t0, 200)).toHaveProperty('size', 2);
      expect(await read(['a', 'b', 'c'], t0, 299)).toBe('too_large');
      expect(await read(['a', 'b', 'c'], t0, 300)).toHaveProperty('size', 3);
      expect(await read(['a', 'old'], t0, 300)).toBe('too_large');
      expect(await read(['a', 'old'], t0 - 1 + valueTtlMs, 300)).toHaveProperty('size', 1);
    });

    it.runIf(sweeps)('a sweep removes expired values up to a limit', async () => {
      const { values } = shared.get();
      const tenantId = uuid();
      const old = t0 - 100 * valueTtlMs;
      for (const key of ['a', 'b', 'c']) await values.set(writerOf(tenantId), key, '1', old);
      expect(await values.removeExpired(old + valueTtlMs - 1, 10)).toBe(0);
      expect(await values.removeExpired(old + valueTtlMs, 2)).toBe(2);
      expect(await values.removeExpired(old + valueTtlMs, 2)).toBe(1);
      expect(await values.removeExpired(old + valueTtlMs, 2)).toBe(0);
    });
  });
  describe(`${name}: quotas of session values`, () => {
    const shared = sharedStore(open);

    /** Writers of one tenant, in two environments, with room for `maxBytes` and `maxKeys` each. */
    function tenant(maxBytes: number, maxKeys: number) {
      const { values } = shared.get();
      const tenantId = uuid();
      const write = (over: Partial<ValueWriter> = {}) => {
        const writer = writerOf(tenantId, { quota: { maxBytes, maxKeys }, ...over });
        return {
          /** Sets a value that takes so many bytes with its key. */
          set: (key: string, bytes: number, now = t0): Promise<'set' | QuotaFull> =>
            values.set(writer, key, 'x'.repeat(bytes - Buffer.byteLength(key)), now),
          add: (key: string, now = t0) => values.increment(writer, key, 1, now),
        };
      };
      const remove = (key: string) => values.remove(tenantId, key);
      return { values, tenantId, production: write(), staging: write({ env: 'staging' }), remove };
    }

    it('bytes of keys and values are counted; what does not grow is taken, and what is removed makes room', async () => {
      const { production, remove } = tenant(100, 100);
      expect(await production.set('a', 60)).toBe('set');
      expect(await production.set('b', 41)).toBe('bytes_full');
      expect(await production.set('b', 40)).toBe('set');
      expect(await production.set('a', 60)).toBe('set');
      expect(await production.set('a', 61)).toBe('bytes_full');
      expect(await production.set('a', 50)).toBe('set');
      expect(await production.set('b', 51)).toBe('bytes_full');
      expect(await production.set('b', 50)).toBe('set');
      await remove('a');
      await remove('a');
      expect(await production.set('c', 51)).toBe('bytes_full');
      expect(await production.set('b', 100)).toBe('set');
    });

    it('a value that is larger than the whole quota is refused', async () => {
      const { production } = tenant(100, 100);
      expect(await production.set('a', 101)).toBe('bytes_full');
      expect(await production.set('a', 100)).toBe('set');
    });

    it('keys are counted; counters go on, new ones too, to twice as many', async () => {
      const { production, remove } = tenant(10_000, 3);
      for (const key of ['a', 'b', 'c']) expect(await production.set(key, 10)).toBe('set');
      expect(await production.set('d', 10)).toBe('keys_full');
      expect(await production.set('a', 20)).toBe('set');
      for (const key of ['n1', 'n2', 'n3']) expect(await production.add(key)).toBe(1);
      expect(await production.add('n4')).toBe('keys_full');
      expect(await production.add('n1')).toBe(2);
      await remove('b');
      expect(await production.set('d', 10)).toBe('keys_full');
      expect(await production.add('n4')).toBe(1);
    });

    it('counters go on when the bytes are full', async () => {
      const { production } = tenant(50, 100);
      expect(await production.set('a', 50)).toBe('set');
      expect(await production.add('n')).toBe(1);
      expect(await production.add('n')).toBe(2);
      expect(await production.set('b', 2)).toBe('bytes_full');
    });

    it('each environment and tenant has its own', async () => {
      const one = tenant(100, 1);
      const other = tenant(100, 1);
      for (const writer of [one.production, one.staging, other.production]) {
        expect(await writer.set(uuid(), 100)).toBe('set');
        expect(await writer.set(uuid(), 100)).toBe('bytes_full');
      }
    });

    it("what an environment writes over another one's values counts for itself, unless it got no larger", async () => {
      const { production, staging, remove } = tenant(100, 2);
      expect(await production.set('a', 60)).toBe('set');
      expect(await staging.set('a', 60)).toBe('set');
      expect(await production.set('b', 41)).toBe('bytes_full');
      expect(await staging.set('a', 70)).toBe('set');
      expect(await production.set('b', 100)).toBe('set');
      expect(await staging.set('c', 31)).toBe('bytes_full');
      expect(await staging.set('b', 101)).toBe('bytes_full');
      await remove('a');
      expect(await staging.set('c', 100)).toBe('set');
    });

    it('what has expired makes room, at the latest an hour later', async () => {
      const { values, production, staging } = tenant(100, 100);
      const later = t0 + valueTtlMs + 3_600_000;
      expect(await production.set('a', 60, t0)).toBe('set');
      expect(await production.set('b', 40, later - 1)).toBe('set');
      if (sweeps) while ((await values.removeExpired(later, 100)) > 0);
      expect(await production.set('c', 61, later)).toBe('bytes_full');
      expect(await production.set('c', 60, later)).toBe('set');
      expect(await staging.set('a', 100, later)).toBe('set');
    });

    it('parallel writes do not exceed it', async () => {
      const { production } = tenant(1000, 1000);
      const outcomes = await parallel(50, (i) => production.set(`k${i}`.padEnd(4), 50));
      expect(outcomes.filter((outcome) => outcome === 'set')).toHaveLength(20);
    });
  });
}

// The promises of every kind of lease (shared/ports/leases).
import { describe, expect, it } from 'vitest';
import type { Lease, Leases } from '../../src/shared/ports/leases.ts';
import { parallel, uuid } from './fixtures.ts';

export interface OpenLeases {
  /** The leases as a further node sees them. */
  node(): Promise<Leases>;
  /** Resolves when leases taken or renewed before it have ended. */
  lapse(): Promise<void>;
  /** The nodes' monotonic time, in milliseconds. */
  monotonic(): number;
  close(): Promise<void>;
}

const names = (leases: readonly Lease[]) => leases.map((lease) => lease.name);
const epochOf = (leases: readonly Lease[]) => leases[0]?.epoch ?? 0;

export function leasesContract(name: string, open: () => Promise<OpenLeases>): void {
  const using = async (test: (opened: OpenLeases, a: Leases, b: Leases) => Promise<void>) => {
    const opened = await open();
    try {
      await test(opened, await opened.node(), await opened.node());
    } finally {
      await opened.close();
    }
  };

  describe(`${name}: leases`, () => {
    it('one node holds a lease, and asking again renews it under the same epoch', () =>
      using(async ({ monotonic }, a, b) => {
        const [x, y] = [uuid(), uuid()];
        const held = await a.acquire([x, y]);
        expect(names(held)).toEqual([x, y]);
        for (const lease of held) expect(lease.until).toBeGreaterThan(monotonic());
        expect(await b.acquire([x, y])).toEqual([]);
        const again = await a.acquire([x]);
        expect(epochOf(again)).toBe(epochOf(held));
        expect(await a.acquire([])).toEqual([]);
      }));

    it('of 20 acquisitions at once by two nodes one node wins each lease', () =>
      using(async (_, a, b) => {
        const wanted = Array.from({ length: 10 }, () => uuid());
        const answers = await parallel(20, (i) => (i % 2 ? a : b).acquire(wanted));
        for (const lease of wanted) {
          const winners = answers.map((held, i) => (names(held).includes(lease) ? i % 2 : null));
          expect(new Set(winners.filter((winner) => winner !== null)).size).toBe(1);
        }
      }));

    it('a lease that was not renewed is free, and the next epoch is higher', () =>
      using(async ({ lapse }, a, b) => {
        const x = uuid();
        const first = await a.acquire([x]);
        await lapse();
        expect(await a.renew(first)).toEqual([]);
        const second = await b.acquire([x]);
        expect(epochOf(second)).toBeGreaterThan(epochOf(first));
        expect(await a.renew(first)).toEqual([]);
        await a.release(first);
        expect(names(await b.renew(second))).toEqual([x]);
      }));

    it('a node that took its own ended lease again cannot use the old epoch', () =>
      using(async ({ lapse }, a) => {
        const x = uuid();
        const first = await a.acquire([x]);
        await lapse();
        const second = await a.acquire([x]);
        expect(epochOf(second)).toBeGreaterThan(epochOf(first));
        expect(await a.renew(first)).toEqual([]);
        expect(names(await a.renew(second))).toEqual([x]);
      }));

    it('a released lease is free at once, with a higher epoch', () =>
      using(async (_, a, b) => {
        const x = uuid();
        const first = await a.acquire([x]);
        await b.release(first);
        expect(await b.acquire([x])).toEqual([]);
        await a.release(first);
        await a.release(first);
        expect(epochOf(await b.acquire([x]))).toBeGreaterThan(epochOf(first));
      }));

    it('renews many and names those that are held', () =>
      using(async (_, a, b) => {
        const [x, y, z] = [uuid(), uuid(), uuid()];
        const held = await a.acquire([x, y, z]);
        await a.release(held.slice(1, 2));
        await b.acquire([y]);
        const renewed = await a.renew(held);
        expect(names(renewed)).toEqual([x, z]);
        for (const [i, lease] of renewed.entries()) {
          expect(lease.until).toBeGreaterThanOrEqual(held[i * 2]?.until ?? Number.POSITIVE_INFINITY);
        }
        expect(await a.renew([])).toEqual([]);
      }));
  });
}

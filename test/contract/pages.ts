// What every store promises of pages: their order, their bounds in number and bytes, and what lists leave unread.
import { describe, expect, it } from 'vitest';
import { largeArgs, maxInlineArgs } from '../../src/domain/approval.ts';
import { maxPageBytes, type Page, type PageRequest } from '../../src/ports/page.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aKey,
  anApproval,
  anItem,
  firstPage,
  itemsOf,
  type Open,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

/** All pages one after another, each at the offset where the one before ended. */
async function pages<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  limit: number,
): Promise<(readonly T[])[]> {
  const found: (readonly T[])[] = [];
  for (let offset = 0; ; ) {
    const { items, more } = await read({ limit, offset });
    found.push(items);
    offset += items.length;
    if (!more) return found;
    expect(items.length).toBeGreaterThan(0);
  }
}

export function pagesContract(name: string, open: Open): void {
  describe(`${name}: pages`, () => {
    const shared = sharedStore(open);

    it('follow each other without a gap, and the last one says so', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const ids = ['a', 'b', 'c', 'd', 'e'];
      for (const [i, contractId] of ids.entries()) {
        await store.contracts.create(aContract({ tenantId, contractId, createdAt: t0 + i }));
        await store.keys.insert(aKey({ tenantId, label: contractId, createdAt: t0 + i }));
        await store.bundles.addVersion(aBundle({ tenantId, name: contractId, createdAt: t0 + i }));
        await store.bundles.addVersion(aBundle({ tenantId, name: 'many', createdAt: t0 - 1 }));
        const items = [anItem({ contractId: 'a' })];
        await store.compositions.create(
          aComposition({ tenantId, name: contractId, items, updatedAt: t0 + i }),
        );
      }
      const newest = [['e', 'd'], ['c', 'b'], ['a']];
      const named = (lists: (readonly { readonly name: string }[])[]) =>
        lists.map((list) => list.map((one) => one.name));
      const contracts = await pages((page) => store.contracts.list(tenantId, {}, page), 2);
      expect(contracts.map((list) => list.map((one) => one.contractId))).toEqual(newest);
      const keys = await pages((page) => store.keys.list(tenantId, page), 2);
      expect(keys.map((list) => list.map((one) => one.label))).toEqual(newest);
      expect(named(await pages((page) => store.compositions.list(tenantId, page), 2))).toEqual(newest);
      const bundles = await pages((page) => store.bundles.summaries(tenantId, null, page), 2);
      expect(named(bundles)).toEqual([
        ['e', 'd'],
        ['c', 'b'],
        ['a', 'many'],
      ]);
      const versions = await pages((page) => store.bundles.versions(tenantId, 'many', page), 2);
      expect(versions.map((list) => list.map((one) => one.version))).toEqual([[5, 4], [3, 2], [1]]);
      const users = await pages((page) => store.contracts.usage(tenantId, 'a', page), 2);
      expect(named(users)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    });

    it('end when they hold enough bytes, and the next goes on there', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const size = 200_000;
      const made = Array.from({ length: 40 }, (_, i) =>
        anApproval({ tenantId, createdAt: t0 + i, message: `${i}`.padEnd(size, '.') }),
      );
      for (const approval of made) await approvals.insert(approval);
      const found = await pages((page) => approvals.list(tenantId, { env: null }, page, t0), 1000);
      expect(found.flat().map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
      expect(found.length).toBeGreaterThan(1);
      for (const list of found) expect(list.length * size).toBeLessThanOrEqual(maxPageBytes + size);
    });

    it('give one item that is larger than a page', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const message = 'x'.repeat(maxPageBytes + 1);
      for (let i = 0; i < 2; i++) await approvals.insert(anApproval({ tenantId, message }));
      const found = await pages((page) => approvals.list(tenantId, { env: null }, page, t0), 10);
      expect(found.map((list) => list.length)).toEqual([1, 1]);
    });

    it('of the library hold what was filtered, in portions of any size', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      for (let i = 0; i < 210; i++) {
        const type = i % 3 === 0 ? 'post' : 'pre';
        await contracts.create(aContract({ tenantId, contractId: `c${i}`, type, createdAt: t0 + (i >> 1) }));
      }
      const found = await pages((page) => contracts.list(tenantId, { type: 'post' }, page), 30);
      expect(found.map((list) => list.length)).toEqual([30, 30, 10]);
      const ids = found.flat().map(({ contractId }) => Number(contractId.slice(1)));
      expect(new Set(ids).size).toBe(70);
      expect(ids).toEqual([...ids].sort((a, b) => b - a));
    });
  });

  describe(`${name}: arguments of approvals that are kept apart`, () => {
    const shared = sharedStore(open);

    /** Inserts an approval whose arguments are kept apart. */
    async function ask(
      tenantId: string,
      size: number,
      over: Parameters<typeof anApproval>[0] = {},
      quota = 1e9,
    ) {
      const { approvals } = shared.get();
      const toolArgs = { text: 'x'.repeat(size) };
      const json = JSON.stringify(toolArgs);
      const approval = anApproval({ tenantId, ...over, toolArgs: null, argsBytes: json.length });
      const { id, env, createdAt } = approval;
      const kept = await approvals.keepArgs(
        { tenantId, env, id, json, bytes: json.length, createdAt },
        quota,
      );
      if (kept === 'kept') await approvals.insert(approval);
      return { kept, approval, toolArgs };
    }

    it('come with the whole approval alone', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const { approval, toolArgs } = await ask(tenantId, 500_000);
      const yes = { id: 'd', approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
      expect(await approvals.getWhole(tenantId, approval.id)).toEqual({ ...approval, toolArgs });
      expect(await approvals.get(tenantId, approval.id)).toEqual(approval);
      expect(await itemsOf(approvals.list(tenantId, { env: null }, firstPage, t0))).toEqual([approval]);
      expect(await approvals.decide(tenantId, approval.id, yes, t0 + 1)).toMatchObject({ toolArgs: null });
      expect(await approvals.getWhole(tenantId, approval.id)).toMatchObject({ status: 'approved', toolArgs });
      expect(await approvals.getWhole(uuid(), approval.id)).toBeNull();
    });

    it('count against the quota of their tenant and environment when they are large', async () => {
      const tenantId = uuid();
      const quota = 3 * largeArgs;
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('kept');
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('kept');
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('full');
      expect((await ask(tenantId, maxInlineArgs, {}, quota)).kept).toBe('kept');
      expect((await ask(tenantId, largeArgs, { env: 'staging' }, quota)).kept).toBe('kept');
      expect((await ask(uuid(), largeArgs, {}, quota)).kept).toBe('kept');
    });

    it('are dropped when their approval was refused', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const { approval } = await ask(tenantId, largeArgs, {}, 1.5 * largeArgs);
      await approvals.dropArgs(uuid(), approval.id);
      expect((await ask(tenantId, largeArgs, {}, 1.5 * largeArgs)).kept).toBe('full');
      await approvals.dropArgs(tenantId, approval.id);
      await approvals.dropArgs(tenantId, approval.id);
      expect((await ask(tenantId, largeArgs, {}, 1.5 * largeArgs)).kept).toBe('kept');
    });

    it('are dropped when they are large and old, which makes room again', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const before = t0 - 10_000;
      const old = await ask(tenantId, largeArgs, { createdAt: before - 1 });
      const small = await ask(tenantId, maxInlineArgs, { createdAt: before - 1 });
      const young = await ask(tenantId, largeArgs, { createdAt: before });
      expect(await approvals.dropLargeArgs(before, 10)).toBe(1);
      expect(await approvals.dropLargeArgs(before, 10)).toBe(0);
      const { argsBytes } = old.approval;
      expect(await approvals.getWhole(tenantId, old.approval.id)).toMatchObject({
        toolArgs: null,
        argsBytes,
      });
      for (const { approval, toolArgs } of [small, young]) {
        expect(await approvals.getWhole(tenantId, approval.id)).toMatchObject({ toolArgs });
      }
      expect((await ask(tenantId, largeArgs, {}, 2.5 * largeArgs)).kept).toBe('kept');
    });
  });
}

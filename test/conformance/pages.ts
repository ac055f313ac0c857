// Every store's promises about pages: their order, their bounds in number and bytes, and what lists leave unread.
import { describe, expect, it } from 'vitest';
import { largeArgs, maxInlineArgs } from '../../src/approval/record.ts';
import { maxPageBytes, type Page, type PageRequest } from '../../src/shared/ports/page.ts';
import { sizeFor } from '../runs.ts';
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
        await store.keys.create(aKey({ tenantId, label: contractId, createdAt: t0 + i }));
        await store.bundles.upload(aBundle({ tenantId, name: contractId, createdAt: t0 + i }));
        await store.bundles.upload(aBundle({ tenantId, name: 'many', createdAt: t0 - 1 }));
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
      const bundles = await pages((page) => store.bundles.list(tenantId, null, page), 2);
      expect(named(bundles)).toEqual([
        ['e', 'd'],
        ['c', 'b'],
        ['a', 'many'],
      ]);
      const byName = await pages((page) => store.bundles.list(tenantId, null, page, 'name'), 2);
      expect(named(byName)).toEqual([
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'many'],
      ]);
      const versions = await pages((page) => store.bundles.listVersions(tenantId, 'many', page), 2);
      expect(versions.map((list) => list.map((one) => one.version))).toEqual([[5, 4], [3, 2], [1]]);
      const users = await pages((page) => store.contracts.listUsage(tenantId, 'a', page), 2);
      expect(named(users)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    });

    it('end when they hold enough bytes, and the next goes on there', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const size = 200_000;
      const made = Array.from({ length: sizeFor(name, 40, 25) }, (_, i) =>
        anApproval({ tenantId, createdAt: t0 + i, message: `${i}`.padEnd(size, '.') }),
      );
      for (const approval of made) await approvals.request(approval);
      const found = await pages((page) => approvals.list(tenantId, { env: null }, page, t0), 1000);
      expect(found.flat().map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
      expect(found.length).toBeGreaterThan(1);
      for (const list of found) expect(list.length * size).toBeLessThanOrEqual(maxPageBytes + size);
    });

    it('give one item that is larger than a page', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const message = 'x'.repeat(maxPageBytes + 1);
      for (let i = 0; i < 2; i++) await approvals.request(anApproval({ tenantId, message }));
      const found = await pages((page) => approvals.list(tenantId, { env: null }, page, t0), 10);
      expect(found.map((list) => list.length)).toEqual([1, 1]);
    });

    it('of the library hold what was filtered, in portions of any size', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const posts = sizeFor(name, 70, 35);
      for (let i = 0; i < 3 * posts; i++) {
        const type = i % 3 === 0 ? 'post' : 'pre';
        await contracts.create(aContract({ tenantId, contractId: `c${i}`, type, createdAt: t0 + (i >> 1) }));
      }
      const found = await pages((page) => contracts.list(tenantId, { type: 'post' }, page), 30);
      expect(found.map((list) => list.length)).toEqual(posts === 70 ? [30, 30, 10] : [30, 5]);
      const ids = found.flat().map(({ contractId }) => Number(contractId.slice(1)));
      expect(new Set(ids).size).toBe(posts);
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
      keyId = 'k',
    ) {
      const { approvals } = shared.get();
      const toolArgs = { text: 'x'.repeat(size) };
      const json = JSON.stringify(toolArgs);
      const approval = anApproval({ tenantId, ...over, toolArgs: null, argsBytes: json.length });
      const { id, env, createdAt } = approval;
      const kept = await approvals.createArgs(
        { tenantId, env, keyId, id, json, bytes: json.length, createdAt },
        quota,
      );
      if (kept !== 'full') await approvals.request(approval);
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
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('created');
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('created');
      expect((await ask(tenantId, largeArgs, {}, quota)).kept).toBe('full');
      expect((await ask(tenantId, maxInlineArgs, {}, quota)).kept).toBe('created');
      expect((await ask(tenantId, largeArgs, { env: 'staging' }, quota)).kept).toBe('created');
      expect((await ask(uuid(), largeArgs, {}, quota)).kept).toBe('created');
    });

    it('of the key that holds most give way when the quota is full: timed out, then decided, oldest first', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const quota = 5.5 * largeArgs;
      const decision = { id: 'd', approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
      const askAs = async (keyId: string, second: number, over: Parameters<typeof anApproval>[0] = {}) => {
        const createdAt = t0 + second * 1000;
        const timing = { createdAt, deadline: createdAt + 60_000, ...over };
        return ask(tenantId, largeArgs, timing, quota, keyId);
      };
      const decided = await askAs('flooder', 0);
      await approvals.decide(tenantId, decided.approval.id, decision, t0 + 1);
      const due = await askAs('flooder', 2, { deadline: t0 + 3000 });
      const expired = await askAs('flooder', 1, { deadline: t0 + 2000 });
      await approvals.expire(tenantId, expired.approval.id, t0 + 2000);
      const pending = await askAs('flooder', 3);
      const other = await askAs('other', 3);
      await approvals.decide(tenantId, other.approval.id, decision, t0 + 3500);
      const removed: string[] = [];
      const names = new Map(Object.entries({ decided, due, expired, pending, other }));
      for (const [keyId, second] of [
        ['other', 4],
        ['third', 5],
        ['third', 6],
        ['fourth', 7],
      ] as const) {
        const { kept } = await askAs(keyId, second);
        for (const [name, { approval }] of names) {
          if ((await approvals.getWhole(tenantId, approval.id))?.toolArgs) continue;
          removed.push(name);
          names.delete(name);
        }
        removed.push(kept);
      }
      // The fourth finds arguments of the other key alone, which holds more and has a decided one.
      expect(removed).toEqual([
        'expired',
        'created',
        'due',
        'created',
        'decided',
        'created',
        'other',
        'created',
      ]);
      expect((await askAs('fourth', 8)).kept).toBe('full');
      expect((await approvals.getWhole(tenantId, pending.approval.id))?.toolArgs).not.toBeNull();
    });

    it('of a key that holds less do not give way to one that holds more', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const quota = 3.5 * largeArgs;
      const { approval } = await ask(tenantId, largeArgs, { deadline: t0 + 1 }, quota, 'small');
      await approvals.expire(tenantId, approval.id, t0 + 1);
      for (let i = 0; i < 2; i++)
        await ask(tenantId, largeArgs, { createdAt: t0, deadline: t0 + 60_000 }, quota, 'flooder');
      expect((await ask(tenantId, largeArgs, { createdAt: t0 + 2 }, quota, 'flooder')).kept).toBe('full');
      expect((await ask(tenantId, largeArgs, { createdAt: t0 + 2 }, quota, 'small')).kept).toBe('created');
      expect((await approvals.getWhole(tenantId, approval.id))?.toolArgs).toBeNull();
    });

    it('make no room for what can never fit, and none for a repeat', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const quota = 1.5 * largeArgs;
      const { approval, toolArgs } = await ask(tenantId, largeArgs, { deadline: t0 + 1 }, quota);
      await approvals.expire(tenantId, approval.id, t0 + 1);
      expect((await ask(tenantId, 2 * largeArgs, {}, quota)).kept).toBe('full');
      const json = JSON.stringify(toolArgs);
      const { id, env } = approval;
      const repeat = { tenantId, env, keyId: 'k', id, json, bytes: json.length, createdAt: t0 + 2 };
      expect(await approvals.createArgs(repeat, quota)).toBe('kept');
      expect((await approvals.getWhole(tenantId, id))?.toolArgs).toEqual(toolArgs);
    });

    it('are dropped when their approval was refused', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const { approval } = await ask(tenantId, largeArgs, {}, 1.5 * largeArgs);
      await approvals.removeArgs(uuid(), approval.id);
      expect((await ask(tenantId, largeArgs, {}, 1.5 * largeArgs)).kept).toBe('full');
      await approvals.removeArgs(tenantId, approval.id);
      await approvals.removeArgs(tenantId, approval.id);
      expect((await ask(tenantId, largeArgs, {}, 1.5 * largeArgs)).kept).toBe('created');
    });

    it('are dropped when they are large and old, which makes room again', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const before = t0 - 10_000;
      const old = await ask(tenantId, largeArgs, { createdAt: before - 1 });
      const small = await ask(tenantId, maxInlineArgs, { createdAt: before - 1 });
      const young = await ask(tenantId, largeArgs, { createdAt: before });
      expect(await approvals.removeLargeArgs(before, 10)).toBe(1);
      expect(await approvals.removeLargeArgs(before, 10)).toBe(0);
      const { argsBytes } = old.approval;
      expect(await approvals.getWhole(tenantId, old.approval.id)).toMatchObject({
        toolArgs: null,
        argsBytes,
      });
      for (const { approval, toolArgs } of [small, young]) {
        expect(await approvals.getWhole(tenantId, approval.id)).toMatchObject({ toolArgs });
      }
      expect((await ask(tenantId, largeArgs, {}, 2.5 * largeArgs)).kept).toBe('created');
    });
  });
}

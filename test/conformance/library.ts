// Every store's promises about the contract library (contract/port, ContractStore).
import { describe, expect, it } from 'vitest';
import type { ContractVersion } from '../../src/contract/record.ts';
import { sizeFor } from '../runs.ts';
import {
  aComposition,
  aContract,
  anItem,
  firstPage,
  hostileTexts,
  itemsOf,
  type Open,
  parallel,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

const meta = (over: { createdAt?: number } = {}) => ({
  id: uuid(),
  createdBy: 'bob@example.org',
  createdAt: t0 + 1000,
  ...over,
});

export function contractsContract(name: string, open: Open): void {
  describe(`${name}: contracts`, () => {
    const shared = sharedStore(open);

    it('a new contract is its version 1, whatever its texts and definition hold', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const definition = JSON.parse('{"__proto__":{"x":1},"$set":{"a.b":[null,true,1.5,"\\u0000"]},"":{}}');
      for (const text of hostileTexts) {
        const contract = aContract({
          tenantId,
          name: text,
          description: text,
          tags: [text, 'x'],
          definition,
        });
        expect(await contracts.create(contract)).toBe('created');
        const stored = await contracts.get(tenantId, contract.contractId);
        expect(stored).toEqual(contract);
        expect(JSON.stringify(stored?.definition)).toBe(JSON.stringify(definition));
      }
    });

    it('of 20 parallel creations of one id one is created', async () => {
      const { contracts } = shared.get();
      const base = aContract();
      const answers = await parallel(20, (i) => contracts.create({ ...base, id: uuid(), name: `n${i}` }));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect((await contracts.get(base.tenantId, base.contractId))?.name).toBe(
        `n${answers.indexOf('created')}`,
      );
    });

    it('a new version copies what the patch leaves out', async () => {
      const { contracts } = shared.get();
      const first = aContract();
      await contracts.create(first);
      const m = meta();
      const second = await contracts.update(first.tenantId, first.contractId, { name: 'New' }, m);
      expect(second).toEqual({ ...first, ...m, version: 2, name: 'New' });
      const third = await contracts.update(
        first.tenantId,
        first.contractId,
        { description: null, tags: [], definition: { a: 1 } },
        meta(),
      );
      expect(third).toMatchObject({
        version: 3,
        name: 'New',
        description: null,
        tags: [],
        definition: { a: 1 },
      });
      expect(await contracts.get(first.tenantId, first.contractId)).toEqual(third);
      expect(await contracts.getVersion(first.tenantId, first.contractId, 1)).toEqual(first);
      expect(await contracts.getVersion(first.tenantId, first.contractId, 2)).toEqual(second);
      expect(await contracts.getVersion(first.tenantId, first.contractId, 4)).toBeNull();
      expect(await contracts.update(first.tenantId, 'unknown', { name: 'x' }, meta())).toBeNull();
    });

    it('parallel updates get a version each', async () => {
      const { contracts } = shared.get();
      const c = aContract();
      await contracts.create(c);
      const made = (await parallel(sizeFor(name, 30, 10), (i) =>
        contracts.update(c.tenantId, c.contractId, { name: `n${i}` }, meta()),
      )) as (ContractVersion | null)[];
      expect(made.map((v) => v?.version ?? 0).sort((a, b) => a - b)).toEqual(made.map((_, i) => i + 2));
    });

    it('a version, and a removal, on an older state changes nothing', async () => {
      const { contracts } = shared.get();
      const c = aContract();
      await contracts.create(c);
      const add = (ifId: string) => contracts.update(c.tenantId, c.contractId, {}, meta(), ifId);
      const made = await parallel(10, () => add(c.id));
      expect(made.filter((one) => one !== 'changed')).toHaveLength(1);
      expect(await contracts.remove(c.tenantId, c.contractId, c.id)).toBe('changed');
      const latest = await contracts.get(c.tenantId, c.contractId);
      expect(latest).toMatchObject({ version: 2 });
      expect(await contracts.remove(c.tenantId, c.contractId, latest?.id)).toBe('removed');
    });

    it('history is newest first', async () => {
      const { contracts } = shared.get();
      const c = aContract();
      await contracts.create(c);
      await contracts.update(c.tenantId, c.contractId, { name: 'b' }, meta());
      expect(await contracts.listVersions(c.tenantId, c.contractId)).toEqual([
        { version: 2, createdAt: t0 + 1000, createdBy: 'bob@example.org' },
        { version: 1, createdAt: t0, createdBy: 'ada@example.org' },
      ]);
      expect(await contracts.listVersions(c.tenantId, 'unknown')).toEqual([]);
    });

    it('lists latest versions newest first and counts the compositions that use them', async () => {
      const { contracts, compositions } = shared.get();
      const tenantId = uuid();
      const [a, b, c] = ['a', 'b', 'c'].map((contractId, i) =>
        aContract({ tenantId, contractId, createdAt: t0 + i }),
      ) as [ReturnType<typeof aContract>, ReturnType<typeof aContract>, ReturnType<typeof aContract>];
      for (const contract of [c, a, b]) await contracts.create(contract);
      const a2 = await contracts.update(tenantId, 'a', { name: 'newest' }, meta());
      const twice = [anItem({ contractId: 'b' }), anItem({ contractId: 'b', position: 20, enabled: false })];
      await compositions.create(aComposition({ tenantId, name: 'one', items: twice }));
      await compositions.create(
        aComposition({
          tenantId,
          name: 'two',
          items: [anItem({ contractId: 'b' }), anItem({ contractId: 'c' })],
        }),
      );
      const summary = ({ definition: _definition, ...rest }: ContractVersion) => rest;
      expect(await itemsOf(contracts.list(tenantId, {}, firstPage))).toEqual([
        { ...summary(a2 as ContractVersion), usageCount: 0 },
        { ...summary(c), usageCount: 1 },
        { ...summary(b), usageCount: 2 },
      ]);
    });

    it('pages through an import, whose contracts have one time, without a repeat or a gap', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const imported = Array.from({ length: 100 }, (_, i) => aContract({ tenantId, contractId: `c${i}` }));
      await contracts.importBundle(tenantId, imported, aComposition({ tenantId }));
      const ids: string[] = [];
      for (let offset = 0; offset < 100; offset += 10) {
        const { items } = await contracts.list(tenantId, {}, { limit: 10, offset });
        ids.push(...items.map(({ contractId }) => contractId));
      }
      expect(ids.sort()).toEqual(imported.map(({ contractId }) => contractId).sort());
    });

    it('filters by type, tag and text without wildcards', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const make = (contractId: string, over: Parameters<typeof aContract>[0]) =>
        contracts.create(
          aContract({ tenantId, contractId, name: 'n', description: null, tags: [], ...over }),
        );
      await make('one', { type: 'post', tags: ['x', 'y'], name: '100% Sure' });
      await make('two', { type: 'pre', tags: ['xy'], description: 'Reads A_B files' });
      await make('three-ÉTÉ', { type: 'pre', tags: ['y'], name: '(.*)' });
      const ids = async (filter: Parameters<typeof contracts.list>[1]) =>
        (await itemsOf(contracts.list(tenantId, filter, firstPage))).map((c) => c.contractId).sort();
      expect(await ids({ type: 'pre' })).toEqual(['three-ÉTÉ', 'two']);
      expect(await ids({ type: 'nothing' })).toEqual([]);
      expect(await ids({ tag: 'y' })).toEqual(['one', 'three-ÉTÉ']);
      expect(await ids({ tag: 'x', type: 'post' })).toEqual(['one']);
      expect(await ids({ search: '100% sURE' })).toEqual(['one']);
      expect(await ids({ search: '%' })).toEqual(['one']);
      expect(await ids({ search: '_' })).toEqual(['two']);
      expect(await ids({ search: 'a_b' })).toEqual(['two']);
      expect(await ids({ search: '(.*)' })).toEqual(['three-ÉTÉ']);
      expect(await ids({ search: 'TW' })).toEqual(['two']);
      expect(await ids({ search: 'été' })).toEqual(['three-ÉTÉ']);
      expect(await ids({ search: '{"$gt":""}' })).toEqual([]);
      expect(await ids({ tag: '{"$gt":""}' })).toEqual([]);
    });

    it('lists the tags of latest versions, each once and in order', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const tags = [...hostileTexts.slice(0, 20), 'b', 'a'];
      await contracts.create(aContract({ tenantId, contractId: 'one', tags }));
      await contracts.create(aContract({ tenantId, contractId: 'two', tags: ['before'] }));
      await contracts.update(tenantId, 'two', { tags: ['b', 'c'] }, meta());
      const sorted = [...new Set([...tags, 'c'])].sort();
      expect(await contracts.listTags(tenantId, firstPage)).toEqual({ items: sorted, more: false });
      expect(await contracts.listTags(tenantId, { limit: 2, offset: 1 })).toEqual({
        items: sorted.slice(1, 3),
        more: true,
      });
      expect(await contracts.listTags(uuid(), firstPage)).toEqual({ items: [], more: false });
    });

    it('searches the latest version only', async () => {
      const { contracts } = shared.get();
      const c = aContract({ name: 'before' });
      await contracts.create(c);
      await contracts.update(c.tenantId, c.contractId, { name: 'after' }, meta());
      expect(await itemsOf(contracts.list(c.tenantId, { search: 'before' }, firstPage))).toEqual([]);
      expect(await itemsOf(contracts.list(c.tenantId, { search: 'after' }, firstPage))).toHaveLength(1);
    });

    it('removes all versions, unless a composition names the contract', async () => {
      const { contracts, compositions } = shared.get();
      const c = aContract();
      await contracts.create(c);
      await contracts.update(c.tenantId, c.contractId, { name: 'b' }, meta());
      const ids: string[] = [];
      for (const composition of ['zeta', 'alpha']) {
        const made = await compositions.create(
          aComposition({
            tenantId: c.tenantId,
            name: composition,
            items: [anItem({ contractId: c.contractId, enabled: false })],
          }),
        );
        ids.push((made as { id: string }).id);
      }
      expect(await contracts.remove(c.tenantId, c.contractId)).toEqual({
        usedBy: ['alpha', 'zeta'],
        count: 2,
      });
      expect(await itemsOf(contracts.listUsage(c.tenantId, c.contractId, firstPage))).toEqual([
        { id: ids[1], name: 'alpha' },
        { id: ids[0], name: 'zeta' },
      ]);
      expect(await contracts.countUsage(c.tenantId, c.contractId)).toBe(2);
      await compositions.remove(c.tenantId, 'zeta');
      await compositions.remove(c.tenantId, 'alpha');
      expect(await contracts.remove(c.tenantId, c.contractId)).toBe('removed');
      expect(await contracts.getVersion(c.tenantId, c.contractId, 1)).toBeNull();
      expect(await contracts.remove(c.tenantId, c.contractId)).toBe('absent');
      expect(await itemsOf(contracts.listUsage(c.tenantId, c.contractId, firstPage))).toEqual([]);
    });

    it('a contract that is removed while a composition takes it up is either gone or used, never both', async () => {
      const { contracts, compositions } = shared.get();
      for (let round = 0; round < 10; round++) {
        const c = aContract();
        await contracts.create(c);
        const composition = aComposition({
          tenantId: c.tenantId,
          items: [anItem({ contractId: c.contractId })],
        });
        const [removed, made] = await Promise.all([
          contracts.remove(c.tenantId, c.contractId),
          compositions.create(composition),
        ]);
        if (removed === 'removed') expect(made).toEqual({ unknownContract: c.contractId });
        else expect(removed).toEqual({ usedBy: [composition.name] });
      }
    });

    it('tenants do not see, change or remove each other', async () => {
      const { contracts } = shared.get();
      const c = aContract();
      await contracts.create(c);
      const stranger = uuid();
      expect(await contracts.get(stranger, c.contractId)).toBeNull();
      expect(await contracts.getVersion(stranger, c.contractId, 1)).toBeNull();
      expect(await contracts.listVersions(stranger, c.contractId)).toEqual([]);
      expect(await itemsOf(contracts.list(stranger, {}, firstPage))).toEqual([]);
      expect(await contracts.update(stranger, c.contractId, { name: 'x' }, meta())).toBeNull();
      expect(await contracts.remove(stranger, c.contractId)).toBe('absent');
      expect(await contracts.create({ ...c, id: uuid(), tenantId: stranger })).toBe('created');
      expect(await contracts.get(c.tenantId, c.contractId)).toEqual(c);
    });
  });

  describe(`${name}: import`, () => {
    const shared = sharedStore(open);

    it('creates and updates contracts and makes a composition pinned to the versions it made', async () => {
      const { contracts, compositions } = shared.get();
      const tenantId = uuid();
      const words = { name: 'Old', description: 'By people.', tags: ['a'] };
      const old = aContract({ tenantId, contractId: 'old', definition: { v: 1 }, ...words });
      await contracts.create(old);
      const given = [
        aContract({
          tenantId,
          contractId: 'old',
          definition: { v: 2 },
          createdAt: t0 + 5,
          description: null,
          tags: [],
        }),
        aContract({ tenantId, contractId: 'new', definition: { v: 3 }, createdAt: t0 + 5 }),
      ];
      const items = [
        anItem({ contractId: 'old', position: 10 }),
        anItem({ contractId: 'new', position: 20 }),
      ];
      const composition = aComposition({ tenantId, name: 'imported', items });
      expect(await contracts.importBundle(tenantId, given, composition)).toEqual({
        created: ['new'],
        updated: ['old'],
        composition: 'imported',
      });
      expect(await contracts.get(tenantId, 'old')).toMatchObject({
        id: given[0]?.id,
        ...words,
        version: 2,
        definition: { v: 2 },
        createdAt: t0 + 5,
      });
      expect(await contracts.getVersion(tenantId, 'old', 1)).toEqual(old);
      expect(await contracts.get(tenantId, 'new')).toEqual({ ...given[1], version: 1 });
      expect(await compositions.get(tenantId, 'imported')).toEqual({
        ...composition,
        items: [
          { ...items[0], version: 2 },
          { ...items[1], version: 1 },
        ],
      });
    });

    it('leaves a composition of that name as it is', async () => {
      const { contracts, compositions } = shared.get();
      const tenantId = uuid();
      const existing = aComposition({ tenantId });
      await compositions.create(existing);
      const contract = aContract({ tenantId });
      const composition = aComposition({ tenantId, items: [anItem({ contractId: contract.contractId })] });
      expect(await contracts.importBundle(tenantId, [contract], composition)).toEqual({
        created: [contract.contractId],
        updated: [],
        composition: null,
      });
      expect(await compositions.get(tenantId, existing.name)).toEqual(existing);
    });

    it('a contract of another type stops the whole import', async () => {
      const { contracts, compositions } = shared.get();
      const tenantId = uuid();
      const stored = aContract({ tenantId, type: 'pre' });
      await contracts.create(stored);
      const fresh = aContract({ tenantId });
      const changed = { ...stored, id: uuid(), type: 'post' as const };
      const composition = aComposition({ tenantId });
      expect(await contracts.importBundle(tenantId, [fresh, changed], composition)).toEqual({
        typeChanged: stored.contractId,
      });
      expect(await contracts.get(tenantId, fresh.contractId)).toBeNull();
      expect(await contracts.get(tenantId, stored.contractId)).toEqual(stored);
      expect(await compositions.get(tenantId, composition.name)).toBeNull();
    });

    it('parallel imports of the same contracts make one composition and distinct versions', async () => {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const answers = await parallel(8, () =>
        contracts.importBundle(
          tenantId,
          [aContract({ tenantId, contractId: 'same' })],
          aComposition({ tenantId, items: [anItem({ contractId: 'same' })] }),
        ),
      );
      const whole = answers.filter((a) => 'created' in a);
      expect(whole.filter((a) => a.created.length === 1)).toHaveLength(1);
      expect(whole.filter((a) => a.composition !== null)).toHaveLength(1);
      expect((await contracts.listVersions(tenantId, 'same')).map((v) => v.version)).toEqual([
        8, 7, 6, 5, 4, 3, 2, 1,
      ]);
    });
  });
}

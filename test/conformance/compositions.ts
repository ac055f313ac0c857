// Every store's promises about compositions (composition/port).
import { describe, expect, it } from 'vitest';
import type { Composition } from '../../src/composition/record.ts';
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

const summaryOf = (composition: Composition) => {
  const {
    id: _id,
    tenantId: _t,
    items,
    documentKind: _k,
    toolsConfig: _c,
    observability: _o,
    createdAt: _at,
    ...summary
  } = composition;
  return { ...summary, contractCount: items.length };
};

export function compositionsContract(name: string, open: Open): void {
  describe(`${name}: compositions`, () => {
    const shared = sharedStore(open);

    /** A tenant with contract `a` at version 2 and `b` at version 1. */
    async function library() {
      const { contracts } = shared.get();
      const tenantId = uuid();
      const [a, b] = [aContract({ tenantId, contractId: 'a' }), aContract({ tenantId, contractId: 'b' })];
      await contracts.create(a);
      await contracts.create(b);
      const meta = { id: uuid(), createdBy: 'bob@example.org', createdAt: t0 + 1 };
      await contracts.update(tenantId, 'a', { name: 'A two', definition: { v: 2 } }, meta);
      return { tenantId, a, b };
    }

    it('pins each item to the latest version and keeps the order of positions', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const given = aComposition({
        tenantId,
        items: [
          anItem({ contractId: 'b', position: 20, modeOverride: 'observe', enabled: false }),
          anItem({ contractId: 'a', position: 10, version: 99 }),
        ],
      });
      const made = await compositions.create(given);
      const expected = {
        ...given,
        items: [
          { contractId: 'a', version: 2, position: 10, modeOverride: null, enabled: true },
          { contractId: 'b', version: 1, position: 20, modeOverride: 'observe', enabled: false },
        ],
      };
      expect(made).toEqual(expected);
      expect(await compositions.get(tenantId, 'base')).toEqual(expected);
      expect(await itemsOf(compositions.list(tenantId, firstPage))).toEqual([summaryOf(made as Composition)]);
    });

    it('a new contract version leaves the pin and shows as the latest one', async () => {
      const { compositions, contracts } = shared.get();
      const { tenantId, b } = await library();
      const items = [anItem({ contractId: 'b', position: 1 }), anItem({ contractId: 'a', position: 1 })];
      await compositions.create(aComposition({ tenantId, items }));
      const meta = { id: uuid(), createdBy: 'bob@example.org', createdAt: t0 + 2 };
      await contracts.update(tenantId, 'a', { name: 'A three', definition: { v: 3 } }, meta);
      const views = await compositions.listItems(tenantId, 'base');
      expect(views.map((v) => v.contractId)).toEqual(['a', 'b']);
      expect(views[0]).toEqual({
        contractId: 'a',
        version: 2,
        position: 1,
        modeOverride: null,
        enabled: true,
        name: 'A two',
        type: 'pre',
        latestVersion: 3,
      });
      expect(await compositions.listEnabledItems(tenantId, 'base')).toEqual(
        views.map((view, i) => ({ ...view, definition: i === 0 ? { v: 2 } : b.definition })),
      );
      expect(views[1]).toMatchObject({ contractId: 'b', version: 1, latestVersion: 1 });
    });

    it('gives the definitions of enabled items, or none when they are too large together', async () => {
      const { compositions, contracts } = shared.get();
      const { tenantId } = await library();
      const definition = { text: 'é'.repeat(100_000) };
      const ids = Array.from({ length: 11 }, (_, i) => `large-${i}`);
      for (const contractId of ids) await contracts.create(aContract({ tenantId, contractId, definition }));
      const of = (contractIds: readonly string[], enabled: boolean) =>
        contractIds.map((contractId, position) => anItem({ contractId, position, enabled }));
      const items = [...of(ids.slice(0, 10), true), ...of(ids.slice(10), false)];
      await compositions.create(aComposition({ tenantId, name: 'fits', items }));
      const fits = await compositions.listEnabledItems(tenantId, 'fits');
      expect(fits).toHaveLength(10);
      expect(fits[0]).toMatchObject({ contractId: 'large-0', definition });
      await compositions.create(aComposition({ tenantId, name: 'exceeds', items: of(ids, true) }));
      expect(await compositions.listEnabledItems(tenantId, 'exceeds')).toBe('too_large');
      expect(await compositions.listItems(tenantId, 'exceeds')).toHaveLength(11);
      expect(await compositions.listEnabledItems(tenantId, 'absent')).toEqual([]);
    });

    it('an unknown contract stops the composition', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const items = [anItem({ contractId: 'a' }), anItem({ contractId: 'ghost' })];
      expect(await compositions.create(aComposition({ tenantId, items }))).toEqual({
        unknownContract: 'ghost',
      });
      expect(await compositions.get(tenantId, 'base')).toBeNull();
    });

    it('of 20 parallel creations of one name one exists', async () => {
      const { compositions } = shared.get();
      const tenantId = uuid();
      const answers = await parallel(20, () => compositions.create(aComposition({ tenantId })));
      expect(answers.filter((answer) => answer !== 'exists')).toHaveLength(1);
      expect(await itemsOf(compositions.list(tenantId, firstPage))).toEqual(
        answers.flatMap((answer) =>
          answer === 'exists' || 'unknownContract' in answer ? [] : [summaryOf(answer)],
        ),
      );
    });

    it('an update changes what the patch names and the time of change', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const given = aComposition({ tenantId, items: [anItem({ contractId: 'a' })] });
      await compositions.create(given);
      const pinned = { ...anItem({ contractId: 'a' }), version: 2 };
      const first = await compositions.update(tenantId, 'base', { defaultsMode: 'observe' }, t0 + 10);
      expect(first).toEqual({ ...given, items: [pinned], defaultsMode: 'observe', updatedAt: t0 + 10 });
      const second = await compositions.update(
        tenantId,
        'base',
        {
          description: null,
          toolsConfig: null,
          observability: { otel: true },
          updateStrategy: 'auto_deploy',
        },
        t0 + 20,
      );
      expect(second).toEqual({
        ...given,
        items: [pinned],
        defaultsMode: 'observe',
        description: null,
        toolsConfig: null,
        observability: { otel: true },
        updateStrategy: 'auto_deploy',
        updatedAt: t0 + 20,
      });
      expect(await compositions.get(tenantId, 'base')).toEqual(second);
      const kind = await compositions.update(tenantId, 'base', { documentKind: 'ruleset' }, t0 + 30);
      expect(kind).toEqual({ ...(second as object), documentKind: 'ruleset', updatedAt: t0 + 30 });
      expect(await compositions.get(tenantId, 'base')).toEqual(kind);
      await compositions.update(tenantId, 'base', { documentKind: null }, t0 + 40);
      expect(await compositions.get(tenantId, 'base')).toMatchObject({ documentKind: null });
    });

    it('an update tied to a state writes only in that state, and every update makes a new one', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      await compositions.create(aComposition({ tenantId }));
      const now = t0 + 10;
      const first = await compositions.update(tenantId, 'base', { description: 'first' }, now);
      if (typeof first === 'string' || 'unknownContract' in first) throw new Error('not updated');
      const answers = await parallel(20, (i) =>
        compositions.update(tenantId, 'base', { description: `${i}` }, now, first.updatedAt),
      );
      const written = answers.filter((answer) => answer !== 'changed');
      expect(written).toHaveLength(1);
      expect(await compositions.get(tenantId, 'base')).toEqual(written[0]);
      expect(written[0]).toMatchObject({ updatedAt: now + 1 });
      expect(await compositions.update(tenantId, 'none', {}, now, now)).toBe('absent');
    });

    it('updates at once that name different things are all kept', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      await compositions.create(aComposition({ tenantId }));
      const items = [anItem({ contractId: 'a' })];
      const patches = [
        { description: 'x' },
        { defaultsMode: 'observe' },
        { toolsConfig: { x: 1 } },
        { items },
      ] as const;
      await Promise.all(patches.map((patch) => compositions.update(tenantId, 'base', patch, t0 + 5)));
      expect(await compositions.get(tenantId, 'base')).toMatchObject({
        description: 'x',
        defaultsMode: 'observe',
        toolsConfig: { x: 1 },
        items: [{ contractId: 'a', version: 2 }],
        updatedAt: t0 + 8,
      });
    });

    it('items of an update replace all and are pinned again', async () => {
      const { compositions, contracts } = shared.get();
      const { tenantId } = await library();
      await compositions.create(aComposition({ tenantId, items: [anItem({ contractId: 'a' })] }));
      const meta = { id: uuid(), createdBy: 'bob@example.org', createdAt: t0 + 2 };
      await contracts.update(tenantId, 'a', { name: 'A three' }, meta);
      const updated = await compositions.update(
        tenantId,
        'base',
        { items: [anItem({ contractId: 'b', position: 5 }), anItem({ contractId: 'a', position: 7 })] },
        t0 + 3,
      );
      expect(updated).toMatchObject({
        items: [
          { contractId: 'b', version: 1, position: 5 },
          { contractId: 'a', version: 3, position: 7 },
        ],
      });
      expect(await compositions.update(tenantId, 'base', { items: [] }, t0 + 4)).toMatchObject({ items: [] });
      expect(await compositions.listItems(tenantId, 'base')).toEqual([]);
    });

    it('an update that names an unknown contract or composition writes nothing', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const made = await compositions.create(
        aComposition({ tenantId, items: [anItem({ contractId: 'a' })] }),
      );
      const items = [anItem({ contractId: 'ghost' })];
      expect(await compositions.update(tenantId, 'base', { description: 'x', items }, t0 + 9)).toEqual({
        unknownContract: 'ghost',
      });
      expect(await compositions.get(tenantId, 'base')).toEqual(made);
      expect(await compositions.update(tenantId, 'other', { description: 'x' }, t0)).toBe('absent');
    });

    it('lists the newest change first', async () => {
      const { compositions } = shared.get();
      const tenantId = uuid();
      for (const [composition, age] of [
        ['one', 1],
        ['two', 3],
        ['three', 2],
      ] as const) {
        await compositions.create(aComposition({ tenantId, name: composition, updatedAt: t0 + age }));
      }
      await compositions.update(tenantId, 'one', { description: 'touched' }, t0 + 9);
      expect((await itemsOf(compositions.list(tenantId, firstPage))).map((c) => c.name)).toEqual([
        'one',
        'two',
        'three',
      ]);
    });

    it('removing gives back what was there, once', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const made = await compositions.create(
        aComposition({ tenantId, items: [anItem({ contractId: 'a' })] }),
      );
      expect(await compositions.remove(tenantId, 'base', t0 - 1)).toBe('changed');
      expect(await compositions.remove(tenantId, 'base')).toEqual(made);
      expect(await compositions.remove(tenantId, 'base')).toBeNull();
      expect(await compositions.get(tenantId, 'base')).toBeNull();
      expect(await compositions.listItems(tenantId, 'base')).toEqual([]);
    });

    it('tenants do not see, use or change each other', async () => {
      const { compositions } = shared.get();
      const { tenantId } = await library();
      const made = await compositions.create(
        aComposition({ tenantId, items: [anItem({ contractId: 'a' })] }),
      );
      const stranger = uuid();
      expect(await compositions.get(stranger, 'base')).toBeNull();
      expect(await compositions.listItems(stranger, 'base')).toEqual([]);
      expect(await itemsOf(compositions.list(stranger, firstPage))).toEqual([]);
      expect(await compositions.update(stranger, 'base', { description: 'x' }, t0)).toBe('absent');
      expect(await compositions.remove(stranger, 'base')).toBeNull();
      const items = [anItem({ contractId: 'a' })];
      expect(await compositions.create(aComposition({ tenantId: stranger, items }))).toEqual({
        unknownContract: 'a',
      });
      expect(await compositions.get(tenantId, 'base')).toEqual(made);
    });

    it('hostile texts are names like any other', async () => {
      const { compositions } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        const given = aComposition({
          tenantId,
          name: text,
          description: text,
          observability: { [`k${text}`]: text },
        });
        expect(await compositions.create(given)).toEqual(given);
        expect(await compositions.get(tenantId, text)).toEqual(given);
      }
      expect(await itemsOf(compositions.list(tenantId, firstPage))).toHaveLength(hostileTexts.length);
    });
  });
}

// Every store's promises about saved views (view/port).
import { describe, expect, it } from 'vitest';
import type { SavedView } from '../../src/view/record.ts';
import { hostileTexts, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const aView = (over: Partial<SavedView> = {}): SavedView => ({
  id: uuid(),
  tenantId: uuid(),
  ownerId: uuid(),
  page: 'explore',
  name: 'denied',
  query: 'verdict:denied',
  isShared: false,
  createdBy: 'ada@example.org',
  createdAt: t0,
  ...over,
});

export function viewsContract(name: string, open: Open): void {
  describe(`${name}: saved views`, () => {
    const shared = sharedStore(open);

    it('are listed for their person, and shared ones for everybody of the tenant, by name', async () => {
      const { views } = shared.get();
      const tenantId = uuid();
      const own = aView({ tenantId, name: 'b' });
      const ofAll = aView({ tenantId, name: 'a', isShared: true });
      const others = aView({ tenantId, name: 'c' });
      for (const view of [own, ofAll, others, aView()]) expect(await views.create(view, 9)).toBe('created');
      expect(await views.create({ ...own, name: 'again' }, 9)).toBe('created');
      expect(await views.list(tenantId, own.ownerId, 9)).toEqual([ofAll, own]);
      expect(await views.list(tenantId, null, 9)).toEqual([ofAll]);
      // Shared ones take no room from the own ones.
      expect(await views.list(tenantId, own.ownerId, 1)).toEqual([own]);
      expect(await views.list(tenantId, null, 1)).toEqual([ofAll]);
      const { ownerId } = own;
      const [second, third] = [
        aView({ tenantId, ownerId, name: 'd' }),
        aView({ tenantId, ownerId, name: 'e' }),
      ];
      for (const view of [third, second]) await views.create(view, 9);
      expect(await views.list(tenantId, ownerId, 2)).toEqual([own, second]);
      expect(await views.list(tenantId, ownerId, 4)).toEqual([ofAll, own, second, third]);
      expect(await views.get(tenantId, own.id)).toEqual(own);
      expect(await views.get(uuid(), own.id)).toBeNull();
    });

    it('of a person are bounded; a patch changes what it names; hostile texts come back', async () => {
      const { views } = shared.get();
      const [tenantId, ownerId] = [uuid(), uuid()];
      const view = aView({ tenantId, ownerId });
      await views.create(view, 1);
      expect(await views.create(aView({ tenantId, ownerId }), 1)).toBe('full');
      for (const text of hostileTexts) {
        const updated = { ...view, name: text, query: text };
        expect(await views.update(tenantId, view.id, { name: text, query: text })).toEqual(updated);
        expect(await views.get(tenantId, view.id)).toEqual(updated);
      }
      expect(await views.update(tenantId, view.id, {})).toMatchObject({ isShared: false });
      expect(await views.update(tenantId, view.id, { isShared: true })).toMatchObject({ isShared: true });
      expect(await views.update(uuid(), view.id, { name: 'x' })).toBeNull();
    });

    it('are removed once; what a person has shared stays when the person goes', async () => {
      const { views } = shared.get();
      const [tenantId, ownerId] = [uuid(), uuid()];
      const [own, kept] = [aView({ tenantId, ownerId }), aView({ tenantId, ownerId, isShared: true })];
      for (const view of [own, kept]) await views.create(view, 9);
      expect(await views.removeOwn(uuid(), ownerId)).toBe(0);
      expect(await views.removeOwn(tenantId, ownerId)).toBe(1);
      expect(await views.list(tenantId, ownerId, 9)).toEqual([kept]);
      expect(await views.remove(uuid(), kept.id)).toBeNull();
      expect(await views.remove(tenantId, kept.id)).toEqual(kept);
      expect(await views.remove(tenantId, kept.id)).toBeNull();
    });
  });
}

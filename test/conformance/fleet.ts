// Every store's promises about the sorted list of registrations (agent/port: search), and of what agents speak
// (listVocabularies, listLastOn).
import { describe, expect, it } from 'vitest';
import type { AgentQuery } from '../../src/agent/port.ts';
import type { SeenOn } from '../../src/shared/vocabulary.ts';
import { hostileTexts, type Open, sharedStore, t0, uuid } from './fixtures.ts';

export function fleetContract(name: string, open: Open): void {
  describe(`${name}: registrations by any order`, () => {
    const shared = sharedStore(open);

    it('are found in pages, sorted either way, without manifests and retired ones', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const ids = ['b', 'a', 'd', 'c', 'e'];
      // Made in this order; seen last in the order of their names, two at one moment.
      for (const [i, agentId] of ids.entries())
        await agents.noteSeen(tenantId, agentId, 'production', t0 + i, uuid());
      for (const [i, agentId] of ['a', 'b', 'c', 'd'].entries()) {
        await agents.noteSeen(tenantId, agentId, 'staging', t0 + 10 + (i >> 1), null);
      }
      await agents.update(tenantId, 'e', { displayName: 'E %_ Mailer', tags: { team: 'x' } });
      await agents.updateManifest(tenantId, { agentId: 'a', policyVersion: 'x', contracts: [] }, t0);
      await agents.noteSeen(uuid(), 'stranger', 'production', t0, uuid());

      const all = async (query: Partial<AgentQuery>): Promise<string> => {
        const found: string[] = [];
        let after: AgentQuery['after'] = null;
        for (;;) {
          const order = query.order ?? 'agentId';
          const whole = { order, descending: false, search: null, limit: 2, ...query, after };
          const { items, more } = await agents.search(tenantId, whole);
          for (const item of items) {
            expect(item).not.toHaveProperty('manifest');
            found.push(item.agentId);
            after = { agentId: item.agentId, at: order === 'agentId' ? 0 : (item[order] ?? 0) };
          }
          if (!more) return found.join('');
        }
      };
      expect(await all({})).toBe('abcde');
      expect(await all({ descending: true })).toBe('edcba');
      expect(await all({ order: 'createdAt' })).toBe('badce');
      expect(await all({ order: 'createdAt', descending: true })).toBe('ecdab');
      expect(await all({ order: 'lastSeenAt' })).toBe('eabcd');
      expect(await all({ order: 'lastSeenAt', descending: true })).toBe('cdabe');
      expect(await all({ search: 'MAIL' })).toBe('e');
      expect(await all({ search: '%_' })).toBe('e');
      expect(await all({ search: 'C' })).toBe('c');
      for (const text of hostileTexts.filter((one) => one.length > 2))
        expect(await all({ search: text })).toBe('');
      const [first] = (
        await agents.search(tenantId, {
          order: 'agentId',
          descending: true,
          search: null,
          limit: 1,
          after: null,
        })
      ).items;
      expect(first).toMatchObject({ displayName: 'E %_ Mailer', tags: { team: 'x' }, lastEnv: 'production' });
    });

    it('keeps on which API an agent was last seen, and what it said that it loads', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const spoken = async (agentId = 'a') => {
        const [found] = await agents.listVocabularies(tenantId, [agentId]);
        return found && [found.lastApi, found.loadsAny];
      };
      const seen = (at: number, on?: SeenOn) =>
        agents.noteSeen(tenantId, 'a', 'production', t0 + at, uuid(), on);
      await seen(1);
      expect(await spoken()).toEqual([null, false]);
      await seen(2, { api: 'hosted', loadsAny: true });
      expect(await agents.get(tenantId, 'a')).toMatchObject({ lastApi: 'hosted', loadsAny: true });
      await seen(3, { api: 'console' });
      expect(await spoken()).toEqual(['console', true]);
      await seen(4);
      expect(await spoken()).toEqual(['console', true]);
      await seen(1, { api: 'hosted', loadsAny: false });
      expect(await spoken()).toEqual(['console', true]);
      await seen(5, { api: 'console', loadsAny: false });
      expect(await spoken()).toEqual(['console', false]);
      await agents.noteSeen(tenantId, 'b', 'production', t0, uuid(), { api: 'hosted', loadsAny: true });
      expect(await agents.get(tenantId, 'b')).toMatchObject({ lastApi: 'hosted', loadsAny: true });
      expect(await agents.listVocabularies(uuid(), ['a'])).toEqual([]);
      expect(await spoken('unknown')).toBeUndefined();
    });

    it('finds who was last seen in an environment on one API, by agent id', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const on = { api: 'console' } as const;
      for (const id of ['c', 'a', 'b']) await agents.noteSeen(tenantId, id, 'production', t0, uuid(), on);
      await agents.noteSeen(tenantId, 'elsewhere', 'staging', t0, uuid(), on);
      await agents.noteSeen(tenantId, 'hosted', 'production', t0, uuid(), { api: 'hosted' });
      await agents.noteSeen(tenantId, 'any', 'production', t0, uuid(), { ...on, loadsAny: true });
      await agents.noteSeen(tenantId, 'unsaid', 'production', t0, uuid());
      await agents.noteSeen(uuid(), 'stranger', 'production', t0, uuid(), on);
      const page = async (limit: number, after: string | null) => {
        const query = { env: 'production', api: 'console', limit, after } as const;
        const { items, more } = await agents.listLastOn(tenantId, query);
        return [items.map(({ agentId }) => agentId), more];
      };
      expect(await page(2, null)).toEqual([['a', 'b'], true]);
      expect(await page(2, 'b')).toEqual([['c'], false]);
      await agents.retire(t0 + 1, t0 + 2, 100_000);
      expect(await page(9, null)).toEqual([[], false]);
    });
  });
}

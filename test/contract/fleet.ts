// What every store promises of the sorted list of registrations (ports/agents: find).
import { describe, expect, it } from 'vitest';
import type { AgentQuery } from '../../src/ports/agents.ts';
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
        await agents.seen(tenantId, agentId, 'production', t0 + i, uuid());
      for (const [i, agentId] of ['a', 'b', 'c', 'd'].entries()) {
        await agents.seen(tenantId, agentId, 'staging', t0 + 10 + (i >> 1), null);
      }
      await agents.update(tenantId, 'e', { displayName: 'E %_ Mailer', tags: { team: 'x' } });
      await agents.putManifest(tenantId, { agent_id: 'a', policy_version: 'x', contracts: [] }, t0);
      await agents.seen(uuid(), 'stranger', 'production', t0, uuid());

      const all = async (query: Partial<AgentQuery>): Promise<string> => {
        const found: string[] = [];
        let after: AgentQuery['after'] = null;
        for (;;) {
          const order = query.order ?? 'agentId';
          const whole = { order, descending: false, search: null, limit: 2, ...query, after };
          const { items, more } = await agents.find(tenantId, whole);
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
        await agents.find(tenantId, {
          order: 'agentId',
          descending: true,
          search: null,
          limit: 1,
          after: null,
        })
      ).items;
      expect(first).toMatchObject({ displayName: 'E %_ Mailer', tags: { team: 'x' }, lastEnv: 'production' });
    });
  });
}

// Every store's promises about the use of AI assistance (assistant/port/usage).
import { describe, expect, it } from 'vitest';
import { type Open, parallel, sharedStore, uuid } from './fixtures.ts';

export function aiUsageContract(name: string, open: Open): void {
  describe(`${name}: use of AI assistance`, () => {
    const shared = sharedStore(open);
    const use = { inputTokens: 10, outputTokens: 5, cost: 0.25, durationMs: 100.5 };

    it('adds up by tenant and day, many at once', async () => {
      const { aiUsage } = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      await parallel(20, () => aiUsage.add(tenantId, '2026-06-02', use));
      await aiUsage.add(tenantId, '2026-06-01', use);
      await aiUsage.add(other, '2026-06-02', use);
      const [first, second, ...rest] = await aiUsage.listDays(tenantId, '2026-06-01');
      expect(first).toEqual({ tenantId, day: '2026-06-01', queries: 1, ...use });
      expect(second).toEqual({
        tenantId,
        day: '2026-06-02',
        queries: 20,
        inputTokens: 200,
        outputTokens: 100,
        cost: 5,
        durationMs: 2010,
      });
      expect(rest).toEqual([]);
      expect(await aiUsage.listDays(tenantId, '2026-06-02')).toEqual([second]);
      expect(await aiUsage.listDays(uuid(), '2026-06-01')).toEqual([]);
    });

    it('knows no cost until one is known', async () => {
      const { aiUsage } = shared.get();
      const tenantId = uuid();
      const cost = async () => (await aiUsage.listDays(tenantId, '2026-06-01'))[0]?.cost;
      await aiUsage.add(tenantId, '2026-06-01', { ...use, cost: null });
      expect(await cost()).toBeNull();
      await aiUsage.add(tenantId, '2026-06-01', { ...use, cost: 0 });
      expect(await cost()).toBe(0);
      await aiUsage.add(tenantId, '2026-06-01', use);
      await aiUsage.add(tenantId, '2026-06-01', { ...use, cost: null });
      expect(await cost()).toBe(0.25);
    });

    it('forgets old days of all tenants', async () => {
      const { aiUsage } = shared.get();
      const [one, two] = [uuid(), uuid()];
      await aiUsage.removeBefore('2020-01-02');
      for (const tenantId of [one, two]) await aiUsage.add(tenantId, '2020-01-01', use);
      await aiUsage.add(one, '2020-01-02', use);
      expect(await aiUsage.removeBefore('2020-01-02')).toBe(2);
      expect(await aiUsage.removeBefore('2020-01-02')).toBe(0);
      expect((await aiUsage.listDays(one, '2020-01-01')).map(({ day }) => day)).toEqual(['2020-01-02']);
    });
  });
}

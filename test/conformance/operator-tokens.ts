// Every store's promises about the records of operators' tokens (user/port/operator-tokens).
import { describe, expect, it } from 'vitest';
import type { OperatorTokenRecord } from '../../src/user/port/operator-tokens.ts';
import { type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

const aRecord = (over: Partial<OperatorTokenRecord> = {}): OperatorTokenRecord => ({
  id: uuid(),
  tenantId: uuid(),
  role: 'viewer',
  createdBy: 'ann@example.com',
  createdAt: t0,
  expiresAt: t0 + 60_000,
  revokedAt: null,
  ...over,
});

export function operatorTokensContract(name: string, open: Open): void {
  describe(`${name}: operator tokens`, () => {
    const shared = sharedStore(open);

    it('are listed for their tenant until they expire or are revoked, newest first', async () => {
      const { operatorTokens } = shared.get();
      const first = aRecord();
      const { tenantId } = first;
      const second = aRecord({ tenantId, createdAt: t0 + 1, role: 'admin' });
      const short = aRecord({ tenantId, createdAt: t0 + 2, expiresAt: t0 + 10 });
      for (const record of [first, second, short, aRecord()]) await operatorTokens.create(record);
      await expect(operatorTokens.create(first)).rejects.toMatchObject({ code: 'conflict' });
      const list = async (now: number, page = { limit: 10, offset: 0 }) =>
        (await operatorTokens.list(tenantId, page, now)).items;
      expect(await list(t0 + 9)).toEqual([short, second, first]);
      expect(await list(t0 + 10)).toEqual([second, first]);
      expect(await list(t0 + 10, { limit: 1, offset: 1 })).toEqual([first]);
      await operatorTokens.revoke(tenantId, second.id, t0 + 11);
      expect(await list(t0 + 11)).toEqual([first]);
    });

    it('are revoked once, by their tenant, before they expire', async () => {
      const { operatorTokens } = shared.get();
      const record = aRecord();
      const { id, tenantId } = record;
      await operatorTokens.create(record);
      expect(await operatorTokens.revoke(uuid(), id, t0)).toBeNull();
      expect(await operatorTokens.revoke(tenantId, uuid(), t0)).toBeNull();
      expect(await operatorTokens.revoke(tenantId, id, t0 + 60_000)).toBeNull();
      expect(await operatorTokens.isRevoked(id)).toBe(false);
      const answers = await parallel(10, () => operatorTokens.revoke(tenantId, id, t0 + 5));
      expect(answers.filter((answer) => answer !== null)).toEqual([{ ...record, revokedAt: t0 + 5 }]);
      expect(await operatorTokens.isRevoked(id)).toBe(true);
      expect(await operatorTokens.isRevoked(uuid())).toBe(false);
    });

    it('go when they have expired', async () => {
      const { operatorTokens } = shared.get();
      const [old, young] = [aRecord({ expiresAt: 5 }), aRecord()];
      for (const record of [old, young]) await operatorTokens.create(record);
      await operatorTokens.revoke(old.tenantId, old.id, 4);
      expect(await operatorTokens.removeExpired(5, 1)).toBe(1);
      expect(await operatorTokens.isRevoked(old.id)).toBe(false);
      expect((await operatorTokens.list(young.tenantId, { limit: 9, offset: 0 }, t0)).items).toEqual([young]);
    });
  });
}

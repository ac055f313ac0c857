// Every store's records of service accounts and their tokens.
import { describe, expect, it } from 'vitest';
import {
  maxServiceTokens,
  type ServiceAccount,
  type ServiceToken,
} from '../../src/user/port/service-accounts.ts';
import { type Open, parallel, sha256, sharedStore, t0, uuid } from './fixtures.ts';

const anAccount = (over: Partial<ServiceAccount> = {}): ServiceAccount => ({
  id: uuid(),
  tenantId: uuid(),
  name: `account-${uuid()}`,
  roles: [{ role: 'operator', env: 'staging' }],
  createdBy: 'ann@example.org',
  createdAt: t0,
  ...over,
});

const aToken = ({ tenantId, id }: ServiceAccount, over: Partial<ServiceToken> = {}): ServiceToken => ({
  id: uuid(),
  tenantId,
  accountId: id,
  label: 'ci',
  hash: sha256(uuid()),
  createdBy: 'ann@example.org',
  createdAt: t0,
  expiresAt: t0 + 60_000,
  lastUsedAt: null,
  ...over,
});

export function serviceAccountsContract(name: string, open: Open): void {
  describe(`${name}: service accounts`, () => {
    const shared = sharedStore(open);

    it('are listed by name, changed and removed, each in its tenant', async () => {
      const { serviceAccounts } = shared.get();
      const first = anAccount({ name: 'b' });
      const second = anAccount({ tenantId: first.tenantId, name: 'a' });
      for (const account of [first, second, anAccount({ name: 'b' })])
        expect(await serviceAccounts.create(account)).toBe('created');
      const { tenantId } = first;
      expect(await serviceAccounts.create(anAccount({ tenantId, name: 'a' }))).toBe('name_taken');
      expect((await serviceAccounts.list(tenantId, { limit: 9, offset: 0 })).items).toEqual([second, first]);
      expect(await serviceAccounts.update(tenantId, first.id, { name: 'a' })).toBe('name_taken');
      const roles = [{ role: 'viewer', env: '*' }] as const;
      const changed = { ...first, name: 'c', roles };
      expect(await serviceAccounts.update(tenantId, first.id, { name: 'c', roles })).toEqual(changed);
      expect(await serviceAccounts.update(uuid(), first.id, { name: 'd' })).toBeNull();
      expect(await serviceAccounts.get(tenantId, first.id)).toEqual(changed);
      expect(await serviceAccounts.get(uuid(), first.id)).toBeNull();
      expect(await serviceAccounts.remove(uuid(), first.id)).toBeNull();
      expect(await serviceAccounts.remove(tenantId, first.id)).toEqual(changed);
      expect(await serviceAccounts.remove(tenantId, first.id)).toBeNull();
    });

    it('tell when the first of their valid tokens expires', async () => {
      const { serviceAccounts } = shared.get();
      const first = anAccount();
      const { tenantId } = first;
      const second = anAccount({ tenantId });
      for (const account of [first, second]) await serviceAccounts.create(account);
      for (const expiresAt of [t0 + 3_000, t0 + 1_000, t0 + 2_000])
        await serviceAccounts.createToken(aToken(first, { expiresAt }));
      await serviceAccounts.createToken(aToken(second, { expiresAt: t0 + 1_000 }));
      expect(await serviceAccounts.getNextExpiries(tenantId, t0 + 1_000)).toEqual(
        new Map([[first.id, t0 + 2_000]]),
      );
      expect(await serviceAccounts.getNextExpiries(uuid(), t0)).toEqual(new Map());
    });

    it('have one of a name, however many ask at once', async () => {
      const { serviceAccounts } = shared.get();
      const tenantId = uuid();
      const answers = await parallel(8, () => serviceAccounts.create(anAccount({ tenantId, name: 'one' })));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
    });

    it('are found by the hash of a token until the token or the account goes', async () => {
      const { serviceAccounts } = shared.get();
      const account = anAccount();
      await serviceAccounts.create(account);
      const [old, young] = [aToken(account), aToken(account, { createdAt: t0 + 1, expiresAt: t0 + 90_000 })];
      for (const token of [old, young]) expect(await serviceAccounts.createToken(token)).toBe('created');
      const { tenantId, id } = account;
      expect(await serviceAccounts.listTokens(tenantId, id)).toEqual([young, old]);
      expect(await serviceAccounts.getByHash(old.hash)).toEqual({ account, token: old });
      expect(await serviceAccounts.getByHash(sha256('unknown'))).toBeNull();
      await serviceAccounts.used(old.id, t0 + 20);
      await serviceAccounts.used(old.id, t0 + 10);
      expect((await serviceAccounts.getByHash(old.hash))?.token.lastUsedAt).toBe(t0 + 20);
      expect(await serviceAccounts.revokeToken(uuid(), id, old.id)).toBeNull();
      expect(await serviceAccounts.revokeToken(tenantId, id, old.id)).toMatchObject({ id: old.id });
      expect(await serviceAccounts.revokeToken(tenantId, id, old.id)).toBeNull();
      expect(await serviceAccounts.getByHash(old.hash)).toBeNull();
      await serviceAccounts.remove(tenantId, id);
      expect(await serviceAccounts.getByHash(young.hash)).toBeNull();
      expect(await serviceAccounts.createToken(aToken(account))).toBe('absent');
    });

    it('have a bounded number of tokens, and lose those that expired long ago', async () => {
      const { serviceAccounts } = shared.get();
      const account = anAccount();
      await serviceAccounts.create(account);
      for (let i = 0; i < maxServiceTokens; i++)
        await serviceAccounts.createToken(aToken(account, { expiresAt: i < 2 ? t0 - 1_000_000 : t0 + 1 }));
      expect(await serviceAccounts.createToken(aToken(account))).toBe('full');
      expect(await serviceAccounts.removeExpiredTokens(t0 - 999_999, 1)).toBe(1);
      expect(await serviceAccounts.removeExpiredTokens(t0 - 999_999, 9)).toBe(1);
      expect(await serviceAccounts.listTokens(account.tenantId, account.id)).toHaveLength(
        maxServiceTokens - 2,
      );
      expect(await serviceAccounts.createToken(aToken(account))).toBe('created');
    });
  });
}

// Every store's records of the accounts that people have at the identity provider, and of their sessions there.
import { describe, expect, it } from 'vitest';
import {
  aLogin,
  aSigningKey,
  aTenant,
  aUser,
  type Open,
  parallel,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

const anAccount = (over: object = {}) => ({
  issuer: 'https://issuer.example',
  subject: uuid(),
  userId: uuid(),
  tenantId: uuid(),
  linkedAt: t0,
  ...over,
});

export function identitiesContract(name: string, open: Open): void {
  describe(`${name}: accounts at the identity provider`, () => {
    const shared = sharedStore(open);

    it('are one person each, and a person has one', async () => {
      const { identities } = shared.get();
      const account = anAccount();
      expect(await identities.create(account)).toBe('created');
      expect(await identities.create(account)).toBe('created');
      expect(await identities.create({ ...account, userId: uuid() })).toBe('taken');
      expect(await identities.create(anAccount({ userId: account.userId }))).toBe('taken');
      expect(await identities.get(account.issuer, account.subject)).toEqual(account);
      expect(await identities.get('https://other.example', account.subject)).toBeNull();
      expect(await identities.getOfUser(account.userId)).toEqual(account);
      await identities.removeOfUser(account.userId);
      expect(await identities.getOfUser(account.userId)).toBeNull();
      expect(await identities.create({ ...account, userId: uuid() })).toBe('created');
    });

    it('of people who link one at once, one gets it', async () => {
      const { identities } = shared.get();
      const account = anAccount();
      const answers = await parallel(10, () => identities.create({ ...account, userId: uuid() }));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
    });

    it('have sessions there, by which logins are found', async () => {
      const { logins } = shared.get();
      const [providerSession, other] = [uuid(), uuid()];
      const login = aLogin({ method: 'oidc', providerSession });
      for (const one of [login, aLogin({ method: 'oidc', providerSession: other }), aLogin()])
        await logins.create(one);
      expect(await logins.listOfProviderSession(providerSession, t0, 10)).toEqual([login]);
      expect(await logins.listOfProviderSession(providerSession, login.expiresAt, 10)).toEqual([]);
      await logins.remove(login.tokenHash);
      expect(await logins.listOfProviderSession(providerSession, t0, 10)).toEqual([]);
    });

    it('decide about roles, of the last admin too', async () => {
      const { tenants } = shared.get();
      const tenant = aTenant();
      const admin = aUser({ tenantId: tenant.id });
      await tenants.create(tenant, admin, aSigningKey({ tenantId: tenant.id }));
      const roles = [{ role: 'viewer', env: '*' }] as const;
      expect(await tenants.updateRoles(tenant.id, admin.id, roles)).toBe('last_admin');
      expect(await tenants.updateRoles(tenant.id, admin.id, roles, true)).toEqual({ ...admin, roles });
      expect(await tenants.getUser(admin.id)).toEqual({ ...admin, roles });
    });
  });
}

// Every store's promises about a tenant's users: lists, admins of whom one always stays, removal and passwords.
import { describe, expect, it } from 'vitest';
import { adminRoles, isAdmin, memberRoles } from '../../src/shared/env-roles.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import type { User } from '../../src/user/record.ts';
import { inviteHash } from '../../src/user/rules/invite.ts';
import { sizeFor } from '../runs.ts';
import {
  aLogin,
  aSigningKey,
  aTenant,
  aUser,
  firstPage,
  hostileTexts,
  itemsOf,
  type Open,
  parallel,
  sha256,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

/** A tenant with so many admins and so many others, admins first. */
async function peopleOf(store: DocumentStore, admins: number, others = 0): Promise<readonly User[]> {
  const tenant = aTenant();
  const made = Array.from({ length: admins + others }, (_, i) =>
    aUser({
      tenantId: tenant.id,
      roles: i < admins ? adminRoles : memberRoles,
      email: `${i}-${uuid()}@example.org`,
    }),
  );
  const [first, ...rest] = made;
  if (first) await store.tenants.create(tenant, first, aSigningKey({ tenantId: tenant.id }));
  for (const user of rest) await store.tenants.createUser(user);
  return made;
}

const adminsOf = async (store: DocumentStore, tenantId: string): Promise<readonly string[]> =>
  (await itemsOf(store.tenants.listUsers(tenantId, firstPage)))
    .filter((user) => isAdmin(user.roles))
    .map(({ id }) => id);

export function usersContract(name: string, open: Open): void {
  describe(`${name}: users of a tenant`, () => {
    const shared = sharedStore(open);

    it('are listed by e-mail, in pages, each tenant its own', async () => {
      const store = shared.get();
      const people = await peopleOf(store, 1, 4);
      const [{ tenantId }] = people as [User];
      await peopleOf(store, 2);
      expect(await itemsOf(store.tenants.listUsers(tenantId, firstPage))).toEqual(people);
      expect(await store.tenants.listUsers(tenantId, { limit: 2, offset: 0 })).toEqual({
        items: people.slice(0, 2),
        more: true,
      });
      expect(await store.tenants.listUsers(tenantId, { limit: 2, offset: 4 })).toEqual({
        items: people.slice(4),
        more: false,
      });
      expect(await itemsOf(store.tenants.listUsers(uuid(), firstPage))).toEqual([]);
    });

    it('become admins and are ones no more, and a repeat changes nothing', async () => {
      const store = shared.get();
      const [admin, other] = (await peopleOf(store, 1, 1)) as [User, User];
      const { tenantId } = admin;
      for (let i = 0; i < 2; i++) {
        expect(await store.tenants.updateRoles(tenantId, other.id, adminRoles)).toEqual({
          ...other,
          roles: adminRoles,
        });
      }
      expect(await store.tenants.getUser(other.id)).toEqual({ ...other, roles: adminRoles });
      for (let i = 0; i < 2; i++) {
        expect(await store.tenants.updateRoles(tenantId, admin.id, memberRoles)).toEqual({
          ...admin,
          roles: memberRoles,
        });
      }
      expect(await adminsOf(store, tenantId)).toEqual([other.id]);
      expect(await store.tenants.updateRoles(tenantId, other.id, memberRoles)).toBe('last_admin');
      expect(await store.tenants.updateRoles(tenantId, admin.id, adminRoles)).toEqual(admin);
    });

    it('are not found by another tenant', async () => {
      const store = shared.get();
      const [admin] = (await peopleOf(store, 2)) as [User];
      const [stranger] = (await peopleOf(store, 2)) as [User];
      expect(await store.tenants.updateRoles(stranger.tenantId, admin.id, memberRoles)).toBe('absent');
      expect(await store.tenants.removeUser(stranger.tenantId, admin.id)).toBe('absent');
      expect(await store.tenants.updateRoles(uuid(), admin.id, memberRoles)).toBe('absent');
      expect(await store.tenants.getUser(admin.id)).toEqual(admin);
    });

    it('are removed, once, and the e-mail is free again', async () => {
      const store = shared.get();
      const [admin, other] = (await peopleOf(store, 1, 1)) as [User, User];
      const { tenantId } = admin;
      expect(await store.tenants.removeUser(tenantId, other.id)).toEqual(other);
      expect(await store.tenants.removeUser(tenantId, other.id)).toBe('absent');
      expect(await store.tenants.getUser(other.id)).toBeNull();
      expect(await store.tenants.getUserByEmail(other.email)).toBeNull();
      expect(await store.tenants.removeUser(tenantId, admin.id)).toBe('last_admin');
      const again = aUser({ tenantId, email: other.email });
      expect(await store.tenants.createUser(again)).toBe('created');
      expect(await store.tenants.removeUser(tenantId, admin.id)).toEqual(admin);
    });

    it('keep one admin, whoever takes whom away at once', async () => {
      const store = shared.get();
      for (let round = 0; round < sizeFor(name, 5, 2); round++) {
        const people = await peopleOf(store, 8);
        const [{ tenantId }] = people as [User];
        const answers = await parallel(people.length, (i) => {
          const id = people[i]?.id ?? '';
          return i % 2 === 0
            ? store.tenants.updateRoles(tenantId, id, memberRoles)
            : store.tenants.removeUser(tenantId, id);
        });
        expect(answers.filter((answer) => answer === 'last_admin')).toHaveLength(1);
        expect(await adminsOf(store, tenantId)).toEqual([people[answers.indexOf('last_admin')]?.id]);
      }
    });

    it('keep an admin who can sign in: one who is invited and has not come is no other admin', async () => {
      const { tenants } = shared.get();
      const [admin] = (await peopleOf(shared.get(), 1)) as [User];
      const { tenantId } = admin;
      const invite = () => inviteHash({ secretHash: sha256(uuid()), expiresAt: t0 });
      const invited = aUser({ tenantId, passwordHash: invite() });
      const second = aUser({ tenantId, passwordHash: invite() });
      for (const user of [invited, second]) await tenants.createUser(user);
      expect(await tenants.updateRoles(tenantId, admin.id, memberRoles)).toBe('last_admin');
      expect(await tenants.removeUser(tenantId, admin.id)).toBe('last_admin');
      expect(await adminsOf(shared.get(), tenantId)).toHaveLength(3);
      // An invitation is taken back as before.
      expect(await tenants.removeUser(tenantId, second.id)).toEqual(second);
      expect(await tenants.updatePassword(invited.id, invited.passwordHash, 'chosen')).toBe(true);
      expect(await tenants.updateRoles(tenantId, admin.id, memberRoles)).toMatchObject({
        roles: memberRoles,
      });
      expect(await tenants.removeUser(tenantId, invited.id)).toBe('last_admin');
    });

    it('keep one admin where all of them are invited', async () => {
      const { tenants } = shared.get();
      const [admin] = (await peopleOf(shared.get(), 1)) as [User];
      const { tenantId } = admin;
      const passwordHash = inviteHash({ secretHash: sha256(uuid()), expiresAt: t0 });
      const other = aUser({ tenantId, passwordHash });
      await tenants.createUser(other);
      await tenants.updatePassword(admin.id, admin.passwordHash, passwordHash);
      expect(await tenants.removeUser(tenantId, other.id)).toEqual(other);
      expect(await tenants.removeUser(tenantId, admin.id)).toBe('last_admin');
      expect(await tenants.updateRoles(tenantId, admin.id, memberRoles)).toBe('last_admin');
      // The identity provider may take even this role.
      expect(await tenants.updateRoles(tenantId, admin.id, memberRoles, true)).toMatchObject({
        roles: memberRoles,
      });
    });

    it('that are taken away and made again at once are what the last change said', async () => {
      const store = shared.get();
      const [first, other] = (await peopleOf(store, 2)) as [User, User];
      const { tenantId } = first;
      await parallel(12, (i) =>
        store.tenants.updateRoles(tenantId, other.id, i % 2 === 0 ? adminRoles : memberRoles),
      );
      for (const roles of [adminRoles, memberRoles]) {
        await store.tenants.updateRoles(tenantId, other.id, roles);
        expect(await store.tenants.getUser(other.id)).toEqual({ ...other, roles });
      }
    });

    it('get another password only in place of the one they have', async () => {
      const { tenants } = shared.get();
      const [user] = (await peopleOf(shared.get(), 1)) as [User];
      const { id, passwordHash } = user;
      const answers = await parallel(10, (i) => tenants.updatePassword(id, passwordHash, `new ${i}`));
      expect(answers.filter(Boolean)).toHaveLength(1);
      const now = `new ${answers.indexOf(true)}`;
      expect(await tenants.getUser(id)).toEqual({ ...user, passwordHash: now });
      for (const text of hostileTexts) expect(await tenants.updatePassword(id, text, 'taken')).toBe(false);
      expect(await tenants.updatePassword(uuid(), now, 'taken')).toBe(false);
    });

    it('lose their logins but the one that is named', async () => {
      const { logins } = shared.get();
      const userId = uuid();
      const [own, other] = [aLogin({ userId }), aLogin({ userId })];
      for (const login of [own, other]) await logins.create(login);
      await logins.removeOfUser(userId, own.tokenHash);
      expect(await logins.get(own.tokenHash, t0)).toEqual(own);
      expect(await logins.get(other.tokenHash, t0)).toBeNull();
    });
  });

  it(`${name}: a bootstrap is taken also when the very first user was removed`, async () => {
    const store = await open();
    try {
      const [tenant, next] = [aTenant(), aTenant()];
      const [first, second] = [aUser({ tenantId: tenant.id }), aUser({ tenantId: tenant.id })];
      await store.tenants.bootstrap(tenant, first, aSigningKey({ tenantId: tenant.id }));
      await store.tenants.createUser(second);
      expect(await store.tenants.removeUser(tenant.id, first.id)).toEqual(first);
      const late = aUser({ tenantId: next.id });
      expect(await store.tenants.bootstrap(next, late, aSigningKey({ tenantId: next.id }))).toBe('taken');
    } finally {
      await store.close();
    }
  });
}

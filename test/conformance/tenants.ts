// Every store's promises about tenants, users, logins and API keys (tenant/port/tenants, user/port/users,
// user/port/logins, key/port). Signing keys are in signing.ts.
import { describe, expect, it } from 'vitest';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { maxNetworks } from '../../src/user/port/logins.ts';
import {
  aKey,
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

const founding = (email?: string) => {
  const tenant = aTenant();
  const admin = aUser({ tenantId: tenant.id, ...(email === undefined ? {} : { email }) });
  return { tenant, admin, key: aSigningKey({ tenantId: tenant.id }) };
};

export function bootstrapContract(name: string, open: Open): void {
  describe(`${name}: bootstrap`, () => {
    it('an empty store has no user, and one after the bootstrap', async () => {
      const store = await open();
      try {
        expect(await store.tenants.anyUser()).toBe(false);
        expect(await store.tenants.listIds()).toEqual([]);
        const { tenant, admin, key } = founding();
        expect(await store.tenants.bootstrap(tenant, admin, key)).toBe('created');
        expect(await store.tenants.anyUser()).toBe(true);
        expect(await store.tenants.listIds()).toEqual([tenant.id]);
        expect(await store.tenants.hasSeveral()).toBe(false);
        expect(await store.tenants.getUserByEmail(admin.email)).toEqual(admin);
        expect(await store.signing.getActive(tenant.id)).toEqual(key);
      } finally {
        await store.close();
      }
    });

    it('a tenant is provisioned once, with a key and nobody in it, and the set-up stays open', async () => {
      const store = await open();
      try {
        const tenant = aTenant();
        const keys = Array.from({ length: 20 }, () => aSigningKey({ tenantId: tenant.id }));
        const answers = await Promise.all(keys.map((key) => store.tenants.provision(tenant, key)));
        expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
        expect(await store.tenants.provision(tenant, aSigningKey({ tenantId: tenant.id }))).toBe('exists');
        expect(await store.tenants.listIds()).toEqual([tenant.id]);
        expect(keys).toContainEqual(await store.signing.getActive(tenant.id));
        expect(await store.tenants.anyUser()).toBe(false);
        expect(await store.tenants.createUser(aUser({ tenantId: tenant.id }))).toBe('created');
        const second = aTenant();
        await store.tenants.provision(second, aSigningKey({ tenantId: second.id }));
        expect(await store.tenants.hasSeveral()).toBe(true);
      } finally {
        await store.close();
      }
    });

    it('of 50 parallel bootstraps one is created, and nothing of the others is kept', async () => {
      const store = await open();
      try {
        const all = Array.from({ length: 50 }, () => founding());
        const answers = await Promise.all(all.map((f) => store.tenants.bootstrap(f.tenant, f.admin, f.key)));
        expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
        expect(answers.filter((answer) => answer === 'taken')).toHaveLength(49);
        const winner = all[answers.indexOf('created')];
        expect(await store.tenants.listIds()).toEqual([winner?.tenant.id]);
        for (const f of all) {
          const kept = f === winner;
          expect(await store.tenants.getUserByEmail(f.admin.email)).toEqual(kept ? f.admin : null);
          expect(await store.signing.getActive(f.tenant.id)).toEqual(kept ? f.key : null);
        }
      } finally {
        await store.close();
      }
    });

    it('is taken when a tenant was created another way', async () => {
      const store = await open();
      try {
        const first = founding();
        expect(await store.tenants.create(first.tenant, first.admin, first.key)).toBe('created');
        const second = founding();
        expect(await store.tenants.bootstrap(second.tenant, second.admin, second.key)).toBe('taken');
        expect(await store.tenants.getUser(second.admin.id)).toBeNull();
      } finally {
        await store.close();
      }
    });

    it('a store that is closed refuses calls instead of hanging', async () => {
      const store = await open();
      await store.close();
      await expect(store.tenants.anyUser()).rejects.toMatchObject({ name: 'HubError' });
      await expect(store.keys.create(aKey())).rejects.toMatchObject({ name: 'HubError' });
    });

    it('answers a ping with a duration', async () => {
      const store = await open();
      try {
        const begun = performance.now();
        const ms = await store.ping();
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(performance.now() - begun);
      } finally {
        await store.close();
      }
    });
  });
}

export function tenantsContract(name: string, open: Open): void {
  describe(`${name}: tenants and users`, () => {
    const shared = sharedStore(open);

    it('a further tenant comes with its admin and its key', async () => {
      const store = shared.get();
      const { tenant, admin, key } = founding();
      expect(await store.tenants.create(tenant, admin, key)).toBe('created');
      expect(await store.tenants.getUser(admin.id)).toEqual(admin);
      expect(await store.tenants.listIds()).toContain(tenant.id);
      expect(await store.signing.getActive(tenant.id)).toEqual(key);
    });

    it('an e-mail is unique over all tenants, and a refused tenant leaves nothing behind', async () => {
      const store = shared.get();
      const first = founding();
      const second = founding(first.admin.email);
      expect(await store.tenants.create(first.tenant, first.admin, first.key)).toBe('created');
      expect(await store.tenants.create(second.tenant, second.admin, second.key)).toBe('email_taken');
      expect(await store.tenants.listIds()).not.toContain(second.tenant.id);
      expect(await store.signing.getActive(second.tenant.id)).toBeNull();
      expect(await store.tenants.getUserByEmail(first.admin.email)).toEqual(first.admin);
      const again = aUser({ tenantId: first.tenant.id, email: first.admin.email });
      expect(await store.tenants.createUser(again)).toBe('email_taken');
    });

    it('of 20 parallel users with one e-mail one is created', async () => {
      const store = shared.get();
      const { tenant, admin, key } = founding();
      await store.tenants.create(tenant, admin, key);
      const email = `${uuid()}@example.org`;
      const answers = await parallel(20, () =>
        store.tenants.createUser(aUser({ tenantId: tenant.id, email })),
      );
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'email_taken')).toHaveLength(19);
    });

    it('a user needs a tenant', async () => {
      const store = shared.get();
      const user = aUser({ tenantId: uuid() });
      expect(await store.tenants.createUser(user)).toBe('no_tenant');
      expect(await store.tenants.getUser(user.id)).toBeNull();
    });

    it('users that are not there are null', async () => {
      const store = shared.get();
      expect(await store.tenants.getUser(uuid())).toBeNull();
      for (const text of hostileTexts) expect(await store.tenants.getUserByEmail(text)).toBeNull();
    });

    it('tenants are listed oldest first', async () => {
      const store = shared.get();
      const ids: string[] = [];
      for (const age of [3, 1, 2]) {
        const f = founding();
        await store.tenants.create({ ...f.tenant, createdAt: t0 + age }, f.admin, f.key);
        ids[age - 1] = f.tenant.id;
      }
      const listed = (await store.tenants.listIds()).filter((id) => ids.includes(id));
      expect(listed).toEqual(ids);
    });

    it('hostile texts come back as they went in', async () => {
      const store = shared.get();
      const f = founding();
      await store.tenants.create(f.tenant, f.admin, f.key);
      for (const text of hostileTexts) {
        const user = aUser({
          tenantId: f.tenant.id,
          email: `${text}${uuid()}`,
          passwordHash: text,
          roles: memberRoles,
        });
        expect(await store.tenants.createUser(user)).toBe('created');
        expect(await store.tenants.getUserByEmail(user.email)).toEqual(user);
      }
    });
  });
}

export function loginsContract(name: string, open: Open): void {
  describe(`${name}: logins`, () => {
    const shared = sharedStore(open);

    it('is there until it expires', async () => {
      const { logins } = shared.get();
      const login = aLogin();
      await logins.create(login);
      expect(await logins.get(login.tokenHash, login.expiresAt - 1)).toEqual(login);
      expect(await logins.get(login.tokenHash, login.expiresAt)).toBeNull();
      expect(await logins.get(sha256('unknown'), t0)).toBeNull();
    });

    it('extending moves the expiry and is harmless when the login is gone', async () => {
      const { logins } = shared.get();
      const login = aLogin();
      await logins.create(login);
      await logins.extend(login.tokenHash, login.expiresAt + 5000, t0 + 5000);
      expect(await logins.get(login.tokenHash, login.expiresAt + 4999)).toEqual({
        ...login,
        expiresAt: login.expiresAt + 5000,
        lastSeenAt: t0 + 5000,
      });
      await logins.remove(login.tokenHash);
      await logins.extend(login.tokenHash, login.expiresAt + 9000, t0 + 9000);
      expect(await logins.get(login.tokenHash, t0)).toBeNull();
      await logins.remove(login.tokenHash);
    });

    it("lists a user's logins that go on, the newest first", async () => {
      const { logins } = shared.get();
      const first = aLogin();
      const second = aLogin({
        userId: first.userId,
        createdAt: t0 + 1,
        network: null,
        browser: null,
        method: null,
      });
      const over = aLogin({ userId: first.userId, expiresAt: t0 + 10 });
      for (const login of [first, second, over, aLogin()]) await logins.create(login);
      expect(await logins.listOfUser(first.userId, t0 + 10, 9)).toEqual([second, first]);
      expect(await logins.listOfUser(first.userId, t0 + 10, 1)).toEqual([second]);
      expect(await logins.listOfUser(uuid(), t0, 9)).toEqual([]);
    });

    it("removes a user's logins and no other", async () => {
      const { logins } = shared.get();
      const userId = uuid();
      const [a, b, other] = [aLogin({ userId }), aLogin({ userId }), aLogin()];
      for (const login of [a, b, other]) await logins.create(login);
      await logins.removeOfUser(userId);
      expect(await logins.get(a.tokenHash, t0)).toBeNull();
      expect(await logins.get(b.tokenHash, t0)).toBeNull();
      expect(await logins.get(other.tokenHash, t0)).toEqual(other);
    });

    it('a sweep removes those that expired and says how many', async () => {
      const { logins } = shared.get();
      await logins.removeExpired(t0 - 1_000_000);
      const old = t0 - 10_000_000;
      for (let i = 0; i < 3; i++) await logins.create(aLogin({ expiresAt: old + i }));
      expect(await logins.removeExpired(old + 1)).toBe(2);
      expect(await logins.removeExpired(old + 1)).toBe(0);
      expect(await logins.removeExpired(old + 2)).toBe(1);
    });

    it('knows from which networks a user signed in, and since when', async () => {
      const { logins } = shared.get();
      const [user, other] = [uuid(), uuid()];
      await Promise.all([1, 2, 3].map((n) => logins.signedInFrom(user, '203.0.113.9', t0 + n)));
      await logins.signedInFrom(user, '203.0.113.9', t0 - 50);
      await logins.signedInFrom(other, '2001:db8:0:7::/64', t0);
      expect(await logins.hasSignedInFrom(user, '203.0.113.9', t0 + 3)).toBe(true);
      expect(await logins.hasSignedInFrom(user, '203.0.113.9', t0 + 4)).toBe(false);
      expect(await logins.hasSignedInFrom(user, '2001:db8:0:7::/64', 0)).toBe(false);
      expect(await logins.hasSignedInFrom('', '203.0.113.9', 0)).toBe(false);
      for (const text of hostileTexts) {
        expect(await logins.hasSignedInFrom(user, text, 0)).toBe(false);
        await logins.signedInFrom(user, text, t0);
        expect(await logins.hasSignedInFrom(user, text, t0)).toBe(true);
      }
    });

    it('remembers the newest networks of a user, and forgets old ones', async () => {
      const { logins } = shared.get();
      const [user, other] = [uuid(), uuid()];
      const t1 = t0 + 1000;
      await logins.removeNetworks(t1);
      await logins.signedInFrom(other, '198.51.100.1', t1);
      for (let i = 0; i <= maxNetworks; i++) await logins.signedInFrom(user, `2001:db8:0:${i}::/64`, t1 + i);
      expect(await logins.hasSignedInFrom(user, '2001:db8:0:0::/64', 0)).toBe(false);
      expect(await logins.hasSignedInFrom(user, '2001:db8:0:1::/64', 0)).toBe(true);
      expect(await logins.hasSignedInFrom(other, '198.51.100.1', 0)).toBe(true);
      expect(await logins.removeNetworks(t1 + 3)).toBe(3);
      expect(await logins.hasSignedInFrom(user, '2001:db8:0:2::/64', 0)).toBe(false);
      expect(await logins.hasSignedInFrom(user, '2001:db8:0:3::/64', 0)).toBe(true);
    });

    it('finds nothing by a hostile token', async () => {
      const { logins } = shared.get();
      await logins.create(aLogin());
      for (const text of hostileTexts) expect(await logins.get(text, t0)).toBeNull();
    });
  });
}

export function keysContract(name: string, open: Open): void {
  describe(`${name}: API keys`, () => {
    const shared = sharedStore(open);

    it('lists keys that are not revoked, newest first, of one tenant', async () => {
      const { keys } = shared.get();
      const tenantId = uuid();
      const [first, second, third] = [1, 2, 3].map((n) => aKey({ tenantId, createdAt: t0 + n })) as [
        ReturnType<typeof aKey>,
        ReturnType<typeof aKey>,
        ReturnType<typeof aKey>,
      ];
      for (const key of [second, first, third, aKey()]) await keys.create(key);
      await expect(keys.create({ ...aKey({ tenantId }), id: first.id })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await itemsOf(keys.list(tenantId, firstPage))).toEqual([third, second, first]);
      await keys.revoke(tenantId, second.id, t0 + 9);
      expect(await itemsOf(keys.list(tenantId, firstPage))).toEqual([third, first]);
    });

    it('finds a key by its hash, revoked or not', async () => {
      const { keys } = shared.get();
      const key = aKey({ env: null, label: null, agentPattern: 'team-*', expiresAt: t0 + 7 });
      await keys.create(key);
      expect(await keys.getByHash(key.hash)).toEqual(key);
      await keys.revoke(key.tenantId, key.id, t0 + 5);
      expect(await keys.getByHash(key.hash)).toEqual({ ...key, revokedAt: t0 + 5 });
      for (const text of hostileTexts) expect(await keys.getByHash(text)).toBeNull();
    });

    it('of 20 parallel revocations one does it', async () => {
      const { keys } = shared.get();
      const key = aKey();
      await keys.create(key);
      const answers = await parallel(20, (i) => keys.revoke(key.tenantId, key.id, t0 + i));
      const done = answers.filter((answer) => answer !== null);
      expect(done).toHaveLength(1);
      expect(await keys.getByHash(key.hash)).toEqual(done[0]);
    });

    it('another tenant cannot revoke it', async () => {
      const { keys } = shared.get();
      const key = aKey();
      await keys.create(key);
      expect(await keys.revoke(uuid(), key.id, t0)).toBeNull();
      expect(await keys.revoke(key.tenantId, uuid(), t0)).toBeNull();
      expect(await keys.getByHash(key.hash)).toEqual(key);
    });

    it('records uses and never moves a time backwards', async () => {
      const { keys } = shared.get();
      const [a, b] = [aKey(), aKey()];
      await keys.create(a);
      await keys.create(b);
      await keys.used([
        { id: a.id, at: t0 + 50 },
        { id: b.id, at: t0 + 10 },
        { id: uuid(), at: t0 },
      ]);
      await keys.used([{ id: a.id, at: t0 + 20 }]);
      await keys.used([]);
      expect(await keys.getByHash(a.hash)).toEqual({ ...a, lastUsedAt: t0 + 50 });
      expect(await keys.getByHash(b.hash)).toEqual({ ...b, lastUsedAt: t0 + 10 });
    });
  });
}

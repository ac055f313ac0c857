// Every store's figures of tenants as a whole, and the remains of a removed one: none.
import { describe, expect, it } from 'vitest';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { aBatch } from './events.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aKey,
  aLogin,
  aNote,
  anApproval,
  anEvent,
  aRule,
  aSigningKey,
  aTenant,
  aUser,
  type Open,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

/** A tenant that has one of most things. */
async function filled(store: DocumentStore) {
  const tenant = aTenant();
  const tenantId = tenant.id;
  const admin = aUser({ tenantId });
  const key = aKey({ tenantId });
  const login = aLogin({ tenantId, userId: admin.id, expiresAt: t0 + 1_000_000 });
  expect(await store.tenants.create(tenant, admin, aSigningKey({ tenantId }))).toBe('created');
  await store.logins.create(login);
  await store.logins.signedInFrom(admin.id, '10.0.0.1', t0);
  await store.keys.create(key);
  await store.contracts.create(aContract({ tenantId, contractId: 'limit' }));
  await store.compositions.create(aComposition({ tenantId, name: 'all' }));
  await store.bundles.upload(aBundle({ tenantId, name: 'base' }));
  await store.rules.create(aRule({ tenantId }));
  await store.approvals.request(anApproval({ tenantId }));
  await store.agents.noteSeen(tenantId, 'agent-1', 'production', t0, aKey().id);
  await store.events.ingest(aBatch(tenantId, [anEvent(), anEvent({ payload: { session_id: 's' } })]));
  await store.audit.append([aNote({ tenantId })]);
  const request = { tenantId, id: uuid(), bodyHash: 'hash' };
  await store.idempotency.claim(request, 'id-1', { now: t0, runsUntil: t0 + 1_000, expiresAt: t0 + 2_000 });
  await store.idempotency.answered(request, 'id-1', { status: 201, headers: {}, json: '{}' });
  return { tenant, tenantId, admin, key, login, request };
}

/** Erases as the background job does. @returns how many records went */
async function erase(store: DocumentStore, tenantId: string): Promise<number> {
  let erased = 0;
  while ((await store.events.removeAll(tenantId, 10)) > 0);
  for (let slice = -1; slice !== 0; erased += slice) {
    slice = await store.tenantRecords.removeRecords(tenantId, 3);
    expect(slice).toBeLessThanOrEqual(4);
  }
  return erased;
}

export function tenantRecordsContract(name: string, open: Open): void {
  describe(`${name}: tenants as a whole`, () => {
    const shared = sharedStore(open);

    it('are listed in order of their creation, a page after the other, with their states', async () => {
      const { tenants, tenantRecords } = shared.get();
      const made = [t0 + 1, t0 + 2, t0 + 2].map((createdAt) => aTenant({ createdAt }));
      for (const tenant of made) {
        const { id: tenantId } = tenant;
        await tenants.create(tenant, aUser({ tenantId }), aSigningKey({ tenantId }));
      }
      const listed = [];
      let after = null;
      for (;;) {
        const [next]: readonly { id: string; createdAt: number }[] = await tenantRecords.list(1, after);
        if (!next) break;
        listed.push(next);
        after = next;
      }
      const order = [...listed].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
      expect(listed).toEqual(order);
      const first = made[0]?.id ?? '';
      expect(await tenantRecords.get(first)).toEqual({ ...made[0], suspendedAt: null, removedAt: null });
      expect(await tenantRecords.update(first, { suspendedAt: t0 + 9, name: 'other' })).toEqual({
        ...made[0],
        name: 'other',
        suspendedAt: t0 + 9,
        removedAt: null,
      });
      expect((await tenantRecords.listClosed()).map(({ id }) => id)).toContain(first);
      await tenantRecords.update(first, { suspendedAt: null });
      expect((await tenantRecords.listClosed()).map(({ id }) => id)).not.toContain(first);
      expect(await tenantRecords.update(aTenant().id, { name: 'x' })).toBeNull();
      expect(await tenantRecords.markRemoved(aTenant().id, t0)).toBeNull();
      expect(await tenantRecords.get(aTenant().id)).toBeNull();
    });

    it('tell what they hold', async () => {
      const store = shared.get();
      const { tenantId } = await filled(store);
      const { bytes, ...counts } = await store.tenantRecords.getFigures(tenantId);
      expect(counts).toEqual({ agents: 1, events: 2 });
      expect(bytes).toBeGreaterThan(100);
      expect(await store.tenantRecords.getFigures(aTenant().id)).toEqual({ agents: 0, events: 0, bytes: 0 });
    });

    it('are gone with all they had once they are erased, in slices, and no other has lost anything', async () => {
      const store = shared.get();
      const [gone, stays] = [await filled(store), await filled(store)];
      expect((await store.tenantRecords.markRemoved(gone.tenantId, t0 + 5))?.removedAt).toBe(t0 + 5);
      expect((await store.tenantRecords.markRemoved(gone.tenantId, t0 + 6))?.removedAt).toBe(t0 + 5);
      expect(await store.tenants.listIds()).not.toContain(gone.tenantId);
      expect(await erase(store, gone.tenantId)).toBeGreaterThan(8);
      await store.tenantRecords.remove(gone.tenantId);
      expect(await store.tenantRecords.get(gone.tenantId)).toBeNull();

      const left = async ({ tenantId, admin, key, login, request }: typeof gone) => [
        await store.idempotency.find(request, t0),
        await store.tenants.getUserByEmail(admin.email),
        await store.logins.get(login.tokenHash, t0),
        await store.keys.getByHash(key.hash),
        await store.signing.getActive(tenantId),
        await store.contracts.get(tenantId, 'limit'),
        await store.compositions.get(tenantId, 'all'),
        (await store.rules.list(tenantId))[0] ?? null,
        await store.agents.get(tenantId, 'agent-1'),
        await store.audit.getHead(tenantId),
        await store.bundles.getVersion(tenantId, 'base', 1),
      ];
      expect(await left(gone)).toEqual((await left(gone)).map(() => null));
      expect(await left(stays)).not.toContain(null);
      expect(await store.tenantRecords.getFigures(gone.tenantId)).toEqual({ agents: 0, events: 0, bytes: 0 });
      expect((await store.tenantRecords.getFigures(stays.tenantId)).events).toBe(2);
      // The e-mail address is free again.
      const tenant = aTenant();
      const admin = { ...gone.admin, id: aUser().id, tenantId: tenant.id };
      expect(await store.tenants.create(tenant, admin, aSigningKey({ tenantId: tenant.id }))).toBe('created');
    });
  });
}

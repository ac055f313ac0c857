// Tenants that are made for workspaces of an identity provider.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeHub, type TestHub } from '../harness.ts';

let t: TestHub;
beforeEach(async () => {
  t = await makeHub();
});
afterEach(() => t.close());

const acme = { issuer: 'https://issuer.example', workspaceId: 'acme' };

it('of 20 calls at once one makes it, and it can sign', async () => {
  const { accounts } = t.hub.app;
  const ids = await Promise.all(Array.from({ length: 20 }, () => accounts.provision(acme)));
  expect(new Set(ids).size).toBe(1);
  const [tenantId = ''] = ids;
  expect(await t.hub.store.tenants.listIds()).toEqual([tenantId]);
  expect(await t.hub.store.workspaces.getTenantId(acme)).toBe(tenantId);
  expect(await t.hub.store.signing.getActive(tenantId)).not.toBeNull();
  expect(await accounts.provision({ ...acme, workspaceId: 'other' })).not.toBe(tenantId);
});

it('is the tenant that somebody linked, when that was faster', async () => {
  const { tenantId } = await t.tenant();
  expect(await t.hub.store.workspaces.create(acme, tenantId)).toBe('created');
  expect(await t.hub.app.accounts.provision(acme)).toBe(tenantId);
});

// Tenants and users made by the operator.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeHub, type TestHub } from '../harness.ts';

let t: TestHub;
beforeEach(async () => {
  t = await makeHub();
});
afterEach(() => t.close());

const operator = { kind: 'operator' } as const;
const password = 'correct horse battery';

it('creates a tenant with its admin and signing key, apart from others', async () => {
  const body = { name: 'Two', email: 'Two@Example.com', password };
  const made = await t.call('createTenant', { body }, operator);
  expect(made.status).toBe(201);
  expect(await t.hub.store.signing.active(made.body.tenant_id)).not.toBeNull();
  expect(await t.hub.store.tenants.userByEmail('two@example.com')).toMatchObject({
    id: made.body.user_id,
    tenantId: made.body.tenant_id,
    isAdmin: true,
  });
});

it('refuses an e-mail that any tenant has', async () => {
  const user = await t.tenant('a@example.com');
  const body = { name: 'Two', email: 'A@example.com', password };
  await expect(t.call('createTenant', { body }, operator)).rejects.toMatchObject({ code: 'conflict' });
  const again = { tenant_id: user.tenantId, email: 'a@example.com', password, is_admin: false };
  await expect(t.call('createUser', { body: again }, operator)).rejects.toMatchObject({ code: 'conflict' });
});

it('adds a user to a tenant that exists, and answers 404 for one that does not', async () => {
  const { tenantId } = await t.tenant();
  const body = { tenant_id: tenantId, email: 'b@example.com', password, is_admin: false };
  const made = await t.call('createUser', { body }, operator);
  expect(made.status).toBe(201);
  expect(await t.hub.store.tenants.userById(made.body.user_id)).toMatchObject({ isAdmin: false });
  const elsewhere = { ...body, tenant_id: made.body.user_id, email: 'c@example.com' };
  await expect(t.call('createUser', { body: elsewhere }, operator)).rejects.toMatchObject({
    code: 'not_found',
  });
});

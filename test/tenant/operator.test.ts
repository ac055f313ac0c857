// Tenants and users made by the operator.
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addInstallation } from '../../src/hub/metrics/installation.ts';
import { adminRoles, memberRoles } from '../../src/shared/env-roles.ts';
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
  const answer = await t.call('createTenant', { body }, operator);
  expect(answer.status).toBe(201);
  expect(await t.hub.store.signing.getActive(answer.body.tenant_id)).not.toBeNull();
  expect(await t.hub.store.tenants.getUserByEmail('two@example.com')).toMatchObject({
    id: answer.body.user_id,
    tenantId: answer.body.tenant_id,
    roles: adminRoles,
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
  const answer = await t.call('createUser', { body }, operator);
  expect(answer.status).toBe(201);
  expect(await t.hub.store.tenants.getUser(answer.body.user_id)).toMatchObject({ roles: memberRoles });
  const elsewhere = { ...body, tenant_id: answer.body.user_id, email: 'c@example.com' };
  await expect(t.call('createUser', { body: elsewhere }, operator)).rejects.toMatchObject({
    code: 'not_found',
  });
});

describe('a workspace of an identity provider', () => {
  const link = (tenant_id: string, workspace_id = 'acme') =>
    t.call(
      'linkWorkspace',
      { params: { tenant_id }, body: { issuer: 'https://issuer.example', workspace_id } },
      { kind: 'operator' },
    );

  it('is one tenant, which may be said again, and never another', async () => {
    const [ours, theirs] = [await t.tenant(), await t.tenant()];
    expect(await link(ours.tenantId)).toMatchObject({
      status: 200,
      body: { tenant_id: ours.tenantId, issuer: 'https://issuer.example', workspace_id: 'acme' },
    });
    expect((await link(ours.tenantId)).status).toBe(200);
    expect((await link(ours.tenantId, 'acme-two')).status).toBe(200);
    await expect(link(theirs.tenantId)).rejects.toMatchObject({ code: 'conflict' });
    await expect(link('00000000-0000-4000-8000-000000000000', 'new')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it.each([[''], ['a\nb'], ['x'.repeat(256)]])('is not named %o', async (name) => {
    const { tenantId } = await t.tenant();
    await expect(link(tenantId, name)).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

it('lists dead jobs of each queue in the metrics', async () => {
  const registry = new Registry();
  addInstallation(registry, {
    clock: t.clock,
    isSpeaker: () => true,
    installation: { figures: async () => ({ pendingApprovals: {}, storeBytes: 0, unsignedSince: null }) },
    jobs: { counts: async () => [] },
  });
  const text = await registry.getSingleMetricAsString('reeve_jobs');
  const queues = new Set(Array.from(text.matchAll(/queue="([^"]+)"/g), ([, queue = '']) => queue));
  expect(queues.size).toBeGreaterThan(0);
  for (const queue of queues)
    expect(await t.call('listDeadJobs', { query: { queue } }, operator)).toMatchObject({ status: 200 });
});

it('lists dead jobs with their error, and runs one again', async () => {
  const job = { id: 'job-1', queue: 'purge', payload: {}, runAt: 0, maxAttempts: 1 };
  let runs = 0;
  t.jobs.work('purge', async () => {
    if (++runs === 1) throw new Error('the disk was away');
  });
  await t.hub.jobs.add(job);
  const list = () => t.call('listDeadJobs', { query: { queue: 'purge' } }, operator);
  await vi.waitFor(async () =>
    expect((await list()).body.jobs).toMatchObject([
      { id: 'job-1', failures: 1, error: 'the disk was away' },
    ]),
  );
  const again = { body: { queue: 'purge', id: 'job-1' } };
  expect(await t.call('retryDeadJob', again, operator)).toMatchObject({ status: 202 });
  await vi.waitFor(() => expect(runs).toBe(2));
  expect((await list()).body.jobs).toEqual([]);
  await expect(t.call('retryDeadJob', again, operator)).rejects.toMatchObject({ code: 'not_found' });
});

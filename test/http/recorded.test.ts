// People's acts are in the audit chain: one entry for each change, none for a refusal.
import { expect, it } from 'vitest';
import { auditSubjects } from '../../src/audit/record/subjects.ts';
import { entriesOf } from '../../src/audit/record.ts';
import { eventGrammar } from '../../src/event/rules/query/fields.ts';
import { principalOf } from '../../src/http/contract/principal.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { apiFamilies } from '../../src/hub/api/families.ts';
import { definition } from '../contract/library.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

const isAuditSubject = (word: string | undefined): boolean =>
  auditSubjects.some((subject) => subject === word);

/** Actions and subjects of a tenant's entries, oldest first. */
async function recorded({ hub }: TestHub, { tenantId }: UserCaller): Promise<string[]> {
  const links = await hub.store.audit.listLinks(tenantId, 1, 10_000, 1 << 24);
  return links
    .flatMap(({ body }) => entriesOf(body))
    .map((entry) => `${entry.action_type} ${(entry.subject as { name: string | null }).name}`);
}

const contract = { contract_id: 'limit', name: 'Limit', type: 'pre', definition: definition() };
const rule = { priority: 5, pattern: 'mail-*', bundle_name: 'base', env: 'production' } as const;

it('records changes of the library, of rules and of settings, and no refusal', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  await t.call('createContract', { body: contract }, admin);
  await expect(t.call('createContract', { body: contract }, admin)).rejects.toThrow();
  await t.call('updateContract', { params: { contract_id: 'limit' }, body: { name: 'Other' } }, admin);
  await t.call(
    'createComposition',
    { body: { name: 'all', contracts: [{ contract_id: 'limit', position: 10 }] } },
    admin,
  );
  await expect(t.call('deleteContract', { params: { contract_id: 'limit' } }, admin)).rejects.toThrow();
  await t.call('deleteComposition', { params: { name: 'all' } }, admin);
  await t.call('deleteContract', { params: { contract_id: 'limit' } }, admin);
  const { id } = (await t.call('createRule', { body: rule }, admin)).body;
  await t.call('updateRule', { params: { rule_id: id }, body: { priority: 6 } }, admin);
  await t.call('deleteRule', { params: { rule_id: id } }, admin);
  await expect(t.call('deleteRule', { params: { rule_id: id } }, admin)).rejects.toThrow();
  expect(await recorded(t, admin)).toEqual([
    'user.created ann@example.com',
    'contract.created limit',
    'contract.updated limit',
    'composition.created all',
    'composition.deleted all',
    'contract.deleted limit',
    'assignment_rule.created mail-*',
    'assignment_rule.updated mail-*',
    'assignment_rule.deleted mail-*',
  ]);
  await t.close();
});

it('records logins, and the wrong passwords of an account once a minute, with their number', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const login = (password: string) =>
    t.call('login', { body: { email: 'ann@example.com', password } }, { kind: 'none' });
  for (let i = 0; i < 3; i++) await expect(login('wrong')).rejects.toThrow();
  await login('correct horse battery');
  t.clock.advance(61_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await recorded(t, admin)).toEqual([
    'user.created ann@example.com',
    'login.created ann@example.com',
    'login.failed ann@example.com',
  ]);
  const links = await t.hub.store.audit.listLinks(admin.tenantId, 3, 3, 1 << 20);
  expect(links.flatMap(({ body }) => entriesOf(body))[0]?.details).toEqual({ count: 3 });
  await t.close();
});

it('records the wrong passwords of the last minute when the hub stops', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const body = { email: 'ann@example.com', password: 'wrong' };
  for (let i = 0; i < 2; i++) await expect(t.call('login', { body }, { kind: 'none' })).rejects.toThrow();
  await t.hub.app.logins.close();
  expect(await recorded(t, admin)).toContain('login.failed ann@example.com');
  t.clock.advance(61_000);
  await t.hub.app.logins.close();
  expect((await recorded(t, admin)).filter((entry) => entry.startsWith('login.failed'))).toHaveLength(1);
  await t.close();
});

it('records what becomes of people', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const body = { email: 'bob@example.com', password: 'correct horse battery', is_admin: false };
  const { user_id } = (await t.call('addUser', { body }, admin)).body;
  await t.call('updateUser', { params: { user_id }, body: { is_admin: true } }, admin);
  await t.call('removeUser', { params: { user_id } }, admin);
  await expect(t.call('removeUser', { params: { user_id: admin.userId } }, admin)).rejects.toThrow();
  expect((await recorded(t, admin)).map((text) => text.split(' ')[0])).toEqual([
    'user.created',
    'user.created',
    'user.made_admin',
    'user.removed',
  ]);
  await t.close();
});

it('records a removal of old events, and none that only counts', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const purge = (query: { [name: string]: string }) => t.call('purgeEvents', { query }, admin);
  await purge({ older_than_days: '30', dry_run: 'true' });
  await purge({ older_than_days: '30' });
  expect(await recorded(t, admin)).toEqual(['user.created ann@example.com', 'setting.events_removed events']);
  const links = await t.hub.store.audit.listLinks(admin.tenantId, 2, 2, 1 << 20);
  const cutoff = new Date(t.clock.now() - 30 * 24 * 3_600_000).toISOString();
  expect(links.flatMap(({ body }) => entriesOf(body))).toMatchObject([
    { actor: { display: 'ann@example.com' }, details: { older_than_days: 30, cutoff } },
  ]);
  await t.close();
});

it('records an export of events before its first byte', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const principal = {
    tenantId: admin.tenantId,
    env: null,
    roles: new Set(['viewer'] as const),
    envRoles: null,
    actor: { kind: 'user', id: admin.userId, email: 'ann@example.com' },
    agentId: null,
    agentPattern: null,
  } as const;
  const running = t.hub.app.eventExports.start(principal, { env: null, agentId: 'a1' });
  for await (const page of running.pages) {
    expect(page).toEqual([]);
    expect((await recorded(t, admin)).at(-1)).toBe('user.exported_events ann@example.com');
  }
  running.end();
  await t.close();
});

it('records the filter of an export as it was asked for, without what searches add to it', async () => {
  const t = await makeHub();
  const admin = await t.tenant('ann@example.com');
  const principal = principalOf(admin);
  const query = await t.hub.app.eventSearches.read(principal, 'agent:a1 call:c1', eventGrammar);
  const running = t.hub.app.eventExports.start(principal, { env: null, query });
  for await (const page of running.pages) expect(page).toEqual([]);
  running.end();
  const links = await t.hub.store.audit.listLinks(admin.tenantId, 2, 2, 1 << 20);
  const [entry] = links.flatMap(({ body }) => entriesOf(body));
  expect(entry).toMatchObject({
    action_type: 'user.exported_events',
    details: { query: 'agent:a1 call:c1' },
  });
  expect(entry?.details).not.toHaveProperty('agent_id');
  expect(entry?.details).not.toHaveProperty('call_id');
  await t.close();
});

it('is declared by every route that changes something, with its actions or the reason why there are none', () => {
  const routes = apiFamilies.flatMap((family) => Object.entries(family.routes));
  const isDeclared = ({ audit }: RouteDeclaration): boolean => audit !== undefined && audit.length > 0;
  const changes = ({ method, reads }: RouteDeclaration): boolean => method !== 'GET' && reads !== true;
  const wrong = routes.filter(([, route]) => changes(route) !== isDeclared(route)).map(([name]) => name);
  expect(wrong).toEqual([]);
  const actions = routes.flatMap(([, { audit = [] }]) => (typeof audit === 'string' ? [] : audit));
  expect(actions.filter((action) => !isAuditSubject(action.split('.')[0]))).toEqual([]);
});

// Pending approvals that are alike: groups, sums of amounts, what differs, and the members of a group.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ApprovalStore } from '../../src/approval/port.ts';
import { amountOf } from '../../src/approval/rules/amounts.ts';
import { createApprovalGroups } from '../../src/approval/use-cases/groups.ts';
import type { Principal } from '../../src/shared/principal.ts';
import { anApproval, sha256 } from '../conformance/fixtures.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user);
});
afterEach(() => t.close());

const request = async (tool_name: string, tool_args: object, by = key) => {
  const body = { tool_name, tool_args, message: 'ok?', contract_name: `ask-${tool_name}` };
  return (await t.call('createApproval', { body }, by)).body;
};
const groups = async (query = {}, as = user) => (await t.call('approvalGroups', { query }, as)).body.groups;

it('count by tool, contracts and environment; single ones are not listed', async () => {
  const first = await request('refund', { amount: 10.1, currency: 'EUR', order: 1 });
  await t.clock.advance(1_000);
  const second = await request(
    'refund',
    { amount: 20.2, currency: 'eur', order: 2 },
    t.key(user, 'production', 'other'),
  );
  await t.clock.advance(1_000);
  await request('refund', { amount: 5, currency: 'USD', order: 3 });
  await request('shell', { command: 'ls' });
  const staging = t.key(user, 'staging');
  await request('refund', { amount: 1 }, staging);
  const [group, ...rest] = await groups();
  expect(rest).toEqual([]);
  expect(group).toMatchObject({
    tool_name: 'refund',
    contract_names: ['ask-refund'],
    env: 'production',
    count: 3,
    first_expires_at: first.expires_at,
    amounts: [
      { currency: 'EUR', sum: 30.3, min: 10.1, max: 20.2 },
      { currency: 'USD', sum: 5 },
    ],
    differing: ['agent', 'args.amount', 'args.currency', 'args.order'],
  });
  expect(group?.ids.slice(0, 2)).toEqual([first.id, second.id]);
  const members = await t.call('listApprovals', { query: { group: String(group?.key) } }, user);
  expect(members.body.map(({ id }) => id)).toEqual(group?.ids);
  await t.call('decideApproval', { params: { approval_id: first.id }, body: { approved: true } }, user);
  expect((await groups())[0]?.count).toBe(2);
  await t.clock.advance(400_000);
  expect(await groups()).toEqual([]);
});

it('name differing paths and amounts of arguments that are kept apart', async () => {
  const note = 'x'.repeat(5_000);
  for (const amount of [40, 2]) await request('refund', { note, payment: { amount, currency: 'EUR' } });
  expect((await groups())[0]).toMatchObject({
    amounts: [{ currency: 'EUR', sum: 42, min: 2, max: 40 }],
    differing: ['args.payment.amount'],
  });
});

it('come page by page, whatever became of the last group of the page before', async () => {
  const asked: string[] = [];
  for (let i = 0; i < 103; i++) {
    await t.clock.advance(1);
    const agent = t.key(user, 'production', `agent-${i}`);
    for (let call = 0; call < 2; call++) asked.push((await request(`tool_${i}`, { call }, agent)).id);
  }
  const first = (await t.call('approvalGroups', { query: {} }, user)).body;
  const names = first.groups.map(({ tool_name }) => tool_name);
  expect(names).toEqual(Array.from({ length: 100 }, (_, i) => `tool_${i}`));
  // The last group of the page is gone.
  for (const approval_id of asked.slice(198, 200))
    await t.call('decideApproval', { params: { approval_id }, body: { approved: true } }, user);
  const cursor = String(first.next_cursor);
  const second = (await t.call('approvalGroups', { query: { cursor } }, user)).body;
  expect(second.groups.map(({ tool_name }) => tool_name)).toEqual(['tool_100', 'tool_101', 'tool_102']);
  expect(second.next_cursor).toBeNull();
});

it('have their members page by page, within an environment', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    await t.clock.advance(1_000);
    ids.push((await request('refund', { amount: i })).id);
    await request('other', { amount: i });
  }
  const group = String((await groups()).find(({ tool_name }) => tool_name === 'refund')?.key);
  const page = async (query: object) => {
    const { body, headers } = await t.call('listApprovals', { query: { group, ...query } }, user);
    return { ids: body.map(({ id }) => id), cursor: headers['X-Next-Cursor'] };
  };
  const first = await page({ limit: 2 });
  expect(first.ids).toEqual(ids.slice(0, 2));
  const params = { approval_id: String(ids[1]) };
  await t.call('decideApproval', { params, body: { approved: false } }, user);
  const second = await page({ limit: 2, cursor: first.cursor });
  expect(second.ids).toEqual(ids.slice(2, 4));
  expect(await page({ limit: 2, cursor: second.cursor })).toEqual({ ids: ids.slice(4), cursor: undefined });
  expect((await page({ env: 'production' })).ids).toHaveLength(4);
  expect((await page({ env: 'staging' })).ids).toEqual([]);
});

it('leave out environments without a role', async () => {
  await request('refund', { amount: 1 });
  await request('refund', { amount: 2 });
  const [group] = await groups();
  const stranger: UserCaller = { ...user, roles: [{ role: 'admin', env: 'staging' }] };
  expect(await groups({}, stranger)).toEqual([]);
  expect((await t.call('listApprovals', { query: { group: String(group?.key) } }, stranger)).body).toEqual(
    [],
  );
});

it.each([
  [{ amount: 5 }, { value: 5, currency: null }],
  [{ payment: { total: '12.50', currency: 'chf' } }, { value: 12.5, currency: 'CHF' }],
  [
    { currency: 'EUR', lines: { price: 3 } },
    { value: 3, currency: 'EUR' },
  ],
  [
    { amount_cents: 1_050, currency_code: 'EUR' },
    { value: 10.5, currency: 'EUR' },
  ],
  [{ order: { fee_minor: 300, currency: 'JPY' } }, { value: 300, currency: 'JPY' }],
  [
    { refund: '7.5', currency: 'EUR', total: 8 },
    { value: 8, currency: 'EUR' },
  ],
  [
    { refund: '7.5', currency: 'EUR' },
    { value: 7.5, currency: 'EUR' },
  ],
  [{ refund: 7 }, null],
  [{ value: 3 }, null],
  [{ amount: 'all' }, null],
  [null, null],
])('the amount of %j', (args, amount) => {
  expect(amountOf(args)).toEqual(amount);
});

it('count on over pages of the store that end early, at their bytes', async () => {
  const pending = Array.from({ length: 4_000 }, () => anApproval({ toolName: 'refund', status: 'pending' }));
  const pageSize = 300;
  const listPending: ApprovalStore['listPending'] = async (_tenant, _filter, { after }) => {
    const start = after === undefined ? 0 : pending.findIndex(({ id }) => id === after.id) + 1;
    return { items: pending.slice(start, start + pageSize), more: start + pageSize < pending.length };
  };
  const ports = {
    store: { approvals: { listPending } },
    clock: { now: () => 0, monotonic: () => 0 },
    secrets: { sha256 },
  };
  const viewer = { tenantId: 't', env: null, roles: new Set(['viewer']), envRoles: null };
  const { list: listGroups } = createApprovalGroups(
    ports as unknown as Parameters<typeof createApprovalGroups>[0],
  );
  const listing = await listGroups(viewer as unknown as Principal, null, null);
  expect(listing.groups.map(({ count }) => count)).toEqual([4_000]);
});

it('count members behind the 10,000 that are listed', async () => {
  const { approvals } = t.hub.store;
  const { tenantId } = user;
  const pay = { tenantId, toolName: 'pay', contractName: null, timeoutSeconds: 60 };
  const requests = [
    anApproval({ ...pay, contracts: [{ name: 'a', message: 'one' }] }),
    ...Array.from({ length: 10_020 }, (_, i) =>
      anApproval({ ...pay, contracts: [{ name: 'b', message: `${i}` }], timeoutSeconds: 70 }),
    ),
    anApproval({ ...pay, contracts: [{ name: 'a', message: 'two' }], timeoutSeconds: 80 }),
    anApproval({ ...pay, contracts: [{ name: 'late', message: 'm' }], timeoutSeconds: 80 }),
    anApproval({ ...pay, contracts: [{ name: 'late', message: 'm' }], timeoutSeconds: 80 }),
  ];
  for (const one of requests) await approvals.request(one);
  const listed = (await groups()).map(({ contract_names: names, count, ids }) => [names, count, ids.length]);
  expect(listed).toEqual([
    [['a'], 2, 1],
    [['b'], 10_020, 200],
  ]);
});

it('stop reading arguments that are kept apart once their time is over', async () => {
  const pending = Array.from({ length: 100 }, () =>
    anApproval({ toolName: 'refund', status: 'pending', toolArgs: null, argsBytes: 5_000 }),
  );
  let elapsed = 0;
  let reads = 0;
  const ports = {
    store: {
      approvals: {
        listPending: async () => ({ items: pending, more: false }),
        getWhole: async (_tenant: string, id: string) => {
          reads++;
          elapsed += 100;
          return anApproval({ id, toolArgs: { amount: 1, currency: 'EUR' } });
        },
      },
    },
    clock: { now: () => 0, monotonic: () => elapsed },
    secrets: { sha256 },
  };
  const viewer = { tenantId: 't', env: null, roles: new Set(['viewer']), envRoles: null };
  const listing = await createApprovalGroups(
    ports as unknown as Parameters<typeof createApprovalGroups>[0],
  ).list(viewer as unknown as Principal, null, null);
  expect(reads).toBe(11);
  expect(listing.groups).toMatchObject([{ count: 100, amounts: [{ currency: 'EUR', sum: 11 }] }]);
  expect(listing.groups[0]?.ids).toHaveLength(100);
});

it('make one number format for all amounts of a currency', () => {
  const formats = vi.spyOn(Intl.NumberFormat.prototype, 'resolvedOptions');
  for (let i = 0; i < 20; i++)
    expect(amountOf({ amount_cents: 100 * i, currency: 'KWD' })?.value).toBe(i / 10);
  expect(formats.mock.calls.length).toBe(1);
  formats.mockRestore();
});

// Pending approvals that are alike: groups, sums of amounts, what differs, and the members of a group.
import { afterEach, beforeEach, expect, it } from 'vitest';
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
  [{ value: 3 }, null],
  [{ amount: 'all' }, null],
  [null, null],
])('the amount of %j', (args, amount) => {
  expect(amountOf(args)).toEqual(amount);
});

it('count on over pages of the store that end early, at their bytes', async () => {
  const pending = Array.from({ length: 4_000 }, () => anApproval({ toolName: 'refund', status: 'pending' }));
  const pageSize = 300;
  const list: ApprovalStore['list'] = async (_tenant, _filter, { after }) => {
    const start = after === undefined ? 0 : pending.findIndex(({ id }) => id === after.id) + 1;
    return { items: pending.slice(start, start + pageSize), more: start + pageSize < pending.length };
  };
  const ports = { store: { approvals: { list } }, clock: { now: () => 0 }, secrets: { sha256 } };
  const viewer = { tenantId: 't', env: null, roles: new Set(['viewer']), envRoles: null };
  const { list: listGroups } = createApprovalGroups(
    ports as unknown as Parameters<typeof createApprovalGroups>[0],
  );
  const listing = await listGroups(viewer as unknown as Principal, null, null);
  expect(listing.groups.map(({ count }) => count)).toEqual([4_000]);
});

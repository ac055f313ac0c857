// Things by name: which match, in which order, and who finds which.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bestMatches, nameSearch, type Thing } from '../../src/search/rules.ts';
import { deploy } from '../deployment/deploy.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

describe('names', () => {
  const things: readonly Thing[] = ['refund-limits', 'no-refund', 'Refund', 'prefund', 'İrefund'].map(
    (name) => ({
      type: 'contract',
      id: name,
      name,
      hint: 'über Grenzen',
    }),
  );
  const names = (text: string) => {
    const search = nameSearch(text);
    return search && bestMatches(things, search, 20).map(({ name }) => name);
  };

  it('match by the beginning of each word, in any case: whole names first', () => {
    expect(names('refund')).toEqual(['Refund', 'refund-limits', 'no-refund']);
    expect(names('lim ref')).toEqual(['refund-limits']);
    expect(names('efund')).toEqual([]);
    expect(names('refund GREN')).toEqual(['Refund', 'no-refund', 'refund-limits']);
    expect(names('ÜBER')).toHaveLength(5);
  });

  it('need a letter or a digit', () => {
    for (const text of ['', ' ', '-', '*', '()', '\u0301 .'].slice(0, 5)) expect(names(text)).toBeNull();
  });
});

let t: TestHub;
let user: UserCaller;
beforeAll(async () => {
  t = await makeHub();
  user = await t.tenant('ada@example.com');
});
afterAll(() => t.close());

const find = async (q: string, as = user) =>
  (await t.call('searchThings', { query: { q } }, as)).body.results;
const found = async (q: string, as = user) => (await find(q, as)).map(({ type, name }) => [type, name]);

it('finds agents, documents, contracts, channels, keys and people, each for those who may list them', async () => {
  const key = t.key(user);
  const event = { agent_id: 'checkout-010', tool_name: 'x', verdict: 'call_allowed' };
  await t.call('ingestEvents', { body: { events: [event] } }, { ...key, agentId: 'checkout-010' });
  await deploy(t, user, 'checkout', '1');
  const definition = {
    type: 'pre',
    tool: 'x',
    when: { 'args.a': { exists: true } },
    then: { effect: 'deny', message: 'm' },
  };
  const contract = { contract_id: 'checkout-limits', name: 'Limits', type: 'pre', definition };
  await t.call('createContract', { body: contract }, user);
  await t.call('createKey', { body: { env: 'production', label: 'checkout ci' } }, user);
  expect(await found('check')).toEqual([
    ['agent', 'checkout-010'],
    ['bundle', 'checkout'],
    ['key', 'checkout ci'],
    ['contract', 'Limits'],
  ]);
  expect(await found('ada')).toEqual([['person', 'ada@example.com']]);
  const viewer: UserCaller = { ...user, roles: [{ role: 'viewer', env: '*' }] };
  expect(await found('ada', viewer)).toEqual([]);
  expect(await found('check ci', viewer)).toEqual([]);
  const elsewhere: UserCaller = { ...user, roles: [{ role: 'operator', env: 'staging' }] };
  expect(await found('checkout-010', elsewhere)).toEqual([]);
  expect(await found('check', await t.tenant('bo@example.com'))).toEqual([]);
});

it('finds no people and no service accounts for a service account, even for one with the role admin', async () => {
  const roles = [{ role: 'viewer', env: '*' }];
  await t.call('createServiceAccount', { body: { name: 'pipeline', roles } }, user);
  const account: UserCaller = { ...user, service: { tokenId: 'token', expiresAt: Number.MAX_SAFE_INTEGER } };
  expect(await found('pipeline')).toEqual([['service_account', 'pipeline']]);
  expect(await found('pipeline', account)).toEqual([]);
  expect(await found('ada', account)).toEqual([]);
  expect(await found('checkout ci', account)).toEqual([['key', 'checkout ci']]);
});

it('finds an agent by its id, or by its beginning, among more of one prefix than are compared', async () => {
  const fleet = await t.tenant('fleet@example.com');
  const key = t.key(fleet);
  for (const from of [0, 250]) {
    const events = Array.from({ length: 250 }, (_, i) => ({
      call_id: `c${from + i}`,
      agent_id: `worker-${String(from + i).padStart(4, '0')}`,
      tool_name: 'x',
      verdict: 'call_allowed',
    }));
    await t.call('ingestEvents', { body: { events } }, { ...key, agentId: 'worker-0000' });
  }
  expect(await found('worker-0444', fleet)).toEqual([['agent', 'worker-0444']]);
  expect((await found('worker-044', fleet)).map(([, name]) => name)).toEqual(
    Array.from({ length: 10 }, (_, i) => `worker-044${i}`),
  );
  const elsewhere: UserCaller = { ...fleet, roles: [{ role: 'admin', env: 'staging' }] };
  expect(await found('worker-0444', elsewhere)).toEqual([]);
  const event = { agent_id: 'worker-zebra', tool_name: 'x', verdict: 'call_allowed' };
  const stagingKey = { ...t.key(fleet, 'staging'), agentId: 'worker-zebra' };
  await t.call('ingestEvents', { body: { events: [event] } }, stagingKey);
  // The 500 that the person does not see come first.
  expect(await found('work', elsewhere)).toEqual([['agent', 'worker-zebra']]);
});

it('finds records by their ids, in the environments that the person sees', async () => {
  const key = t.key(user);
  const ask = { tool_name: 'refund', message: 'm' };
  const { body: approval } = await t.call('createApproval', { body: ask }, key);
  const event = { call_id: 'call-77', agent_id: 'a', tool_name: 'pay', verdict: 'call_allowed' };
  await t.call(
    'ingestEvents',
    { body: { events: [{ ...event, payload: { session_id: 'night-run' } }] } },
    key,
  );
  const deployment = await deploy(t, user, 'night', '1');
  const [byCall] = await find('call-77');
  expect(byCall).toMatchObject({ type: 'event', name: 'call-77', hint: 'pay a' });
  expect(await find(byCall?.id ?? '')).toMatchObject([{ type: 'event', id: byCall?.id, name: 'pay' }]);
  expect(await find(approval.id.toUpperCase())).toMatchObject([{ type: 'approval', id: approval.id }]);
  expect(await find(deployment.id)).toMatchObject([{ type: 'deployment', name: 'night v1' }]);
  expect((await find('night-run'))[0]).toEqual({
    type: 'run',
    id: 'a/night-run',
    name: 'night-run',
    hint: 'a',
  });
  const elsewhere: UserCaller = { ...user, roles: [{ role: 'admin', env: 'staging' }] };
  for (const id of [approval.id, deployment.id, byCall?.id ?? '', 'call-77', 'night-run'])
    expect((await find(id, elsewhere)).filter(({ type }) => type !== 'bundle')).toEqual([]);
});

it('gives a moment to calls that no index contains, because each text may be the id of one', async () => {
  const search = vi.spyOn(t.hub.store.events, 'search');
  await find('refund');
  const budgets = search.mock.calls
    .filter(([, { isStoredCallId }]) => !isStoredCallId)
    .map(([, , , , , budgetMs]) => budgetMs ?? Number.POSITIVE_INFINITY);
  search.mockRestore();
  expect(budgets.length).toBeGreaterThan(0);
  expect(Math.max(...budgets)).toBeLessThanOrEqual(50);
});

it.each(['', 'x'.repeat(201), 'a\u0000b'])('refuses %j', async (q) => {
  await expect(find(q)).rejects.toMatchObject({ code: 'validation_failed' });
});

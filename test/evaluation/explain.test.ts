// The explanation of a stored call: recorded conditions win, a cut or redacted value is never "met", and the version
// that runs now judges the same call.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeAll(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterAll(async () => {
  await t.close();
});

const yamlOf = (name: string, limit: number, extra = '') => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${name}}
defaults: {mode: enforce}
contracts:
  - id: large-refund
    type: pre
    tool: refund
    # Above the desk's limit.
    when:
      all:
        - args.amount: {gt: ${limit}}
        - any:
            - args.password: {exists: true}
            - principal.role: {not_equals: lead}
    then: {effect: deny, message: "too much"}
${extra}`;

/** Saves and deploys a version, and returns its hash. */
async function deploy(name: string, yaml_content: string): Promise<string> {
  const { body } = await t.call('uploadBundle', { body: { yaml_content } }, user);
  const params = { name, version: String(body.version) };
  await t.call('deployBundle', { params, body: { env: 'production' } }, user);
  return body.revision_hash;
}

const event = { agent_id: 'agent-1', tool_name: 'refund', verdict: 'call_denied', mode: 'enforce' };
let calls = 0;
async function denied(payload: object, more: object = {}): Promise<string> {
  const call_id = `c${++calls}`;
  const sentEvent = {
    ...event,
    call_id,
    timestamp: new Date(t.clock.now()).toISOString(),
    payload: { decision_name: 'large-refund', principal: { role: 'clerk' }, ...payload },
    ...more,
  };
  await t.call('ingestEvents', { body: { events: [sentEvent] } }, t.key(user));
  const { body } = await t.call('searchEvents', { query: { call_id } }, user);
  return body[0]?.id ?? '';
}

const explain = async (event_id: string, query = {}, as = user) =>
  (await t.call('explainEvent', { params: { event_id }, query }, as)).body;

it('evaluates the document of the time on the stored call, with lines and values, and the same call now', async () => {
  const policy_version = await deploy('desk', yamlOf('desk', 500));
  await t.clock.advance(1_000);
  const id = await denied({ policy_version, tool_args: { amount: 700, password: 'hunter2' } });
  const first = await explain(id);
  expect(first).toMatchObject({
    source: 'recomputed',
    reason: null,
    bundle: { name: 'desk', version: 1, by: user.email },
    contract: { id: 'large-refund', first_line: 6 },
    conditions: [
      { path: 'args.amount', operator: 'gt', expected: 500, actual: 700, line: 12, result: 'yes' },
      { path: 'args.password', operator: 'exists', line: 14, actual: '[REDACTED]', result: 'yes' },
      { path: 'principal.role', line: 15, result: 'skipped' },
    ],
    uncertain: [],
    now: { version: 1, same_text: true, verdict: 'denied' },
    similar: { q: 'tool:refund contract:large-refund verdict:denied', count: 1 },
  });
  expect(first.contract?.yaml).toMatch(/^- id: large-refund\n {2}type: pre\n[\s\S]*too much"\}$/);
  await t.clock.advance(1_000);
  await deploy('desk', yamlOf('desk', 1_000));
  expect(await explain(id)).toMatchObject({
    bundle: { version: 1, deployment_id: first.bundle?.deployment_id },
    now: { version: 2, same_text: false, verdict: 'allowed' },
  });
});

it('never calls a condition met whose value was redacted or cut; each of the others is evaluated alone', async () => {
  const policy_version = await deploy('cut', yamlOf('cut', 500));
  const id = await denied({ policy_version, tool_args: { amount: '[REDACTED]' } });
  const { conditions, uncertain, source, now } = await explain(id);
  expect([source, uncertain, now?.verdict]).toEqual(['recomputed', ['args.amount'], null]);
  expect(conditions.map(({ result }) => result)).toEqual(['uncertain', 'no', 'yes']);
});

it('never calls a condition met whose number the hub stored as text', async () => {
  const policy_version = await deploy('long', yamlOf('long', 500));
  const call_id = 'long-number';
  const payload = {
    decision_name: 'large-refund',
    policy_version,
    principal: null,
    tool_args: { amount: 0 },
  };
  const batch = {
    events: [{ ...event, call_id, timestamp: new Date(t.clock.now()).toISOString(), payload }],
  };
  // A value in JavaScript cannot hold the number.
  const text = JSON.stringify(batch).replace('"amount":0', '"amount":12345678901234567890');
  await t.call('ingestEvents', { body: Buffer.from(text) }, t.key(user));
  const { body } = await t.call('searchEvents', { query: { call_id } }, user);
  const { conditions, uncertain, now } = await explain(body[0]?.id ?? '');
  expect([uncertain, now?.verdict]).toEqual([['args.amount'], null]);
  expect(conditions[0]).toMatchObject({ actual: '12345678901234567890', result: 'uncertain' });
});

it('prefers the conditions that the agent recorded, and finds their lines', async () => {
  const policy_version = await deploy('recorded', yamlOf('recorded', 500));
  const recorded = { path: 'args.amount', operator: 'gt', expected: 500, actual: 501, result: 'yes' };
  const id = await denied({ policy_version, tool_args: { amount: 700 }, conditions: [recorded] });
  expect(await explain(id)).toMatchObject({ source: 'recorded', conditions: [{ ...recorded, line: 12 }] });
  const unknown = await denied({ policy_version: 'f'.repeat(64), conditions: [recorded] });
  expect(await explain(unknown)).toMatchObject({
    source: 'recorded',
    bundle: null,
    contract: null,
    conditions: [{ ...recorded, line: null }],
    now: null,
  });
});

it('says why nothing can be explained', async () => {
  const unknown = await explain(await denied({ policy_version: 'e'.repeat(64) }));
  expect(unknown).toMatchObject({ source: 'unavailable', conditions: [], now: null });
  expect(unknown.reason).toContain('does not have the document');
  const allowed = await explain(await denied({ decision_name: undefined }, { verdict: 'call_allowed' }));
  expect(allowed.reason).toBe('No contract decided this call.');
  const policy_version = await deploy('absent', yamlOf('absent', 1));
  const limited = await explain(await denied({ policy_version, decision_name: 'max_tool_calls' }));
  expect(limited).toMatchObject({ bundle: { name: 'absent' }, contract: null });
  expect(limited.reason).toContain("has no contract 'max_tool_calls'");
});

it('evaluates sandboxes, and leaves counters of sessions uncertain', async () => {
  const extra = `  - {id: inside, type: sandbox, tools: [read], within: [/srv], outside: deny, message: m}
  - id: often
    type: session
    limits: {max_tool_calls: 5}
    then: {effect: deny, message: m}
`;
  const policy_version = await deploy('more', yamlOf('more', 1, extra));
  const outside = { policy_version, decision_name: 'inside', tool_args: { path: '/etc/passwd' } };
  const sandbox = await explain(await denied(outside, { tool_name: 'read' }));
  expect(sandbox).toMatchObject({
    contract: { first_line: 17 },
    conditions: [{ path: 'args', operator: 'within', expected: ['/srv'], line: 17, result: 'no' }],
  });
  const session = await explain(await denied({ policy_version, decision_name: 'often', tool_args: {} }));
  expect(session).toMatchObject({
    conditions: [{ path: 'limits.max_tool_calls', expected: 5, actual: null, line: 20, result: 'uncertain' }],
    uncertain: ['limits.max_tool_calls'],
  });
});

it('counts similar calls in the range and the environments that the person sees; other events are not found', async () => {
  const id = await denied({ decision_name: 'rare', tool_args: {} });
  await t.clock.advance(10_000);
  await denied({ decision_name: 'rare', tool_args: {} });
  const until = new Date(t.clock.now() - 5_000).toISOString();
  expect((await explain(id)).similar.count).toBe(2);
  expect((await explain(id, { until })).similar.count).toBe(1);
  expect((await explain(id, { env: 'staging' })).similar.count).toBe(0);
  await expect(explain(id, { since: until, until })).rejects.toMatchObject({ code: 'validation_failed' });
  const elsewhere = { ...user, roles: [{ role: 'viewer', env: 'staging' }] as const };
  await expect(explain(id, {}, elsewhere)).rejects.toMatchObject({ code: 'not_found' });
  const other = await t.tenant('other@example.com');
  await expect(explain(id, {}, other)).rejects.toMatchObject({ code: 'not_found' });
});

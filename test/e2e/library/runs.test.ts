// One conversation of an agent that uses the library, against the real hub: each call counts once in its run, and the
// events, the run, the decision bundle and the figures of the console agree.
import { Guard, HubClient } from 'reeve-agent';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SharedHub } from '../shared-hub.ts';
import { Setting } from './setting.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "{args.path} holds secrets" }
  - id: watch-shell
    type: pre
    mode: observe
    tool: shell
    when: { args.command: { contains: "rm -rf" } }
    then: { effect: deny, message: "a command that removes files" }
  - id: ask-deploy
    type: pre
    tool: deploy
    when: { args.target: { exists: true } }
    then: { effect: approve, message: "deploy to {args.target}?", timeout: 60 }
  - id: one-deploy
    type: session
    limits: { max_calls_per_tool: { deploy: 1 } }
    then: { effect: deny, message: "one deployment a conversation" }
`;

const setting = new Setting(new SharedHub());
beforeAll(async () => {
  await setting.open();
  await setting.deploy(yaml);
});
afterEach(() => setting.clear());
afterAll(() => setting.close());

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any;
const get = async (path: string): Promise<Json> =>
  (await setting.hub.call('GET', path, { cookie: setting.cookie })).body;

async function hosted(path: string): Promise<Json> {
  const { body } = await setting.hub.call('POST', '/api/v1/auth/operator-token', { cookie: setting.cookie });
  return (await setting.hub.call('GET', path, { headers: { Authorization: `Bearer ${body.token}` } })).body;
}

const outcome = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((failure: Error & { contract?: string }) => failure.contract ?? failure.message);

async function pending(target: string): Promise<string> {
  for (;;) {
    const list = (await get('/api/v1/approvals?status=pending')) as Json[];
    const approval = list.find(({ tool_args }) => tool_args?.target === target);
    if (approval) return approval.id;
  }
}
const decide = (id: string, approved: boolean) =>
  setting.hub.call('PUT', `/api/v1/approvals/${id}`, { cookie: setting.cookie, body: { approved } });

/** One conversation with every way that a call can go. */
async function converse(guard: Guard): Promise<readonly unknown[]> {
  const deploy = (target: string) => outcome(guard.run('deploy', { target }, () => 'deployed'));
  const results: unknown[] = [];
  results.push(await outcome(guard.run('read_file', { path: 'README.md' }, () => 'text')));
  results.push(await outcome(guard.run('read_file', { path: '.env' }, () => 'text')));
  results.push(await outcome(guard.run('shell', { command: 'rm -rf build' }, () => 'removed')));
  results.push(
    await outcome(
      guard.run('shell', { command: 'false' }, () => {
        throw new Error('exit 1');
      }),
    ),
  );
  results.push(
    await outcome(
      guard.run('plan', { goal: 'x' }, () => guard.run('read_file', { path: 'inner.md' }, () => 'inner')),
    ),
  );
  const denied = deploy('denied');
  await decide(await pending('denied'), false);
  results.push(await denied);
  // Both are approved before either runs: the limit refuses the second when it is judged again.
  const [first, second] = [deploy('first'), deploy('second')];
  const ids = [await pending('first'), await pending('second')];
  await decide(ids[0] ?? '', true);
  results.push(await first);
  await decide(ids[1] ?? '', true);
  results.push(await second);
  return results;
}

it('counts each call once: in the run, its events and its decision bundle', async () => {
  const [agentId, sessionId] = ['whole', 'conversation-1'];
  const guard = await setting.guard({ agentId, sessionId });
  const calls = 9;
  expect(await converse(guard)).toEqual([
    'text',
    'no-secrets',
    'removed',
    'exit 1',
    'inner',
    'ask-deploy',
    'deployed',
    'one-deploy',
  ]);
  await guard.close();

  const { runs } = await hosted(`/v1/runs?agent_id=${agentId}`);
  expect(runs).toMatchObject([
    {
      session_id: sessionId,
      status: 'blocked',
      ruleset_name: 'guardrails',
      counts: { calls, asked: 3, blocked: 3, would_block: 1, failed: 1, timed_out: 0 },
    },
  ]);
  expect(await setting.stored(agentId)).toHaveProperty('size', calls);
  expect((await get(`/api/v1/events/facets?agent_id=${agentId}`)).total).toBe(calls);
  const bundle = await hosted(`/v1/runs/${agentId}/${sessionId}/bundle`);
  const payload = JSON.parse(Buffer.from(bundle.payload, 'base64').toString());
  expect(payload).toMatchObject({ event_count: calls, run_ids: [sessionId], status: 'blocked' });
  expect(payload.approvals).toHaveLength(3);
  expect(new Set(payload.events.map(({ run_id }: Json) => run_id))).toEqual(new Set([sessionId]));
});

it('shows of each call its conditions, its parent, how long its tool ran, and its failure', async () => {
  const [agentId, sessionId] = ['shown', 'conversation-2'];
  const guard = await setting.guard({ agentId, sessionId });
  await converse(guard);
  await guard.close();
  const calls = new Map<string, Json>();
  for (const { id } of (await get(`/api/v1/events?agent_id=${agentId}`)) as Json[]) {
    const event = await get(`/api/v1/events/${id}`);
    const { path, command, goal, target } = event.payload.tool_args;
    calls.set(path ?? command ?? goal ?? target, event);
  }
  const condition = (path: string, operator: string, expected: unknown, actual: unknown) => [
    { path, operator, expected, actual, result: 'yes' },
  ];
  const ran = (tool_success: boolean, more: object = {}) => ({
    verdict: tool_success ? 'call_executed' : 'call_failed',
    tool_success,
    duration_ms: expect.any(Number),
    policy_error: false,
    ...more,
  });
  const [inner, plan] = [calls.get('inner.md'), calls.get('x')];
  expect(plan).toMatchObject({ verdict: 'call_allowed', outcomes: [ran(true)] });
  expect(inner.payload).toMatchObject({ parent_call_id: plan.call_id, run_id: sessionId });
  expect(inner.payload.call_index).toBeGreaterThan(plan.payload.call_index);
  expect(calls.get('false').outcomes).toMatchObject([ran(false, { error: 'exit 1' })]);
  expect(calls.get('.env')).toMatchObject({
    verdict: 'call_denied',
    payload: {
      decision_name: 'no-secrets',
      conditions: condition('args.path', 'contains', '.env', '.env'),
    },
    outcomes: [],
  });
  expect(calls.get('rm -rf build')).toMatchObject({
    verdict: 'call_would_deny',
    mode: 'observe',
    payload: {
      decision_name: 'watch-shell',
      conditions: condition('args.command', 'contains', 'rm -rf', 'rm -rf build'),
    },
    outcomes: [{ verdict: 'call_allowed' }, ran(true)],
  });
  expect(calls.get('denied')).toMatchObject({
    verdict: 'call_approval_requested',
    payload: { conditions: condition('args.target', 'exists', true, 'denied') },
    outcomes: [{ verdict: 'call_approval_denied' }],
  });
  expect(calls.get('second')).toMatchObject({
    verdict: 'call_approval_requested',
    outcomes: [
      { verdict: 'call_approval_granted' },
      { verdict: 'call_denied', decision_name: 'one-deploy', decision_source: expect.any(String) },
    ],
  });
});

it('counts a call once whose contracts have shadow copies', async () => {
  const [agentId, sessionId] = ['shadowed', 'conversation-3'];
  const hub = new HubClient({ url: setting.hub.url, apiKey: setting.key, agentId });
  const shadow = yaml.replace('defaults:', 'observe_alongside: true\ndefaults:').replaceAll('.env', 'secret');
  const guard = Guard.fromYaml([yaml, shadow], { hub, sessionId, openTelemetry: null });
  for (const path of ['README.md', 'secret.md']) await guard.run('read_file', { path }, () => 'text');
  await guard.close();
  expect([...(await setting.stored(agentId)).values()].sort()).toEqual([
    // The decision, the shadow copies of two contracts, and the end of the call.
    ['call_allowed', 'call_allowed', 'call_allowed', 'call_executed'],
    ['call_allowed', 'call_would_deny', 'call_allowed', 'call_executed'],
  ]);
  const { runs } = await hosted(`/v1/runs?agent_id=${agentId}`);
  expect(runs).toMatchObject([{ counts: { calls: 2, blocked: 0, would_block: 1 } }]);
});

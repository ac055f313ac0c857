// Fills a hub with records of every noun, through its own routes where one makes the record.
import type { Caller } from '../../src/http/contract/call.ts';
import { aStream } from '../conformance/agent-streams.ts';
import { definition } from '../contract/library.ts';
import type { CallInput, Operation, TestHub, UserCaller } from '../harness.ts';

const dayMs = 86_400_000;
export const adminEmail = 'ada@example.com';
export const password = 'correct horse battery';

const ruleset = (name: string, message: string) => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${name}, description: Rules of ${name}}
defaults: {mode: enforce}
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when: {args.path: {matches: ^/etc/}}
    then: {effect: deny, message: ${message}}
`;

/** Calls that must succeed; each returns the body. */
function callsOf(t: TestHub) {
  return async (operation: Operation, input: CallInput, caller: Caller) =>
    (await t.call(operation, input, caller)).body as unknown as { readonly [name: string]: string };
}

type Call = ReturnType<typeof callsOf>;

async function fillRules(call: Call, user: UserCaller): Promise<void> {
  for (const id of ['no-secrets', 'no-mail']) {
    const tags = ['files'];
    const contract = { contract_id: id, name: id, type: 'pre', definition: definition(), tags };
    await call('createContract', { body: contract }, user);
  }
  const changed = { description: 'Changed once', definition: definition('^/root/') };
  await call('updateContract', { params: { contract_id: 'no-secrets' }, body: changed }, user);
  const contracts = ['no-secrets', 'no-mail'].map((contract_id, i) => ({ contract_id, position: i + 1 }));
  await call('createComposition', { body: { name: 'composed', contracts } }, user);
  await call('deployComposition', { params: { name: 'composed' }, body: { env: 'staging' } }, user);
  for (const message of ['Not that file.', 'Never that file.'])
    await call('uploadBundle', { body: { yaml_content: ruleset('base', message) } }, user);
  await call('uploadBundle', { body: { yaml_content: ruleset('gone', 'Gone.') } }, user);
  await call('deleteBundle', { params: { name: 'gone' } }, user);
  for (const version of ['1', '2']) {
    const body = { env: 'production', reason: `Version ${version}` };
    await call('deployBundle', { params: { name: 'base', version }, body }, user);
  }
  await call('deployBundle', { params: { name: 'base', version: '1' }, body: { env: 'development' } }, user);
  await call('undeployBundle', { query: { env: 'development', bundle_name: 'base' } }, user);
  await call('rotateSigningKey', {}, user);
  const rule = { priority: 1, pattern: 'agent-*', tag_match: { team: 'mail' }, bundle_name: 'base' };
  await call('createRule', { body: { ...rule, env: 'production' } }, user);
  await call('setPinMode', { body: { env: 'staging', server: null, mode: 'hold' } }, user);
  await call('putEnvironmentPolicy', { params: { env: 'production' }, body: { protected: true } }, user);
}

async function fillPeople(t: TestHub, call: Call, user: UserCaller, operator: Caller): Promise<void> {
  const roles = [{ role: 'viewer', env: 'staging' }];
  await call('addUser', { body: { email: 'bob@example.com', password, roles } }, user);
  await call('login', { body: { email: adminEmail, password } }, { kind: 'none' });
  const account = await call('createServiceAccount', { body: { name: 'ci', roles } }, user);
  const params = { account_id: account.id ?? '' };
  await call('createServiceToken', { params, body: { label: 'deploys', expires_in_days: 30 } }, user);
  await call('createOperatorToken', { body: { role: 'viewer', ttl_seconds: 86_400 } }, user);
  await call('createView', { body: { page: 'explore', name: 'denied', query: 'verdict:denied' } }, user);
  await call('createKey', { body: { env: 'production', label: 'agents', agent_pattern: 'agent-*' } }, user);
  const hosted = await call('hostedCreateKey', { body: { name: 'every environment' } }, operator);
  await call('revokeKey', { params: { key_id: hosted.id ?? '' } }, user);
  const workspace = { issuer: 'https://idp.example.com', workspace_id: 'w1' };
  const tenant = { params: { tenant_id: user.tenantId }, body: workspace };
  await call('linkWorkspace', tenant, { kind: 'operator' });
  const { store, clock } = { store: t.hub.store, clock: t.clock };
  const identity = { issuer: workspace.issuer, subject: 'ada', userId: user.userId };
  await store.identities.create({ ...identity, tenantId: user.tenantId, linkedAt: clock.now() });
  const use = { inputTokens: 10, outputTokens: 20, durationMs: 30 };
  const day = new Date(clock.now()).toISOString().slice(0, 10);
  await store.aiUsage.add(user.tenantId, day, { ...use, cost: 0.5 });
  const model = { provider: 'hosted_b', api_key: 'sk-test-key', model: 'm' };
  await call('putAiSettings', { body: model }, user);
  const settings = { custom_selectors: ['ticket'] };
  await call('putToolSettings', { body: settings }, user);
  await call('putRetention', { body: { deliveries_days: 30 } }, user);
  const channel = { name: 'hook', channel_type: 'webhook', enabled: true };
  const config = { url: 'http://127.0.0.1:9/hook', secret: 'a secret of the receiver' };
  await call('createChannel', { body: { ...channel, config } }, user);
}

const verdicts = [
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_approval_requested',
  'session_start',
];

/** Events of three sessions, of which some have an outcome; one hour apart. */
async function fillEvents(t: TestHub, call: Call, key: Caller): Promise<void> {
  const start = t.clock.now() - 3 * 3_600_000;
  const events = Array.from({ length: 60 }, (_, i) => ({
    call_id: `call-${i}`,
    agent_id: `agent-${(i % 3) + 1}`,
    tool_name: i % 2 === 0 ? 'read_file' : 'send_mail',
    verdict: verdicts[i % verdicts.length],
    mode: i % 7 === 0 ? 'observe' : 'enforce',
    timestamp: new Date(start + i * 120_000).toISOString(),
    payload: {
      session_id: `session-${i % 3}`,
      run_id: `run-${i % 4}`,
      policy_version: 'v1',
      decision_name: i % 2 === 0 ? 'no-secrets' : 'no-mail',
      reason: `Grund ${i}: „ü“ \ud83d\ude00`,
      tool_args: { path: `/etc/${i}`, text: i === 5 ? 'x'.repeat(9_000) : 'y' },
      ...(i === 9
        ? {
            workflow: { name: 'release', active_stage: 'review', completed_stages: [], pending_approval: {} },
          }
        : {}),
    },
  }));
  const agent_manifest = {
    agent_id: 'agent-1',
    policy_version: 'v1',
    contracts: [{ id: 'no-secrets', type: 'pre' }],
  };
  await call('ingestEvents', { body: { events, agent_manifest } }, key);
  const outcomes = [3, 8].map((i) => ({ ...events[i], verdict: 'call_executed' }));
  await call('ingestEvents', { body: { events: outcomes } }, key);
  await call('ingestEvents', { body: { events: [{ ...events[13], verdict: 'call_approval_denied' }] } }, key);
}

async function fillActivity(t: TestHub, call: Call, user: UserCaller): Promise<void> {
  const { tenantId } = user;
  const key = t.key(user);
  const hosted = t.hostedKey(user);
  await fillEvents(t, call, key);
  const decision = { decision: 'deny', tool_name: 'send_mail', session_id: 'hosted-session' };
  const event = { ...decision, id: 'hosted-1', agent_id: 'agent-1', environment: 'production' };
  await call('hostedIngestEvents', { body: { events: [event] } }, hosted);
  await call('makeSampleRun', {}, user);
  const request = { agent_id: 'agent-1', tool_name: 'transfer', message: 'May I?', session_id: 'session-1' };
  const ids: string[] = [];
  for (const args of [{ sum: 1 }, { text: 'x'.repeat(70_000) }, { sum: 3 }, { sum: 4 }]) {
    const body = {
      ...request,
      tool_args: args,
      timeout: 3600,
      contracts: [{ name: 'no-mail', message: 'Why?' }],
    };
    ids.push((await call('createApproval', { body }, key)).id ?? '');
    await t.clock.advanceAsync(1000);
  }
  const decide = (index: number, approved: boolean) =>
    call(
      'decideApproval',
      { params: { approval_id: ids[index] ?? '' }, body: { approved, reason: 'So.' } },
      user,
    );
  await decide(0, true);
  await decide(1, false);
  const assignee = { params: { approval_id: ids[2] ?? '' }, body: { user_id: user.userId } };
  await call('assignApproval', assignee, user);
  await call('withdrawApproval', { params: { approval_id: ids[3] ?? '' } }, key);
  const short = { ...request, timeout: 30, timeout_effect: 'deny' };
  await call('createApproval', { body: short }, key);
  await t.clock.advanceAsync(60_000);
  const tools = ['read', 'write'].map((name, i) => ({ name, fingerprint: `sha256:${String(i).repeat(64)}` }));
  const server = { server: 'files', server_info: { name: 'Files', version: '1.0' } };
  await call('observeTools', { body: { agent_id: 'agent-1', ...server, tools } }, key);
  await call('reportVersion', { body: { bundle_name: 'base', policy_version: 'v1' } }, key);
  const registration = { display_name: 'One', tags: { team: 'mail' }, bundle_name: 'base' };
  await call('updateRegistration', { params: { agent_id: 'agent-1' }, body: registration }, user);
  await call('setSession', { params: { 'key+': 'counts/a', key: 'counts/a' }, body: { value: '1' } }, key);
  const { store } = t.hub;
  const at = t.clock.now();
  const stream = { tenantId, env: 'production', agentId: 'agent-1', startedAt: at - 5000 } as const;
  await store.agentStreams.record([
    aStream({ ...stream, endedAt: at - 1000 }),
    aStream({ ...stream, endedAt: null }),
  ]);
  await store.agents.addLeftOut(tenantId, Math.floor(at / 3_600_000), 3);
  const once = { tenantId, id: 'a'.repeat(64), bodyHash: 'b'.repeat(64) };
  await store.idempotency.claim(once, 'new-id', { now: at, runsUntil: at + 1000, expiresAt: at + dayMs });
  await store.idempotency.answered(once, 'new-id', { status: 201, headers: { a: 'b' }, json: '{}' });
}

/** The admin of a tenant that has everything. */
export async function fillWorld(t: TestHub): Promise<UserCaller> {
  const call = callsOf(t);
  const user = await t.tenant(adminEmail);
  const operator = t.operator(user);
  await t.tenant('eve@example.com');
  await fillRules(call, user);
  await fillPeople(t, call, user, operator);
  await fillActivity(t, call, user);
  return user;
}

// Agents of two vocabularies in one fleet: whoever is given a document that it cannot load is named where somebody
// deploys or assigns it, and in its status.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  operator = t.operator(user, 'operator');
});
afterEach(() => t.close());

const bytes = (text: string) => new TextEncoder().encode(text);
const ruleset = (name: string, message = 'no') => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: a, type: pre, tool: t, when: {args.a: {exists: true}}, then: {action: block, message: "${message}"}}
`;
const bundle = (name: string, message = 'no') => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${name}}
defaults: {mode: enforce}
contracts:
  - {id: a, type: pre, tool: t, when: {args.a: {exists: true}}, then: {effect: deny, message: "${message}"}}
`;

async function connect(api: 'console' | 'hosted', agentId: string, query: object = {}) {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const stream =
    api === 'console'
      ? await streams.admitAgent(t.key(user, 'production', agentId), query, agentId)
      : (await streams.admitHosted(t.hostedKey(user, 'production', agentId), query, agentId)).admitted;
  await stream.catchUp();
  await settled();
  return stream;
}

async function seen(api: 'console' | 'hosted', agentId: string, query: object = {}) {
  (await connect(api, agentId, query)).closed();
  await settled();
}

const put = async (name: string, message?: string, env: 'production' | 'staging' = 'production') =>
  (
    await t.call(
      'hostedPutRuleset',
      { params: { name }, query: { env }, body: bytes(ruleset(name, message)) },
      operator,
      { headers: { 'content-type': 'application/x-yaml' } },
    )
  ).body.warnings.filter(({ code }) => code === 'other-vocabulary');

async function deployBundle(name: string, message?: string) {
  const { body } = await t.call('uploadBundle', { body: { yaml_content: bundle(name, message) } }, user);
  const deployed = await t.call(
    'deployBundle',
    { params: { name, version: String(body.version) }, body: { env: 'production' } },
    user,
  );
  return deployed.body.warnings.filter(({ code }) => code === 'other-vocabulary');
}

const listed = async (agentId: string) =>
  (await t.call('listAgents', { query: { search: agentId } }, user)).body[0];
const shown = async (agentId: string) =>
  (await t.call('hostedGetAgent', { params: { agent_id: agentId } }, operator)).body.agent;

describe('a deploy', () => {
  it('of a ruleset names connected agents of the console API that follow it, in the words of /v1', async () => {
    await connect('console', 'follows', { bundle_name: 'team' });
    await connect('console', 'follows-all');
    await connect('console', 'follows-other', { bundle_name: 'other' });
    await connect('console', 'loads-any', { bundle_name: 'team', documents: 'any' });
    await connect('hosted', 'speaks-it', { bundle_name: 'team' });
    expect(await put('team')).toEqual([
      {
        severity: 'warning',
        code: 'other-vocabulary',
        contract: null,
        path: 'kind',
        line: 1,
        column: 1,
        message:
          'This document is a ruleset, but agents of /api/v1 load only bundles of contracts. 2 agents that receive it were ' +
          'last seen on /api/v1 and keep the document in use: follows, follows-all.',
        suggestion: 'a document in their own vocabulary, under the name of their assigned bundle',
      },
    ]);
  });

  it('of a bundle names those of the hosted API, in the words of the console', async () => {
    await connect('hosted', 'follows', { bundle_name: 'team' });
    await connect('hosted', 'follows-none');
    expect(await deployBundle('team')).toMatchObject([
      {
        message:
          'This bundle contains contracts, but agents of /v1 load only rulesets. 1 agent that receives it was last ' +
          'seen on /v1 and keeps the document in use: follows.',
      },
    ]);
    const { body } = await t.call(
      'hostedDeployRuleset',
      { params: { name: 'team', version: '1' }, query: { env: 'production' } },
      operator,
    );
    expect(body.warnings.at(-1)?.message).toMatch(/^This document is a bundle of contracts, /);
  });

  it('names one that is away, by its assignment, and only where it was last seen', async () => {
    await seen('console', 'away');
    expect(await put('team')).toEqual([]);
    await t.call('updateRegistration', { params: { agent_id: 'away' }, body: { bundle_name: 'team' } }, user);
    expect(await put('team', 'again')).toMatchObject([{ message: expect.stringContaining('use: away.') }]);
    expect(await put('team', 'elsewhere', 'staging')).toEqual([]);
  });

  it('follows an agent that changes its API, and one whose client loads either', async () => {
    await seen('console', 'moves', { bundle_name: 'team' });
    await t.call(
      'updateRegistration',
      { params: { agent_id: 'moves' }, body: { bundle_name: 'team' } },
      user,
    );
    expect(await put('team', '1')).toHaveLength(1);
    t.clock.advance(1000);
    await seen('hosted', 'moves', { bundle_name: 'team' });
    expect(await put('team', '2')).toEqual([]);
    t.clock.advance(1000);
    const event = { agent_id: 'moves', call_id: 'c', tool_name: 't', verdict: 'call_allowed' };
    await t.call('ingestEvents', { body: { events: [event] } }, t.key(user, 'production', 'moves'));
    expect(await put('team', '3')).toHaveLength(1);
    t.clock.advance(1000);
    await seen('console', 'moves', { bundle_name: 'team', documents: 'any' });
    expect(await put('team', '4')).toEqual([]);
    expect(await listed('moves')).toMatchObject({ last_api: 'console', cannot_load: false });
  });

  it('of a composition warns as one of a bundle does', async () => {
    await connect('hosted', 'follows', { bundle_name: 'base' });
    const definition = {
      tools: ['t'],
      when: { 'args.a': { exists: true } },
      then: { effect: 'deny', message: 'no' },
    };
    await t.call(
      'createContract',
      { body: { contract_id: 'one', name: 'One', type: 'pre', description: '', definition } },
      user,
    );
    const item = { contract_id: 'one', position: 0, mode_override: null, enabled: true };
    await t.call('createComposition', { body: { name: 'base', contracts: [item] } }, user);
    const { body } = await t.call(
      'deployComposition',
      { params: { name: 'base' }, body: { env: 'production' } },
      user,
    );
    expect(body.warnings.map(({ code }) => code)).toContain('other-vocabulary');
  });
});

describe('an assignment', () => {
  const message =
    'This bundle is a ruleset, but agents of /api/v1 load only contracts. 1 agent that receives it was last seen on ' +
    '/api/v1 and keeps the document in use: speaks-contracts.';

  beforeEach(async () => {
    await seen('console', 'speaks-contracts');
    await seen('hosted', 'speaks-rules');
    await put('team');
  });

  it('warns of one agent and of many', async () => {
    const assign = async (agentId: string, bundleName: string | null) =>
      (
        await t.call(
          'updateRegistration',
          { params: { agent_id: agentId }, body: { bundle_name: bundleName } },
          user,
        )
      ).body.warnings;
    expect(await assign('speaks-contracts', 'team')).toEqual([message]);
    expect(await assign('speaks-contracts', null)).toBeUndefined();
    expect(await assign('speaks-rules', 'team')).toBeUndefined();
    expect(await assign('speaks-contracts', 'not-deployed')).toBeUndefined();
    const agent_ids = ['speaks-contracts', 'speaks-rules', 'unknown'];
    expect((await t.call('bulkAssign', { body: { agent_ids, bundle_name: 'team' } }, user)).body).toEqual({
      updated: 2,
      warnings: [message],
    });
  });

  it('by a rule warns of those that it reaches', async () => {
    const rule = { priority: 1, pattern: 'speaks-*', bundle_name: 'team', env: 'production' as const };
    const { body } = await t.call('createRule', { body: rule }, user);
    expect(body.warnings).toEqual([message]);
    const change = async (pattern: string) =>
      (await t.call('updateRule', { params: { rule_id: body.id }, body: { pattern } }, user)).body.warnings;
    expect(await change('speaks-rules')).toBeUndefined();
    expect(await change('*')).toEqual([message]);
  });
});

describe('the status of an agent', () => {
  it('says on both APIs that it cannot load what it is given, until it can', async () => {
    await connect('console', 'a', { bundle_name: 'team' });
    expect(await listed('a')).toMatchObject({ last_api: 'console', cannot_load: false });
    await put('team');
    const status = async () => (await t.call('agentStatus', {}, user)).body.agents;
    expect(await listed('a')).toMatchObject({ last_api: 'console', cannot_load: true });
    expect(await shown('a')).toMatchObject({ last_api: 'console', cannot_load: true });
    expect(await status()).toMatchObject([{ agent_id: 'a', cannot_load: true }]);
    await deployBundle('team');
    expect([await listed('a'), await shown('a')]).toMatchObject([
      { cannot_load: false },
      { cannot_load: false },
    ]);
    expect((await status())[0]?.cannot_load).toBeUndefined();
  });

  it('takes an agent at its word that runs the document', async () => {
    await put('team');
    const { body } = await t.call('hostedGetRuleset', { params: { name: 'team' } }, operator);
    await connect('console', 'a', { bundle_name: 'team', policy_version: body.revision_hash });
    expect(await listed('a')).toMatchObject({ status: 'current', cannot_load: false });
  });

  it('of one that follows all says so only when nothing there is for it', async () => {
    await connect('console', 'all');
    await connect('hosted', 'none');
    await put('team');
    expect(await listed('all')).toMatchObject({ cannot_load: true });
    expect(await listed('none')).toMatchObject({ cannot_load: false });
    await deployBundle('contracts');
    expect(await listed('all')).toMatchObject({ cannot_load: false });
  });
});

it('agents that cannot load what is deployed need attention, in the environments that the reader sees', async () => {
  await connect('hosted', 'hosted-1', { bundle_name: 'shop' });
  const attention = async (as = user) =>
    (await t.call('attention', {}, as)).body.items.filter(({ kind }) => kind === 'cannot_load');
  expect(await attention()).toEqual([]);
  await t.call('uploadBundle', { body: { yaml_content: bundle('shop') } }, user);
  const params = { name: 'shop', version: '1' };
  await t.call('deployBundle', { params, body: { env: 'production' } }, user);
  await t.clock.advance(6_000);
  expect(await attention()).toMatchObject([
    {
      severity: 'medium',
      env: 'production',
      subject: { type: 'bundle', id: 'shop' },
      count: 1,
      facts: { agent_id: 'hosted-1', document: 'bundle' },
    },
  ]);
  expect(await attention({ ...user, roles: [{ role: 'viewer', env: 'staging' }] })).toEqual([]);
});

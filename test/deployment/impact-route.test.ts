// Changes by a deploy of a text and of a composition, and the documents that agents run now.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const contract = (id: string, effect: string, message = 'no') => `  - id: ${id}
    type: pre
    tool: pay
    when: {args.amount: {gt: 5}}
    then: {effect: ${effect}, message: ${message}}
`;
const bundle = (...contracts: readonly string[]) => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: base}
defaults: {mode: enforce}
contracts:
${contracts.join('')}`;

const deploy = async (yaml_content: string) => {
  const { version } = (await t.call('uploadBundle', { body: { yaml_content } }, user)).body;
  const params = { name: 'base', version: String(version) };
  return (await t.call('deployBundle', { params, body: { env: 'production' } }, user)).body;
};
const impact = async (body: object, as = user) =>
  (await t.call('bundleImpact', { body: { env: 'production', ...body } }, as)).body;

it('says what comes, goes, and changes in which direction, and changes nothing', async () => {
  const old = bundle(
    contract('stays', 'deny'),
    contract('stricter', 'approve'),
    contract('softer', 'deny'),
    contract('gone', 'deny'),
  );
  await deploy(old);
  const yaml_content = bundle(
    contract('stays', 'deny'),
    contract('stricter', 'deny'),
    contract('softer', 'approve'),
    contract('new', 'deny'),
  );
  const found = await impact({ yaml_content });
  expect(found).toMatchObject({
    bundle_name: 'base',
    current_version: 1,
    current_revision_hash: t.hub.secrets.sha256(old),
    revision_hash: t.hub.secrets.sha256(yaml_content),
    comparable: true,
    added: [{ contract_id: 'new', type: 'pre' }],
    removed: [{ contract_id: 'gone', type: 'pre' }],
    tightened: [{ contract_id: 'stricter', type: 'pre', fields: ['then'] }],
    loosened: [{ contract_id: 'softer', type: 'pre', fields: ['then'] }],
    changed: [],
    unchanged: 1,
    agents: { connected: 0, running: 0, unknown: 0, versions: [] },
  });
  expect((await t.call('listDeployments', {}, user)).body).toHaveLength(1);
  expect(await impact({ yaml_content, env: 'staging' })).toMatchObject({
    current_version: null,
    removed: [],
  });
  expect((await impact({ yaml_content, env: 'staging' })).added).toHaveLength(4);
  expect(await impact({ yaml_content }, await t.tenant())).toMatchObject({ current_version: null });
});

it('compares documents of more contracts than an import takes', async () => {
  const many = (message: string) =>
    bundle(...Array.from({ length: 500 }, (_, i) => contract(`c${i}`, 'deny', message)));
  await deploy(many('no'));
  expect(await impact({ yaml_content: many('never') })).toMatchObject({ comparable: true, unchanged: 0 });
  const tooLarge = bundle(...Array.from({ length: 501 }, (_, i) => contract(`c${i}`, 'deny')));
  await expect(impact({ yaml_content: tooLarge })).rejects.toMatchObject({
    code: 'unprocessable',
    message: expect.stringContaining('At most 500 contracts'),
  });
});

it('counts the agents by what they run now', async () => {
  const old = bundle(contract('a', 'deny'));
  await deploy(old);
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  for (const [agentId, policy_version] of [
    ['one', t.hub.secrets.sha256(old)],
    ['two', undefined],
  ] as const) {
    const query = {
      env: 'production' as const,
      bundle_name: 'base',
      ...(policy_version ? { policy_version } : {}),
    };
    await (await streams.admitAgent(t.key(user, 'production', agentId), query, agentId)).catchUp();
  }
  await settled();
  expect((await impact({ yaml_content: bundle(contract('a', 'approve')) })).agents).toEqual({
    connected: 2,
    running: 0,
    unknown: 1,
    versions: [{ policy_version: t.hub.secrets.sha256(old), version: 1, agents: 1 }],
  });
  expect((await impact({ yaml_content: old })).agents.running).toBe(1);
});

it('names what runs by its newest deployment, where several versions have one document', async () => {
  const old = bundle(contract('a', 'deny'));
  await deploy(old);
  await deploy(bundle(contract('a', 'approve')));
  const { id } = await deploy(old);
  const policy_version = t.hub.secrets.sha256(old);
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const query = { env: 'production' as const, bundle_name: 'base', policy_version };
  await (await streams.admitAgent(t.key(user, 'production', 'one'), query, 'one')).catchUp();
  await settled();
  const versions = [{ policy_version, version: 3, agents: 1 }];
  expect((await impact({ yaml_content: old })).agents.versions).toEqual(versions);
  const rollout = await t.call('deploymentRollout', { params: { deployment_id: id } }, user);
  expect(rollout.body.versions).toEqual(versions);
});

it('compares what a composition would be', async () => {
  await deploy(bundle(contract('mine', 'approve')));
  const definition = {
    tool: 'pay',
    when: { 'args.amount': { gt: 5 } },
    then: { effect: 'deny', message: 'no' },
  };
  await t.call(
    'createContract',
    { body: { contract_id: 'mine', name: 'Mine', type: 'pre', definition } },
    user,
  );
  const contracts = [{ contract_id: 'mine', position: 1 }];
  await t.call('createComposition', { body: { name: 'base', contracts } }, user);
  const found = await impact({ composition: 'base' });
  expect([...found.tightened, ...found.changed].map(({ contract_id }) => contract_id)).toEqual(['mine']);
  await expect(impact({ composition: 'absent' })).rejects.toMatchObject({ code: 'not_found' });
});

it.each([
  [{}, 'validation_failed'],
  [{ yaml_content: 'a', composition: 'b' }, 'validation_failed'],
  [{ yaml_content: 'a', env: 'test' }, 'validation_failed'],
  [{ yaml_content: 'metadata: {name: base}' }, 'unprocessable'],
  [{ yaml_content: 'a: [' }, 'unprocessable'],
])('refuses %o', async (body, code) => {
  await expect(impact(body)).rejects.toMatchObject({ code });
});

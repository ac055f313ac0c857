// Deploying what no agent can load, rolling back to it, forcing it; and taking bundles away.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memberRoles } from '../../src/shared/env-roles.ts';
import type { Env } from '../../src/shared/ids.ts';
import { environments } from '../../src/shared/ids.ts';
import { addComposition, addContract, bundleYaml, definition } from '../contract/library.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { deploy as deployUnchecked } from './deploy.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  t.newFrames();
});
afterEach(() => t.close());

const operator = (): UserCaller => ({ ...user, roles: memberRoles });
const upload = async (yaml: string) =>
  (await t.call('uploadBundle', { body: { yaml_content: yaml } }, user)).body;
const deploy = (
  name: string,
  version: number,
  {
    env = 'production' as Env,
    force = undefined as string | undefined,
    reason = undefined as string | undefined,
    by = user,
  } = {},
) =>
  t.call(
    'deployBundle',
    {
      params: { name, version: String(version) },
      body: { env, ...(reason === undefined ? {} : { reason }) },
      query: force === undefined ? {} : { force },
    },
    by,
  );
const undeploy = (env: Env, bundle_name: string) =>
  t.call('undeployBundle', { query: { env, bundle_name } }, user);
const deployments = async () => (await t.call('listDeployments', {}, user)).body;
const types = () => t.newFrames().map(({ type }) => type);

/** Two things wrong, each with its place. */
const broken = `apiVersion: service/v1
kind: ContractBundle
metadata: {name: team}
defaults: {mode: enforce}
contracts:
  - id: a
    type: pre
    tool: read_file
    when: {args.path: {is_like: x}}
    then: {effect: forbid, message: no}
`;
/** Loads, but its contract can never match. */
const dead = bundleYaml('team').replace('args.path', 'arg.path');

describe('a deploy of a document', () => {
  it('that does not compile is refused with every problem, its line and column; nothing is deployed', async () => {
    const { warnings } = await upload(broken);
    expect(warnings).toMatchObject([
      { severity: 'error', code: 'invalid', contract: 'a', line: 9 },
      { severity: 'error', code: 'invalid', contract: 'a', line: 10 },
    ]);
    t.newFrames();
    const refused = await deploy('team', 1).catch((error) => error);
    expect(refused).toMatchObject({ code: 'unprocessable', detail: { findings: warnings } });
    expect(refused.message).toMatch(
      /^Nothing was deployed, because the document has 2 errors\. line 9, column \d+: /,
    );
    expect(refused.message).toContain('line 10, column ');
    expect(await deployments()).toEqual([]);
    expect(types()).toEqual([]);
  });

  it('with a contract that can never match is refused; with warnings alone it is deployed and they are told', async () => {
    await upload(dead);
    await expect(deploy('team', 1)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: { findings: [{ code: 'unknown-root', suggestion: 'args', line: 9, severity: 'error' }] },
    });
    const odd = bundleYaml('team').replace('args.path', 'tool.title');
    const { warnings } = await upload(odd);
    expect(warnings).toMatchObject([{ severity: 'warning', code: 'unknown-field' }]);
    expect((await deploy('team', 2, { by: operator() })).body).toMatchObject({ forced: false, warnings });
  });

  it.each([
    ['a selector that nothing answers to', 'geo.country', 'unknown-root'],
    ['several conditions in one mapping', 'args.a: { gt: 1 }, args.path', 'several-conditions'],
  ])(
    'with %s is refused, and deployed by an admin who insists and by a roll-back',
    async (_, selector, code) => {
      const { warnings } = await upload(bundleYaml('team').replace('args.path', selector));
      expect(warnings).toMatchObject([{ severity: 'error', code, line: 9, column: expect.any(Number) }]);
      await expect(deploy('team', 1)).rejects.toMatchObject({ detail: { findings: [{ code }] } });
      expect((await deploy('team', 1, { force: 'true' })).body).toMatchObject({ forced: true, warnings });
      await upload(bundleYaml('team'));
      await deploy('team', 2);
      expect((await deploy('team', 1)).body).toMatchObject({ forced: false, warnings });
    },
  );

  it.each([
    ['over 512 KiB', 524_289, 524_288],
    ['over 800 KiB', 819_201, 819_200],
  ])('%s is deployed with a warning', async (_, bytes, limit) => {
    const yaml = bundleYaml('team');
    await upload(`${yaml}# ${'x'.repeat(bytes - yaml.length - 3)}\n`);
    const { warnings } = (await deploy('team', 1)).body;
    expect(warnings).toMatchObject([{ severity: 'warning', code: 'large-document' }]);
    expect(warnings[0]?.message).toContain(`${bytes} bytes`);
    expect(warnings[0]?.message).toContain(`${limit} by stream`);
  });

  it('is forced by admins alone, and the record and the feed say so', async () => {
    await upload(broken);
    await expect(deploy('team', 1, { force: 'true', by: operator() })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(deploy('team', 1, { force: 'yes' })).rejects.toMatchObject({ code: 'validation_failed' });
    t.newFrames();
    const { body } = await deploy('team', 1, { force: 'true' });
    expect(body).toMatchObject({ forced: true, warnings: [{ line: 9 }, { line: 10 }] });
    expect(t.newFrames().at(-1)?.data).toMatchObject({ type: 'bundle_deployed', version: 1, forced: true });
    expect(await deployments()).toMatchObject([{ forced: true }]);
  });

  it('keeps why it was done: in the record, the feed and the audit chain', async () => {
    await upload(broken);
    const reason = 'half of the fleet runs the old client';
    t.newFrames();
    expect((await deploy('team', 1, { force: 'true', reason })).body).toMatchObject({ forced: true, reason });
    expect(t.newFrames().at(-1)?.data).toMatchObject({ type: 'bundle_deployed', forced: true, reason });
    expect(await deployments()).toMatchObject([{ reason }]);
    const newest = async () => (await t.call('hostedListAudit', {}, t.operator(user))).body.entries[0];
    expect(await newest()).toMatchObject({
      action_type: 'ruleset.deployed',
      details: { forced: true, reason },
    });
    // Without one nothing is said.
    expect((await deploy('team', 1, { reason: '' })).body).toMatchObject({ reason: null });
    expect(t.newFrames().at(-1)?.data).not.toHaveProperty('reason');
    expect((await newest())?.details).not.toHaveProperty('reason');
  });

  it.each([
    ['too long', 'x'.repeat(501)],
    ['with a NUL', 'a\u0000b'],
    ['with half a character', '\ud800'],
  ])('refuses a reason %s', async (_, reason) => {
    await upload(bundleYaml('team'));
    await expect(deploy('team', 1, { reason })).rejects.toMatchObject({ code: 'validation_failed' });
    expect(await deployments()).toEqual([]);
  });

  it('that is right is not marked as forced, though it was asked for', async () => {
    await upload(bundleYaml('team'));
    expect((await deploy('team', 1, { force: 'true' })).body).toMatchObject({ forced: false, warnings: [] });
    expect(t.newFrames().at(-1)?.data).not.toHaveProperty('forced');
  });

  it('that ran in the environment before is a roll-back, with warnings', async () => {
    // As an older version of the hub did, which looked at nothing.
    await deployUnchecked(t, user, 'team', 'old');
    await upload(bundleYaml('team'));
    await deploy('team', 2);
    await expect(deploy('team', 1, { env: 'staging' })).rejects.toMatchObject({ code: 'unprocessable' });
    const { body } = await deploy('team', 1, { by: operator() });
    expect(body).toMatchObject({ bundle_version: 1, forced: false });
    expect(body.warnings[0]).toMatchObject({ severity: 'error', code: 'invalid' });
  });
});

describe('a composition', () => {
  const deadDefinition = { ...definition(), when: { 'arg.path': { contains: 'x' } } };
  const call = (operation: 'previewComposition' | 'deployComposition', query = {}, by = user, body = {}) =>
    t.call(operation, { params: { name: 'team' }, query, body }, by);

  it('that can never match is previewed with the finding, refused, and nothing is saved; admins force it', async () => {
    await addContract(t, user, 'dead', { definition: deadDefinition });
    await addComposition(t, user, 'team', ['dead']);
    expect((await call('previewComposition')).body).toMatchObject({
      validation_errors: [],
      warnings: [{ code: 'unknown-root', contract: 'dead', severity: 'error' }],
    });
    await expect(call('deployComposition')).rejects.toMatchObject({
      code: 'unprocessable',
      detail: { findings: [{ code: 'unknown-root' }] },
    });
    expect((await t.call('listBundles', {}, user)).body).toEqual([]);
    await expect(call('deployComposition', { force: 'true' }, operator())).rejects.toMatchObject({
      code: 'forbidden',
    });
    const reason = 'until the new client is out';
    expect((await call('deployComposition', { force: 'true' }, user, { reason })).body).toMatchObject({
      bundle_version: 1,
      forced: true,
      warnings: [{ code: 'unknown-root' }],
    });
    expect(await deployments()).toMatchObject([{ bundle_version: 1, forced: true, reason }]);
  });

  it('stays as it was when auto_deploy would bring a contract that can never match', async () => {
    await addContract(t, user, 'a');
    await addComposition(t, user, 'team', ['a'], { update_strategy: 'auto_deploy' });
    await call('deployComposition');
    await t.call(
      'updateContract',
      { params: { contract_id: 'a' }, body: { definition: deadDefinition } },
      user,
    );
    expect(await deployments()).toHaveLength(1);
    const { contracts } = (await t.call('getComposition', { params: { name: 'team' } }, user)).body;
    expect(contracts).toMatchObject([{ contract_version: 1, has_newer_version: true }]);
  });
});

describe('undeploying', () => {
  it('takes the bundle from one environment: no frame for agents, one for dashboards, 404 from then on', async () => {
    await upload(bundleYaml('team'));
    await deploy('team', 1);
    await deploy('team', 1, { env: 'staging' });
    t.newFrames();
    expect((await undeploy('production', 'team')).status).toBe(204);
    expect(t.newFrames()).toMatchObject([
      {
        audience: `dashboards:${user.tenantId}`,
        data: {
          type: 'bundle_deployed',
          bundle_name: 'team',
          version: null,
          env: 'production',
          deployed_by: 'ann@example.com',
          undeployed: true,
        },
      },
    ]);
    const current = (env: Env) => t.call('currentBundle', { params: { name: 'team' }, query: { env } }, user);
    await expect(current('production')).rejects.toMatchObject({ code: 'not_found' });
    expect((await current('staging')).body).toMatchObject({ version: 1 });
    const key = t.key(user);
    await expect(
      t.call('currentBundle', { params: { name: 'team' }, query: { env: 'production' } }, key),
    ).rejects.toMatchObject({ code: 'not_found' });
    await expect(undeploy('production', 'team')).rejects.toMatchObject({ code: 'not_found' });
    expect(await deployments()).toHaveLength(2);
  });

  it('is deployed again under a higher sequence, with the clock set back', async () => {
    await upload(bundleYaml('team'));
    const { sequence } = (await deploy('team', 1)).body;
    await undeploy('production', 'team');
    expect((await deploy('team', 1)).body.sequence).toBe(sequence + 1);
  });
});

describe('deleting a bundle', () => {
  const remove = (name: string) => t.call('deleteBundle', { params: { name } }, user);

  it('is refused while it is deployed anywhere; then its versions are gone and numbering goes on', async () => {
    await upload(bundleYaml('team'));
    await upload(bundleYaml('team', ['one', 'two']));
    for (const env of environments) await deploy('team', 2, { env });
    for (const env of environments) {
      await expect(remove('team')).rejects.toMatchObject({ code: 'conflict' });
      await undeploy(env, 'team');
    }
    expect((await remove('team')).status).toBe(204);
    await expect(
      t.call('getBundleYaml', { params: { name: 'team', version: '2' } }, user),
    ).rejects.toMatchObject({ code: 'not_found' });
    await expect(t.call('listBundleVersions', { params: { name: 'team' } }, user)).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(deploy('team', 2)).rejects.toMatchObject({ code: 'not_found' });
    await expect(remove('team')).rejects.toMatchObject({ code: 'not_found' });
    expect(await upload(bundleYaml('team'))).toMatchObject({ version: 3 });
    const { body } = await t.call('listBundleVersions', { params: { name: 'team' } }, user);
    expect(body).toMatchObject([{ version: 3 }]);
    expect(await deployments()).toHaveLength(3);
  });

  it('of another tenant is not found', async () => {
    await upload(bundleYaml('team'));
    const stranger = await t.tenant('eve@example.com');
    await expect(t.call('deleteBundle', { params: { name: 'team' } }, stranger)).rejects.toMatchObject({
      code: 'not_found',
    });
    await deploy('team', 1);
    await expect(
      t.call('undeployBundle', { query: { env: 'production', bundle_name: 'team' } }, stranger),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await upload(bundleYaml('team'))).toMatchObject({ version: 2 });
  });
});

it('the list tells roll-backs and undeploys, has a range, and goes on by a cursor', async () => {
  const at: string[] = [];
  const noteTime = async () => {
    at.push(new Date(t.clock.now()).toISOString());
    await t.clock.advance(1_000);
  };
  for (const content of ['1', '2']) {
    await deployUnchecked(t, user, 'shop', content);
    await noteTime();
  }
  await deploy('shop', 1, { force: 'true' });
  await noteTime();
  await undeploy('production', 'shop');
  await noteTime();
  const list = async (query = {}) => t.call('listDeployments', { query }, user);
  const short = (items: Awaited<ReturnType<typeof deployments>>) =>
    items.map((one) => [one.bundle_version, one.kind, one.undeployed_at, one.undeployed_by]);
  const end = at[3] ?? '';
  expect(short((await list()).body)).toEqual([
    [1, 'rollback', end, user.email],
    [2, 'deploy', null, null],
    [1, 'deploy', null, null],
  ]);
  expect(short((await list({ since: end })).body)).toEqual([[1, 'rollback', end, user.email]]);
  expect(short((await list({ since: at[1], until: at[2] })).body)).toEqual([[2, 'deploy', null, null]]);
  const first = await list({ limit: '2' });
  const cursor = first.headers['X-Next-Cursor'] ?? '';
  const second = await list({ limit: '2', cursor });
  expect([...first.body, ...second.body]).toEqual((await list()).body);
  expect(second.headers).not.toHaveProperty('X-Next-Cursor');
  await expect(list({ since: end, until: at[0] })).rejects.toMatchObject({ code: 'validation_failed' });
});

// If-Match on every write that a plan makes, and saves that keep deployments back, against the real process.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleYaml, definition } from '../contract/library.ts';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let admin: string;

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

const call = (method: string, path: string, body?: unknown, ifMatch?: string) =>
  hub.call(method, `/api/v1${path}`, {
    cookie: admin,
    ...(body === undefined ? {} : { body }),
    ...(ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } }),
  });
const refused = { status: 412, body: { code: 'changed' } };
const contract = (contract_id: string) => ({
  contract_id,
  name: contract_id,
  type: 'pre',
  definition: definition('^/etc/'),
});

async function composition(name: string, update_strategy = 'manual') {
  expect((await call('POST', '/contracts', contract(`${name}-rule`))).status).toBe(201);
  const contracts = [{ contract_id: `${name}-rule`, position: 10 }];
  const made = await call('POST', '/compositions', { name, update_strategy, contracts });
  expect(made.status).toBe(201);
  return made.body;
}

describe('If-Match', () => {
  it('names the version of a contract by number or id', async () => {
    const { id } = (await call('POST', '/contracts', contract('a'))).body;
    expect(await call('PUT', '/contracts/a', { name: 'b' }, '"2"')).toMatchObject(refused);
    expect(await call('PUT', '/contracts/b', { name: 'b' }, '*')).toMatchObject(refused);
    expect((await call('PUT', '/contracts/a', { name: 'b' }, '"9", "1"')).body.version).toBe(2);
    expect(await call('PUT', '/contracts/a', { name: 'c' }, `"${id}"`)).toMatchObject(refused);
    expect((await call('PUT', '/contracts/a', { name: 'c' }, '2')).body.version).toBe(3);
    expect(await call('DELETE', '/contracts/a', undefined, '"2"')).toMatchObject(refused);
    expect((await call('DELETE', '/contracts/a', undefined, '"3"')).status).toBe(204);
  });

  it('names the state of a composition by its last change', async () => {
    const { updated_at } = await composition('state');
    const put = (tag: string) => call('PUT', '/compositions/state', { description: 'x' }, `"${tag}"`);
    expect(await put('2020-01-01T00:00:00.000Z')).toMatchObject(refused);
    const next = await put(updated_at);
    expect(next.status).toBe(200);
    expect(await put(updated_at)).toMatchObject(refused);
    expect(await call('DELETE', '/compositions/state', undefined, `"${updated_at}"`)).toMatchObject(refused);
    const deleted = await call('DELETE', '/compositions/state', undefined, `"${next.body.updated_at}"`);
    expect(deleted.status).toBe(204);
  });

  it('of ten saves at once on one state lets one through', async () => {
    await call('POST', '/contracts', contract('race'));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => call('PUT', '/contracts/race', { name: `n${i}` }, '"1"')),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  it('names what an environment runs by version or hash, and nothing by 0', async () => {
    const first = (await call('POST', '/bundles', { yaml_content: bundleYaml('run') })).body;
    await call('POST', '/bundles', { yaml_content: `${bundleYaml('run')}\n# second` });
    const deploy = (version: number, tag: string) =>
      call('POST', `/bundles/run/${version}/deploy?force=true`, { env: 'staging' }, `"${tag}"`);
    expect(await deploy(1, '1')).toMatchObject(refused);
    expect((await deploy(1, '0')).status).toBe(201);
    expect(await deploy(2, '0')).toMatchObject(refused);
    expect((await deploy(2, first.revision_hash)).status).toBe(201);
    const undeploy = (tag: string) =>
      call('DELETE', '/deployments/current?env=staging&bundle_name=run', undefined, `"${tag}"`);
    expect(await undeploy('1')).toMatchObject(refused);
    expect((await undeploy('2')).status).toBe(204);
    expect(await call('DELETE', '/bundles/run', undefined, '"1"')).toMatchObject(refused);
    expect((await call('DELETE', '/bundles/run', undefined, '"2"')).status).toBe(204);
  });

  it('keeps a refused deployment of a composition from saving a version', async () => {
    await composition('composed');
    const deploy = (tag: string) => call('POST', '/compositions/composed/deploy', { env: 'staging' }, tag);
    expect(await deploy('"7"')).toMatchObject(refused);
    expect((await call('GET', '/bundles/composed')).status).toBe(404);
    expect((await deploy('"0"')).body.bundle_version).toBe(1);
    expect((await deploy('"1"')).body.bundle_version).toBe(2);
  });

  it('names a rule by its hash', async () => {
    const fields = { priority: 1, pattern: 'x*', bundle_name: 'x', env: 'staging' };
    const { id, hash } = (await call('POST', '/assignment-rules', fields)).body;
    expect((await call('GET', '/assignment-rules')).body[0].hash).toBe(hash);
    const path = `/assignment-rules/${id}`;
    const other = '0'.repeat(64);
    expect(await call('PATCH', path, { pattern: 'y*' }, `"${other}"`)).toMatchObject(refused);
    const changed = await call('PATCH', path, { pattern: 'y*' }, `"${hash}"`);
    expect(changed.body.hash).not.toBe(hash);
    expect(await call('DELETE', path, undefined, `"${hash}"`)).toMatchObject(refused);
    expect((await call('DELETE', path, undefined, `"${changed.body.hash}"`)).status).toBe(204);
  });

  it('names the tool settings by their last change, and none by 0', async () => {
    const put = (kind: string, tag: string) =>
      call('PUT', '/settings/tools', { tool_arguments: { t: { a: kind } } }, `"${tag}"`);
    expect(await put('path', '2020-01-01T00:00:00.000Z')).toMatchObject(refused);
    const first = await put('path', '0');
    expect(first.status).toBe(200);
    expect(await put('url', '0')).toMatchObject(refused);
    expect((await put('url', first.body.updated_at)).status).toBe(200);
  });
});

describe('auto_deploy=hold', () => {
  const running = async (name: string) =>
    (await call('GET', `/bundles/${name}/current?env=staging`)).body.version;

  it('keeps the deployment of a composition back, until it is deployed', async () => {
    await composition('follow', 'auto_deploy');
    await call('POST', '/compositions/follow/deploy', { env: 'staging' });
    const held = await call('PUT', '/contracts/follow-rule?auto_deploy=hold', { name: 'held' });
    expect(held.body).toMatchObject({ version: 2, auto_deploy: 'held' });
    expect(await running('follow')).toBe(1);
    const saved = await call('PUT', '/compositions/follow?auto_deploy=hold', { description: 'held' });
    expect(saved.body.auto_deploy).toBe('held');
    expect((await call('PUT', '/compositions/follow', { description: 'not' })).body).not.toHaveProperty(
      'auto_deploy',
    );
    expect((await call('PUT', '/contracts/follow-rule', { name: 'out' })).body.auto_deploy).toBeUndefined();
    expect(await running('follow')).toBe(2);
  });

  it('has nothing to keep back where nothing follows', async () => {
    await composition('alone', 'auto_deploy');
    const saved = await call('PUT', '/contracts/alone-rule?auto_deploy=hold', { name: 'x' });
    expect(saved.body).not.toHaveProperty('auto_deploy');
    expect((await call('PUT', '/contracts/alone-rule?auto_deploy=off', { name: 'x' })).status).toBe(422);
  });
});

describe('GET /environments', () => {
  it('contains the tenant, and where the caller may change things', async () => {
    const { body } = await call('GET', '/environments');
    expect(body.tenant_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.environments.map((one: { can_change: boolean }) => one.can_change)).toEqual([
      true,
      true,
      true,
    ]);
  });
});

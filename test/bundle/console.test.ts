// Bundles and deployments: uploads, what a user and what a key of an environment can see, deploying and rolling back.
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleRoutes } from '../../src/bundle/console/routes.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import type { Env } from '../../src/shared/ids.ts';
import { attestationText, successionText } from '../../src/signing/rules/attestation.ts';
import { aBundle, aDeployment } from '../conformance/fixtures.ts';
import { bundleYaml } from '../contract/library.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  t.newFrames();
});
afterEach(() => t.close());

const upload = async (yaml: string, by = user) =>
  (await t.call('uploadBundle', { body: { yaml_content: yaml } }, by)).body;
const at = (name: string, version: number) => ({ params: { name, version: String(version) } });
const deploy = async (name: string, version: number, env: Env = 'production', by = user) =>
  (await t.call('deployBundle', { ...at(name, version), body: { env } }, by)).body;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

it('shows no signature of a version to people who see none of the environments that run it', async () => {
  const first = await upload(bundleYaml('team'));
  await deploy('team', first.version);
  const signatures = async (env: Env) => {
    const person: UserCaller = { ...user, roles: [{ role: 'viewer', env }] };
    const list = await t.call('listBundleVersions', { params: { name: 'team' } }, person);
    const one = await t.call('getBundleVersion', at('team', first.version), person);
    return [list.body[0]?.signature_hex, one.body.signature_hex];
  };
  expect(await signatures('staging')).toEqual([null, null]);
  const signature = expect.stringMatching(/^[0-9a-f]{128}$/);
  expect(await signatures('production')).toEqual([signature, signature]);
});

describe('an upload', () => {
  it('is the next version of the bundle that its metadata names, byte for byte, and is announced', async () => {
    const yaml = '# kept: é\r\n"metadata": {name: team}\n\n';
    expect(await upload(yaml)).toMatchObject({
      tenant_id: user.tenantId,
      name: 'team',
      version: 1,
      revision_hash: sha256(yaml),
      signature_hex: null,
      source_hub_slug: null,
      source_hub_revision: null,
      uploaded_by: 'ann@example.com',
    });
    expect(t.newFrames()).toEqual([
      {
        audience: `dashboards:${user.tenantId}`,
        type: 'bundle_uploaded',
        data: {
          type: 'bundle_uploaded',
          bundle_name: 'team',
          version: 1,
          revision_hash: sha256(yaml),
          uploaded_by: 'ann@example.com',
        },
      },
    ]);
    const raw = (await t.call('getBundleYaml', at('team', 1), user)).body;
    expect(Buffer.from(raw).toString()).toBe(yaml);
    expect((await upload(yaml)).version).toBe(2);
  });

  it('cannot have the bytes of an attestation or of a succession, which the same key signs', async () => {
    const stated = { previousKey: 'a'.repeat(64), publicKey: 'b'.repeat(64), rotatedAt: 0 };
    for (const text of [attestationText(aDeployment()), successionText(user.tenantId, stated)]) {
      await expect(upload(text)).rejects.toMatchObject({ code: 'unprocessable' });
    }
  });

  it('of unfinished YAML is saved; without a list of contracts it counts 0', async () => {
    await upload('metadata: {name: empty}\n');
    await upload('metadata: {name: three}\ncontracts: [1, 2, 3]\n');
    const { body } = await t.call('listBundles', {}, user);
    expect(new Map(body.map(({ name, contract_count }) => [name, contract_count]))).toEqual(
      new Map([
        ['empty', 0],
        ['three', 3],
      ]),
    );
  });

  it('of an older hub without a count stays readable', async () => {
    const { tenantId } = user;
    await t.hub.store.bundles.upload(aBundle({ tenantId, name: 'old', contractCount: null }));
    expect((await t.call('listBundles', {}, user)).body).toMatchObject([
      { name: 'old', contract_count: null },
    ]);
    expect((await t.call('hostedListRulesets', {}, t.operator(user))).body.rulesets).toMatchObject([
      { name: 'old', rule_count: null },
    ]);
  });

  it.each([
    ['broken', 'metadata: {name: a', /^Invalid YAML: /],
    ['a list', '- a\n', 'Invalid YAML: expected a mapping at the top level'],
    ['empty', '', 'Invalid YAML: expected a mapping at the top level'],
    ['without metadata', 'contracts: []\n', 'Missing required field: metadata.name'],
    ['without a name', 'metadata: {name: ""}\n', 'Missing required field: metadata.name'],
    ['with a number for a name', 'metadata: {name: 7}\n', /metadata\.name/],
    ['with a name out of pattern', 'metadata: {name: A b}\n', /metadata\.name/],
    ['with a name too long', `metadata: {name: ${'a'.repeat(129)}}\n`, /metadata\.name/],
    ['named evaluate', 'metadata: {name: evaluate}\n', /reserved/],
    ['named current', 'metadata: {name: current}\n', /reserved/],
  ])('%s is refused with a sentence', async (_what, yaml, message) => {
    await expect(upload(yaml)).rejects.toMatchObject({
      code: 'unprocessable',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
    expect(t.newFrames()).toEqual([]);
  });

  it('has at most 1,048,576 characters', async () => {
    const filled = (size: number) => `metadata: {name: big}\n# ${'x'.repeat(size)}`.slice(0, size);
    expect((await upload(filled(1_048_576))).version).toBe(1);
    await expect(upload(filled(1_048_577))).rejects.toMatchObject({
      code: 'validation_failed',
      detail: { problems: [{ loc: ['body', 'yaml_content'], msg: expect.any(String) }] },
    });
  });

  it('may come as YAML itself: the route names the field it stands for', () => {
    expect(bundleRoutes.uploadBundle.yamlField).toBe('yaml_content');
  });

  it('gets distinct versions when it comes many times at once', async () => {
    const versions = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => (await upload(bundleYaml('team', [`c${i}`]))).version),
    );
    expect(versions.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

it('in the list of a key is deployed nowhere after an undeploy', async () => {
  await upload(bundleYaml('team'));
  await deploy('team', 1);
  const deployedEnvs = async () =>
    (await t.call('listBundles', {}, t.key(user))).body.map(({ deployed_envs }) => deployed_envs);
  expect(await deployedEnvs()).toEqual([['production']]);
  await t.call('undeployBundle', { query: { env: 'production', bundle_name: 'team' } }, user);
  expect(await deployedEnvs()).toEqual([[]]);
});

describe('a deployment', () => {
  beforeEach(async () => {
    await upload(bundleYaml('team', ['one']));
    await upload(bundleYaml('team', ['one', 'two']));
  });

  it('is recorded, signed over the bytes, pushed to agents and announced', async () => {
    t.newFrames();
    expect(await deploy('team', 2, 'staging')).toMatchObject({
      env: 'staging',
      bundle_name: 'team',
      bundle_version: 2,
      deployed_by: 'ann@example.com',
    });
    expect(t.newFrames().map(({ audience, type }) => [audience, type])).toEqual([
      [`agents:${user.tenantId}/staging`, 'contract_update'],
      [`dashboards:${user.tenantId}`, 'contract_update'],
      [`dashboards:${user.tenantId}`, 'bundle_deployed'],
    ]);
    const { body } = await t.call(
      'currentBundle',
      { params: { name: 'team' }, query: { env: 'staging' } },
      user,
    );
    const bytes = Buffer.from(body.yaml_bytes, 'base64');
    expect(bytes.toString()).toBe(bundleYaml('team', ['one', 'two']));
    expect(body.signature).toMatch(/^[0-9a-f]{128}$/);
    expect(body.signature_hex).toBe(body.signature);
    expect(t.hub.secrets.verify(body.public_key, bytes, body.signature)).toBe(true);
  });

  it('of an older version is a rollback', async () => {
    await deploy('team', 2);
    t.clock.advance(1000);
    await deploy('team', 1);
    const { body } = await t.call(
      'currentBundle',
      { params: { name: 'team' }, query: { env: 'production' } },
      user,
    );
    expect(body.version).toBe(1);
    expect((await t.call('listDeployments', {}, user)).body.map((d) => d.bundle_version)).toEqual([1, 2]);
  });

  it('of what does not exist is not found, and of another environment than the three is refused', async () => {
    await expect(deploy('team', 3)).rejects.toMatchObject({ code: 'not_found' });
    await expect(deploy('nope', 1)).rejects.toMatchObject({ code: 'not_found' });
    await expect(deploy('team', 1, 'elsewhere' as Env)).rejects.toMatchObject({ code: 'validation_failed' });
    await expect(deploy('team', 1, 'production', await t.tenant())).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('shows in the environments where it is current, and in the summary', async () => {
    await deploy('team', 1, 'staging');
    await deploy('team', 1, 'production');
    await deploy('team', 2, 'staging');
    await deploy('team', 2, 'development');
    const versions = (await t.call('listBundleVersions', { params: { name: 'team' } }, user)).body;
    expect(versions.map(({ version, deployed_envs }) => [version, deployed_envs])).toEqual([
      [2, ['development', 'staging']],
      [1, ['production']],
    ]);
    const [summary] = (await t.call('listBundles', {}, user)).body;
    expect(summary).toMatchObject({
      name: 'team',
      latest_version: 2,
      version_count: 2,
      contract_count: 2,
      deployed_envs: ['development', 'production', 'staging'],
    });
    expect(summary?.last_deployed_at).not.toBeNull();
  });

  it('list is filtered by environment and bundle, newest first, 50 by default', async () => {
    await upload(bundleYaml('other'));
    for (let i = 0; i < 52; i++) {
      t.clock.advance(1000);
      await deploy('team', 1 + (i % 2), 'staging');
    }
    t.clock.advance(1000);
    await deploy('other', 1, 'production');
    const list = async (query: { [name: string]: string }) =>
      (await t.call('listDeployments', { query }, user)).body;
    expect(await list({})).toHaveLength(50);
    expect((await list({}))[0]?.bundle_name).toBe('other');
    expect(await list({ env: 'production' })).toHaveLength(1);
    expect(await list({ bundle_name: 'team', limit: '200' })).toHaveLength(52);
    for (const limit of ['0', '201', 'x', '1.5']) {
      await expect(list({ limit })).rejects.toMatchObject({ code: 'validation_failed' });
    }
    await expect(list({ env: 'elsewhere' })).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('an API key', () => {
  beforeEach(async () => {
    await upload(bundleYaml('team', ['one']));
    await upload(bundleYaml('team', ['one', 'two']));
    await upload(bundleYaml('hidden'));
    await deploy('team', 1, 'production');
    await deploy('team', 2, 'staging');
    await deploy('hidden', 1, 'staging');
  });
  const current = (env: string, key = t.key(user, 'production')) =>
    t.call('currentBundle', { params: { name: 'team' }, query: { env } }, key);

  it('lists only bundles deployed to its environment, counted over the versions deployed there', async () => {
    const list = async (env: Env) => (await t.call('listBundles', {}, t.key(user, env))).body;
    expect(await list('production')).toEqual([
      expect.objectContaining({
        name: 'team',
        latest_version: 1,
        version_count: 1,
        contract_count: 1,
        deployed_envs: ['production'],
      }),
    ]);
    expect((await list('staging')).map(({ name }) => name).sort()).toEqual(['hidden', 'team']);
    expect(await list('development')).toEqual([]);
  });

  it('reads the current bundle of its own environment; of another it is forbidden', async () => {
    expect((await current('production')).body.version).toBe(1);
    await expect(current('staging')).rejects.toMatchObject({
      code: 'env_mismatch',
      message: "API key is scoped to 'production', cannot access env 'staging'.",
    });
    for (const env of ['qa', 'PRODUCTION']) {
      await expect(current(env), env).rejects.toMatchObject({
        code: 'env_mismatch',
        message: `API key is scoped to 'production', cannot access env '${env}'.`,
      });
      const query = { env };
      await expect(t.call('currentBundle', { params: { name: 'team' }, query }, user)).rejects.toMatchObject({
        code: 'validation_failed',
      });
    }
    // An empty environment is an absent one.
    for (const query of [{}, { env: '' }]) {
      const unnamed = (caller: Caller) =>
        t.call('currentBundle', { params: { name: 'team' }, query }, caller);
      expect((await unnamed(t.key(user))).body).toMatchObject({ env: 'production', version: 1 });
      await expect(unnamed(user)).rejects.toMatchObject({
        code: 'validation_failed',
        detail: { problems: [expect.objectContaining({ loc: ['query', 'env'] })] },
      });
    }
    await expect(current('development', t.key(user, 'development'))).rejects.toMatchObject({
      code: 'not_found',
      message: "No deployed bundle 'team' for env 'development'",
    });
  });

  it('reads the signature in the encoding that its stream has, and always in hex beside it', async () => {
    const hub = await makeHub({ wire: { ...t.hub.settings.wire, signatureEncoding: 'base64' } });
    try {
      const admin = await hub.tenant();
      await hub.call('uploadBundle', { body: { yaml_content: bundleYaml('team') } }, admin);
      await hub.call('deployBundle', { ...at('team', 1), body: { env: 'production' } }, admin);
      const { body } = await hub.call(
        'currentBundle',
        { params: { name: 'team' }, query: { env: 'production' } },
        admin,
      );
      expect(Buffer.from(body.signature, 'base64').toString('hex')).toBe(body.signature_hex);
      const pushed = hub.frames.find(({ type }) => type === 'contract_update');
      expect(pushed?.data.signature).toBe(body.signature);
    } finally {
      await hub.close();
    }
  });

  it.each(['getBundleVersion', 'getBundleYaml'] as const)(
    'gets 404, not 403, from %s for what its environment does not run',
    async (operation) => {
      const key = t.key(user, 'production');
      expect((await t.call(operation, at('team', 1), key)).status).toBe(200);
      for (const other of [at('team', 2), at('team', 9), at('hidden', 1), at('nope', 1)]) {
        await expect(t.call(operation, other, key)).rejects.toMatchObject({ code: 'not_found' });
      }
      // Superseded.
      await deploy('team', 2, 'production');
      await expect(t.call(operation, at('team', 1), key)).rejects.toMatchObject({ code: 'not_found' });
    },
  );

  it('of another tenant sees nothing of this one', async () => {
    const key = t.key(await t.tenant(), 'production');
    expect((await t.call('listBundles', {}, key)).body).toEqual([]);
    await expect(current('production', key)).rejects.toMatchObject({ code: 'not_found' });
    await expect(t.call('getBundleYaml', at('team', 1), key)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is no limit for a signed-in user', async () => {
    expect((await t.call('getBundleVersion', at('hidden', 1), user)).body.name).toBe('hidden');
    expect((await t.call('listBundles', {}, user)).body).toHaveLength(2);
  });
});

it('an unknown bundle is not found, whatever its name', async () => {
  for (const name of ['nope', 'Odd Name', '__proto__', '..']) {
    await expect(t.call('listBundleVersions', { params: { name } }, user)).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(t.call('getBundleVersion', at(name, 1), user)).rejects.toMatchObject({ code: 'not_found' });
  }
});

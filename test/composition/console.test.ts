// Compositions: saved, assembled to the byte, deployed; and what a new version of a contract does to them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { maxRollouts } from '../../src/composition/use-cases/rollouts.ts';
import { addComposition, addContract, definition } from '../contract/library.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { itAtNight } from '../runs.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  await addContract(t, user, 'a');
  await addContract(t, user, 'b', { definition: { ...definition('^/root/'), mode: 'observe' } });
  await addContract(t, user, 'c');
  t.newFrames();
});
afterEach(() => t.close());

const named = (name: string) => ({ params: { name } });
const preview = async (name = 'team') => (await t.call('previewComposition', named(name), user)).body;
const update = async (body: object, name = 'team') =>
  (await t.call('updateComposition', { ...named(name), body }, user)).body;
const deploy = async (env?: string, name = 'team') =>
  (await t.call('deployComposition', { ...named(name), ...(env ? { body: { env } } : {}) }, user)).body;
const newVersion = (contract_id: string, body: object) =>
  t.call('updateContract', { params: { contract_id }, body }, user);
const frames = () => t.newFrames().map(({ data }) => data);

describe('a composition', () => {
  it('pins each contract to its latest version, and says when there is a newer one', async () => {
    await newVersion('a', { name: 'A2' });
    const created = await addComposition(t, user, 'team', ['b', 'a']);
    expect(created).toMatchObject({
      name: 'team',
      defaults_mode: 'enforce',
      update_strategy: 'manual',
      contract_count: 2,
      created_by: 'ann@example.com',
    });
    await newVersion('a', { name: 'A3' });
    const { contracts } = (await t.call('getComposition', named('team'), user)).body;
    expect(contracts).toEqual([
      expect.objectContaining({ contract_id: 'b', contract_version: 1, has_newer_version: false }),
      expect.objectContaining({
        contract_id: 'a',
        contract_name: 'A2',
        contract_type: 'pre',
        contract_version: 2,
        has_newer_version: true,
        mode_override: null,
        enabled: true,
      }),
    ]);
  });

  it('exists once per name', async () => {
    await addComposition(t, user, 'team', []);
    await expect(addComposition(t, user, 'team', [])).rejects.toMatchObject({ code: 'conflict' });
  });

  it.each([
    [{ name: 'Team' }],
    [{ name: 'evaluate' }],
    [{ name: 'current' }],
    [{ defaults_mode: 'manual' }],
    [{ update_strategy: 'sometimes' }],
    [{ contracts: [{ contract_id: 'a' }] }],
    [{ contracts: [{ contract_id: 'a', position: 1, mode_override: 'deny' }] }],
    [
      {
        contracts: [
          { contract_id: 'a', position: 1 },
          { contract_id: 'a', position: 2 },
        ],
      },
    ],
    [{ contracts: Array.from({ length: 101 }, (_, i) => ({ contract_id: `c${i}`, position: i })) }],
  ])('of %o is refused', async (wrong) => {
    await expect(addComposition(t, user, 'team', [], wrong)).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  it('of an unknown contract is refused, on creation and on update alike', async () => {
    const unknown = { code: 'unprocessable', message: "Contract 'nope' not found" };
    await expect(addComposition(t, user, 'team', ['nope'])).rejects.toMatchObject(unknown);
    await addComposition(t, user, 'team', ['a']);
    await expect(update({ contracts: [{ contract_id: 'nope', position: 1 }] })).rejects.toMatchObject(
      unknown,
    );
    expect((await t.call('getComposition', named('team'), user)).body.contract_count).toBe(1);
  });

  it('keeps what an update leaves out, and moves updated_at', async () => {
    const created = await addComposition(t, user, 'team', ['a'], {
      description: 'words',
      tools_config: { read_file: { side_effect: 'read' } },
    });
    t.clock.advance(1000);
    const first = await update({ defaults_mode: 'observe', contracts: null, update_strategy: null });
    expect(first).toMatchObject({
      description: 'words',
      defaults_mode: 'observe',
      update_strategy: 'manual',
      contract_count: 1,
      tools_config: { read_file: { side_effect: 'read' } },
    });
    expect(Date.parse(first.updated_at) - Date.parse(created.updated_at)).toBe(1000);
    const second = await update({ description: null, tools_config: null });
    expect(second).toMatchObject({ description: null, tools_config: null, defaults_mode: 'observe' });
  });

  it('loses no update: both of two at once are kept, and one made on an older state can be refused', async () => {
    const { updated_at } = await addComposition(t, user, 'team', ['a']);
    await Promise.all([update({ description: 'one' }), update({ defaults_mode: 'observe' })]);
    const read = (await t.call('getComposition', named('team'), user)).body;
    expect(read).toMatchObject({ description: 'one', defaults_mode: 'observe' });
    t.newFrames();
    const late = update({ contracts: [], if_updated_at: updated_at });
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect(frames()).toEqual([]);
    const edits = [['b'], ['c']].map((ids) =>
      update({
        contracts: ids.map((contract_id) => ({ contract_id, position: 1 })),
        if_updated_at: read.updated_at,
      }),
    );
    const results = await Promise.allSettled(edits);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { contracts } = (await t.call('getComposition', named('team'), user)).body;
    expect(contracts.map((c) => c.contract_id)).toEqual(results[0]?.status === 'fulfilled' ? ['b'] : ['c']);
  });

  it('takes a list of contracts as a whole, and pins it anew', async () => {
    await addComposition(t, user, 'team', ['a', 'b']);
    await newVersion('a', { name: 'A2' });
    const { contracts } = await update({
      contracts: [
        { contract_id: 'c', position: 5 },
        { contract_id: 'a', position: 3, mode_override: 'observe', enabled: false },
      ],
    });
    expect(contracts.map((c) => [c.contract_id, c.contract_version, c.mode_override, c.enabled])).toEqual([
      ['a', 2, 'observe', false],
      ['c', 1, null, true],
    ]);
  });

  it('announces its creation, change, deployment and deletion', async () => {
    await addComposition(t, user, 'team', ['a']);
    await update({ description: 'x' });
    await deploy('staging');
    await t.call('deleteComposition', named('team'), user);
    const changed = { type: 'composition_changed', composition_name: 'team' };
    expect(frames().filter(({ type }) => type === 'composition_changed')).toEqual([
      changed,
      changed,
      { ...changed, bundle_version: 1 },
      changed,
    ]);
  });

  it('is deleted, but its bundles stay', async () => {
    await addComposition(t, user, 'team', ['a']);
    await deploy();
    expect((await t.call('deleteComposition', named('team'), user)).status).toBe(204);
    await expect(t.call('getComposition', named('team'), user)).rejects.toMatchObject({ code: 'not_found' });
    expect((await t.call('listBundleVersions', named('team'), user)).body).toHaveLength(1);
  });

  it('that does not exist is not found, whatever its name', async () => {
    for (const name of ['nope', 'Odd Name', '__proto__', 'é'.repeat(100)]) {
      for (const operation of ['getComposition', 'previewComposition', 'deleteComposition'] as const) {
        await expect(t.call(operation, named(name), user), name).rejects.toMatchObject({ code: 'not_found' });
      }
      await expect(update({}, name)).rejects.toMatchObject({ code: 'not_found' });
      await expect(deploy('staging', name)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  it('are listed newest change first', async () => {
    await addComposition(t, user, 'one', ['a']);
    t.clock.advance(1000);
    await addComposition(t, user, 'two', []);
    t.clock.advance(1000);
    await update({ description: 'x' }, 'one');
    const { body } = await t.call('listCompositions', {}, user);
    expect(body.map(({ name, contract_count }) => [name, contract_count])).toEqual([
      ['one', 1],
      ['two', 0],
    ]);
  });
});

const golden = `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: team
  description: For the team
defaults:
  mode: enforce
contracts:
  - id: c
    type: pre
    tool: read_file
    when:
      args.path:
        matches: ^/etc/
    then:
      effect: deny
      message: Not that file.
    mode: observe
  - id: b
    type: pre
    tool: read_file
    when:
      args.path:
        matches: ^/root/
    then:
      effect: deny
      message: Not that file.
    mode: observe
  - id: a
    type: pre
    tool: read_file
    when:
      args.path:
        matches: ^/etc/
    then:
      effect: deny
      message: Not that file.
    mode: enforce
tools:
  read_file:
    side_effect: read
observability:
  stdout: true
`;

describe('assembly', () => {
  const full = {
    description: 'For the team',
    tools_config: { read_file: { side_effect: 'read' } },
    observability: { stdout: true },
    contracts: [
      { contract_id: 'a', position: 30 },
      { contract_id: 'b', position: 20 },
      { contract_id: 'c', position: 10, mode_override: 'observe' },
    ],
  };

  itAtNight('of more than a bundle can hold is not assembled, however it got large', async () => {
    const large = { ...definition(), note: 'x'.repeat(260_000) };
    for (let i = 0; i < 9; i++) await addContract(t, user, `large-${i}`, { definition: large });
    const ids = Array.from({ length: 9 }, (_, i) => `large-${i}`);
    await addComposition(t, user, 'many', ids);
    // Indentation makes many times as much of it.
    let deep: unknown = Array.from({ length: 50_000 }, () => 1);
    for (let i = 0; i < 40; i++) deep = { a: deep };
    await addContract(t, user, 'deep', { definition: { ...definition(), deep } });
    await addComposition(t, user, 'nested', ['deep']);
    const problem = 'The assembled bundle is larger than 1048576 bytes';
    for (const name of ['many', 'nested']) {
      expect(await preview(name)).toEqual({
        yaml_content: '',
        contracts_count: 0,
        validation_errors: [problem],
        warnings: [],
      });
      await expect(deploy('staging', name)).rejects.toMatchObject({ code: 'unprocessable' });
    }
  });

  it('previews the YAML to the byte and writes nothing', async () => {
    await addComposition(t, user, 'team', [], full);
    t.newFrames();
    expect(await preview()).toEqual({
      yaml_content: golden,
      contracts_count: 3,
      validation_errors: [],
      warnings: [],
    });
    expect((await t.call('listBundles', {}, user)).body).toEqual([]);
    expect(frames()).toEqual([]);
  });

  it('writes rulesets for agents that know their words alone, and bundles for others', async () => {
    await addComposition(t, user, 'team', [], { ...full, document_kind: 'ruleset' });
    const { yaml_content: yaml, validation_errors: problems } = await preview();
    expect(problems).toEqual([]);
    expect(yaml).toMatch(/^apiVersion: service\/v1\nkind: Ruleset\n/);
    expect(yaml).toMatch(/\nrules:\n/);
    expect(yaml).not.toMatch(/\b(contracts|effect|deny|approve):?\b/);
    await deploy('staging');
    const by = { params: { name: 'team' }, query: { env: 'staging' } };
    expect((await t.call('hostedCurrentRuleset', by, t.operator(user))).body.yaml).toBe(yaml);
    const change = async (document_kind: 'bundle' | null) =>
      (await t.call('updateComposition', { params: { name: 'team' }, body: { document_kind } }, user)).body;
    for (const document_kind of ['bundle', null] as const) {
      expect(await change(document_kind)).toMatchObject({ document_kind });
      expect((await preview()).yaml_content).toBe(golden);
    }
  });

  it('deploys exactly what it previews, signed', async () => {
    await addComposition(t, user, 'team', [], full);
    const deployed = await deploy('staging');
    expect(deployed).toMatchObject({
      bundle_name: 'team',
      bundle_version: 1,
      contracts_assembled: [
        { contract_id: 'c', version: 1, mode: 'observe', observe: false },
        { contract_id: 'b', version: 1, mode: 'observe', observe: false },
        { contract_id: 'a', version: 1, mode: 'enforce', observe: false },
      ],
    });
    const current = (await t.call('currentBundle', { ...named('team'), query: { env: 'staging' } }, user))
      .body;
    const bytes = Buffer.from(current.yaml_bytes, 'base64');
    expect(bytes.toString()).toBe(golden);
    expect(current.revision_hash).toBe(t.hub.secrets.sha256(golden));
    expect(t.hub.secrets.verify(current.public_key, bytes, current.signature)).toBe(true);
    const [first] = (await t.call('listDeployments', {}, user)).body;
    expect(first).toMatchObject({ id: deployed.deployment_id, env: 'staging', deployed_by: user.email });
  });

  it('writes the mode of the item, else of the definition, else of the composition', async () => {
    await addComposition(t, user, 'team', ['a', 'b'], { defaults_mode: 'observe' });
    await update({
      contracts: [
        { contract_id: 'a', position: 1 },
        { contract_id: 'b', position: 2, mode_override: 'enforce' },
      ],
    });
    const deployed = await deploy();
    expect(deployed.contracts_assembled.map(({ contract_id, mode }) => [contract_id, mode])).toEqual([
      ['a', 'observe'],
      ['b', 'enforce'],
    ]);
  });

  it('breaks ties of position by contract id, and fills the type in from the contract', async () => {
    const { type: _type, ...untyped } = definition();
    await addContract(t, user, '0', { definition: untyped });
    await addComposition(t, user, 'team', [], {
      contracts: ['c', '0', 'a'].map((contract_id) => ({ contract_id, position: 7 })),
    });
    const { yaml_content, validation_errors } = await preview();
    expect(validation_errors).toEqual([]);
    expect(
      [...yaml_content.matchAll(/- id: (.*)\n\s+type: (.*)\n/g)].map(([, id, type]) => [id, type]),
    ).toEqual([
      ['"0"', 'pre'],
      ['a', 'pre'],
      ['c', 'pre'],
    ]);
  });

  it('of nothing enabled is empty with one problem, and is not deployed', async () => {
    await addComposition(t, user, 'team', [], {
      contracts: [{ contract_id: 'a', position: 1, enabled: false }],
    });
    expect(await preview()).toEqual({
      yaml_content: '',
      contracts_count: 0,
      validation_errors: ['Composition has no enabled contracts'],
      warnings: [],
    });
    await expect(deploy()).rejects.toMatchObject({
      code: 'unprocessable',
      message: expect.stringContaining('no enabled contracts'),
    });
  });

  it('shows the problems of stored definitions, and deploys none of them', async () => {
    await addContract(t, user, 'broken', { definition: { tool: 'x', when: { 'args.p': { matches: '(' } } } });
    await addComposition(t, user, 'team', ['a', 'broken']);
    const { validation_errors, contracts_count } = await preview();
    expect(contracts_count).toBe(2);
    expect(validation_errors.length).toBeGreaterThanOrEqual(2);
    expect(validation_errors.join('\n')).toContain('broken');
    t.newFrames();
    await expect(deploy()).rejects.toMatchObject({ code: 'unprocessable' });
    expect((await t.call('listBundles', {}, user)).body).toEqual([]);
    expect(frames()).toEqual([]);
  });

  it('beyond 1 MiB is a problem, not a fault', async () => {
    const big = { ...definition(), note: 'x'.repeat(200_000) };
    const ids = Array.from({ length: 12 }, (_, i) => `big${i}`);
    for (const id of ids) await addContract(t, user, id, { definition: big });
    await addComposition(t, user, 'team', ids);
    const { validation_errors } = await preview();
    expect(validation_errors.join()).toContain('1048576 bytes');
  });
});

describe('a deployment', () => {
  it('goes to production without a body, and to no unknown environment', async () => {
    await addComposition(t, user, 'team', ['a']);
    await deploy();
    const [first] = (await t.call('listDeployments', {}, user)).body;
    expect(first?.env).toBe('production');
    await expect(deploy('elsewhere')).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('is announced to agents of its environment and to dashboards, after it can be read', async () => {
    await addComposition(t, user, 'team', ['a']);
    t.newFrames();
    await deploy('staging');
    expect(t.newFrames().map(({ audience, type }) => [audience, type])).toEqual([
      [`agents:${user.tenantId}/staging`, 'contract_update'],
      [`dashboards:${user.tenantId}`, 'contract_update'],
      [`dashboards:${user.tenantId}`, 'bundle_deployed'],
      [`dashboards:${user.tenantId}`, 'composition_changed'],
    ]);
  });

  it('shares names and versions with uploads', async () => {
    const yaml = 'metadata: {name: team}\n';
    await t.call('uploadBundle', { body: { yaml_content: yaml } }, user);
    await addComposition(t, user, 'team', ['a']);
    expect((await deploy()).bundle_version).toBe(2);
  });
});

describe('a new version of a contract', () => {
  const deployedTo = async () =>
    (await t.call('listDeployments', {}, user)).body.map((d) => [d.bundle_version, d.env, d.deployed_by]);

  it('rolls out by itself where auto_deploy runs, before the update is answered', async () => {
    await addComposition(t, user, 'team', ['a', 'c'], { update_strategy: 'auto_deploy' });
    await deploy('staging');
    await deploy('production');
    t.clock.advance(1000);
    t.newFrames();
    await newVersion('a', { definition: definition('^/new/') });
    expect((await deployedTo()).slice(0, 2).sort()).toEqual([
      [3, 'production', 'system:auto_deploy'],
      [3, 'staging', 'system:auto_deploy'],
    ]);
    const { contracts } = (await t.call('getComposition', named('team'), user)).body;
    expect(contracts.map((c) => [c.contract_version, c.has_newer_version])).toEqual([
      [2, false],
      [1, false],
    ]);
    const yaml = (await t.call('getBundleYaml', { params: { name: 'team', version: '3' } }, user)).body;
    expect(Buffer.from(yaml).toString()).toContain('^/new/');
    const types = frames().flatMap(({ type }) => (type === 'fleet_changed' ? [] : [type]));
    expect(types[0]).toBe('contract_updated');
    expect(types.at(-1)).toBe('composition_changed');
  });

  it.each(['manual', 'observe_first'])('deploys nothing of a %s composition', async (update_strategy) => {
    await addComposition(t, user, 'team', ['a'], { update_strategy });
    await deploy();
    t.newFrames();
    await newVersion('a', { name: 'x' });
    expect(await deployedTo()).toHaveLength(1);
    expect(frames().map(({ type }) => type)).toEqual(['contract_updated']);
  });

  it('deploys nothing of an auto_deploy composition that runs nowhere', async () => {
    await addComposition(t, user, 'team', ['a'], { update_strategy: 'auto_deploy' });
    await newVersion('a', { name: 'x' });
    expect(await deployedTo()).toEqual([]);
  });

  it('that would not load leaves auto_deploy pinned, and says so', async () => {
    await addComposition(t, user, 'team', ['a'], { update_strategy: 'auto_deploy' });
    await deploy();
    t.newFrames();
    const answer = await newVersion('a', { definition: { tool: 'x' } });
    expect(answer.body).toMatchObject({ version: 2, auto_deploy: 'held' });
    expect(await deployedTo()).toHaveLength(1);
    const { contracts } = (await t.call('getComposition', named('team'), user)).body;
    expect(contracts[0]).toMatchObject({ contract_version: 1, has_newer_version: true });
    expect(frames().map(({ type }) => type)).toEqual(['contract_updated', 'composition_changed']);
  });

  it('leaves the compositions beyond the twentieth pinned, and says so', async () => {
    const names = Array.from({ length: maxRollouts + 1 }, (_, i) => `team-${i + 10}`);
    for (const name of names) {
      await addComposition(t, user, name, ['a'], { update_strategy: 'auto_deploy' });
      await deploy('staging', name);
    }
    expect((await newVersion('a', { name: 'x' })).body).toMatchObject({ version: 2, auto_deploy: 'held' });
    const rollouts = (await deployedTo()).filter(([, , by]) => by === 'system:auto_deploy');
    expect(rollouts).toHaveLength(maxRollouts);
  });

  it.each([
    ['undeploy', []],
    ['rollback', [1]],
  ] as const)('undoes no %s that comes while auto_deploy works', async (change, versions) => {
    await addComposition(t, user, 'team', ['a'], { update_strategy: 'auto_deploy' });
    await deploy('staging');
    await deploy('staging');
    const { compositions, deployments } = t.hub.store;
    const read = compositions.get.bind(compositions);
    vi.spyOn(compositions, 'get').mockImplementationOnce(async (...args) => {
      const body = { env: 'staging' };
      if (change === 'rollback')
        await t.call('deployBundle', { params: { name: 'team', version: '1' }, body }, user);
      else await t.call('undeployBundle', { query: { ...body, bundle_name: 'team' } }, user);
      return read(...args);
    });
    expect((await newVersion('a', { definition: definition('^/new/') })).body.auto_deploy).toBe('held');
    const current = await deployments.getCurrent(user.tenantId, 'staging', 'team');
    expect(current === null ? [] : [current.version]).toEqual(versions);
  });

  it('comes after the one of another save that was deployed in the middle of it', async () => {
    await addComposition(t, user, 'team', ['a', 'c'], { update_strategy: 'auto_deploy' });
    await deploy('staging');
    const { compositions } = t.hub.store;
    const read = compositions.get.bind(compositions);
    vi.spyOn(compositions, 'get').mockImplementationOnce(async (...args) => {
      await newVersion('c', { definition: definition('^/other/') });
      return read(...args);
    });
    const { body } = await newVersion('a', { definition: definition('^/new/') });
    expect(body).not.toHaveProperty('auto_deploy');
    expect((await deployedTo()).map(([version, , by]) => [version, by])).toEqual([
      [3, 'system:auto_deploy'],
      [2, 'system:auto_deploy'],
      [1, expect.any(String)],
    ]);
    const { contracts } = (await t.call('getComposition', named('team'), user)).body;
    expect(contracts.map((one: { contract_version: number }) => one.contract_version)).toEqual([2, 2]);
  });

  it('of a session contract is no shadow of observe_first: its limits would be enforced', async () => {
    const limits = (max: number) => ({
      limits: { max_tool_calls: max },
      then: { effect: 'deny', message: 'that is enough' },
    });
    await addContract(t, user, 'few', { type: 'session', definition: limits(100) });
    await addComposition(t, user, 'team', ['a', 'few'], { update_strategy: 'observe_first' });
    await newVersion('few', { definition: limits(5) });
    await newVersion('a', { definition: definition('^/new/') });
    expect((await deploy()).contracts_assembled).toEqual([
      { contract_id: 'a', version: 1, mode: 'enforce', observe: false },
      { contract_id: 'a', version: 2, mode: 'observe', observe: true },
      { contract_id: 'few', version: 1, mode: 'enforce', observe: false },
    ]);
    expect((await preview()).yaml_content).not.toContain('max_tool_calls: 5');
  });

  it('runs as a shadow of observe_first until the composition is saved with it', async () => {
    await addComposition(t, user, 'team', ['a', 'c'], { update_strategy: 'observe_first' });
    await newVersion('a', { definition: definition('^/new/') });
    const shadowed = await deploy();
    expect(shadowed.contracts_assembled).toEqual([
      { contract_id: 'a', version: 1, mode: 'enforce', observe: false },
      { contract_id: 'a', version: 2, mode: 'observe', observe: true },
      { contract_id: 'c', version: 1, mode: 'enforce', observe: false },
    ]);
    const { yaml_content, validation_errors } = await preview();
    expect(validation_errors).toEqual([]);
    expect(yaml_content).toContain('- id: a-obs\n');
    await update({
      contracts: ['a', 'c'].map((contract_id, i) => ({ contract_id, position: i })),
    });
    expect((await deploy()).contracts_assembled).toEqual([
      { contract_id: 'a', version: 2, mode: 'enforce', observe: false },
      { contract_id: 'c', version: 1, mode: 'enforce', observe: false },
    ]);
  });
});

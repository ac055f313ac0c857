// The contract library: versions, filters, use by compositions, import.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { addComposition, addContract, bundleYaml, definition } from './library.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  t.newFrames();
});
afterEach(() => t.close());

const id = (contract_id: string) => ({ params: { contract_id } });
const frames = () => t.newFrames().map(({ data }) => data);

describe('a contract', () => {
  it('is created as version 1 and announced', async () => {
    const created = await t.call(
      'createContract',
      { body: { contract_id: 'block-etc', name: 'Block', type: 'pre', definition: definition() } },
      user,
    );
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      contract_id: 'block-etc',
      version: 1,
      description: null,
      tags: [],
      usage_count: 0,
      is_latest: true,
      created_by: 'ann@example.com',
      definition: definition(),
      versions: [],
    });
    expect(t.newFrames()).toEqual([
      {
        audience: `dashboards:${user.tenantId}`,
        type: 'contract_created',
        data: { type: 'contract_created', contract_id: 'block-etc', version: 1 },
      },
    ]);
  });

  it('exists once: a second is refused and announces nothing', async () => {
    await addContract(t, user, 'a');
    t.newFrames();
    await expect(addContract(t, user, 'a')).rejects.toMatchObject({
      code: 'conflict',
      message: "Contract 'a' already exists. Use PUT to create a new version.",
    });
    expect(frames()).toEqual([]);
  });

  it.each([
    [{ contract_id: 'Upper' }, 'contract_id'],
    [{ contract_id: '-a' }, 'contract_id'],
    [{ contract_id: 'a'.repeat(129) }, 'contract_id'],
    [{ type: 'other' }, 'type'],
    [{ name: '' }, 'name'],
    [{ name: 'x\ny' }, 'name'],
    [{ description: 'x'.repeat(2001) }, 'description'],
    [{ definition: [] }, 'definition'],
    [{ definition: { x: 'y'.repeat(262_144) } }, 'definition'],
    [{ tags: ['x'.repeat(65)] }, 'tags'],
    [{ tags: Array.from({ length: 51 }, (_, i) => `t${i}`) }, 'tags'],
  ])('with %o is refused at its field', async (wrong, field) => {
    await expect(addContract(t, user, 'a', wrong)).rejects.toMatchObject({
      code: 'validation_failed',
      detail: { problems: [expect.objectContaining({ loc: expect.arrayContaining(['body', field]) })] },
    });
  });

  it('keeps what an update leaves out; null clears what can be empty', async () => {
    await addContract(t, user, 'a', { description: 'words', tags: ['x'] });
    t.newFrames();
    const second = await t.call('updateContract', { ...id('a'), body: { name: 'New' } }, user);
    expect(second.body).toMatchObject({ version: 2, name: 'New', description: 'words', tags: ['x'] });
    expect(second.body.versions.map((v) => v.version)).toEqual([2, 1]);
    const third = await t.call(
      'updateContract',
      { ...id('a'), body: { name: null, description: null, tags: null } },
      user,
    );
    expect(third.body).toMatchObject({ version: 3, name: 'New', description: null, tags: [] });
    expect(frames().map(({ type, version }) => [type, version])).toEqual([
      ['contract_updated', 2],
      ['contract_updated', 3],
    ]);
  });

  it.each([[{}], [{ name: null, definition: null }], [{ type: 'post', contract_id: 'b' }]])(
    'is not updated by %o: nothing to change',
    async (body) => {
      await addContract(t, user, 'a');
      await expect(t.call('updateContract', { ...id('a'), body }, user)).rejects.toMatchObject({
        code: 'unprocessable',
        message: expect.stringContaining('The request changes no field'),
      });
      expect((await t.call('getContract', id('a'), user)).body.version).toBe(1);
    },
  );

  it('keeps every version; only the last is latest', async () => {
    await addContract(t, user, 'a');
    await t.call('updateContract', { ...id('a'), body: { definition: definition('^/root/') } }, user);
    const first = (await t.call('getContractVersion', { params: { contract_id: 'a', version: '1' } }, user))
      .body;
    expect(first).toMatchObject({ version: 1, is_latest: false, definition: definition(), versions: [] });
    const latest = (await t.call('getContract', id('a'), user)).body;
    expect(latest).toMatchObject({ version: 2, is_latest: true, definition: definition('^/root/') });
    expect(latest.versions).toHaveLength(2);
    await expect(
      t.call('getContractVersion', { params: { contract_id: 'a', version: '3' } }, user),
    ).rejects.toMatchObject({ code: 'not_found', message: "Contract 'a' v3 not found" });
  });

  it.each(['0', '-1', '1.5', '1e3', 'x', ''])('has no version %o', async (version) => {
    await expect(
      t.call('getContractVersion', { params: { contract_id: 'a', version } }, user),
    ).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('gets distinct versions from parallel updates', async () => {
    await addContract(t, user, 'a');
    const updates = Array.from({ length: 8 }, (_, i) =>
      t.call('updateContract', { ...id('a'), body: { name: `n${i}` } }, user),
    );
    const versions = (await Promise.all(updates)).map(({ body }) => body.version);
    expect(versions.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('of another tenant does not exist', async () => {
    await addContract(t, user, 'a');
    const other = await t.tenant();
    for (const call of [
      () => t.call('getContract', id('a'), other),
      () => t.call('updateContract', { ...id('a'), body: { name: 'x' } }, other),
      () => t.call('deleteContract', id('a'), other),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    }
    expect((await t.call('listContracts', {}, other)).body).toEqual([]);
  });

  it('is deleted with all versions, but not while a composition names it', async () => {
    await addContract(t, user, 'a');
    await addComposition(t, user, 'one', ['a']);
    await addComposition(t, user, 'two', [], {
      contracts: [{ contract_id: 'a', position: 1, enabled: false }],
    });
    await expect(t.call('deleteContract', id('a'), user)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/'one', 'two'/),
    });
    for (const name of ['one', 'two']) await t.call('deleteComposition', { params: { name } }, user);
    expect((await t.call('deleteContract', id('a'), user)).status).toBe(204);
    await expect(t.call('deleteContract', id('a'), user)).rejects.toMatchObject({ code: 'not_found' });
    await expect(t.call('getContract', id('a'), user)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('tells which compositions use it, and none when unknown', async () => {
    await addContract(t, user, 'a');
    const composition = await addComposition(t, user, 'one', ['a']);
    expect((await t.call('contractUsage', id('a'), user)).body).toEqual([
      { composition_id: composition.id, composition_name: 'one' },
    ]);
    expect((await t.call('contractUsage', id('unknown'), user)).body).toEqual([]);
  });
});

describe('the list of contracts', () => {
  beforeEach(async () => {
    await addContract(t, user, 'alpha', { tags: ['x', 'y'], description: '100% sure' });
    t.clock.advance(1000);
    await addContract(t, user, 'beta', { type: 'post', tags: ['y'] });
    t.clock.advance(1000);
    await addContract(t, user, 'gamma', { tags: ['z'] });
    await addComposition(t, user, 'one', ['alpha']);
  });
  const list = async (query: { [name: string]: string }) =>
    (await t.call('listContracts', { query }, user)).body.map((contract) => contract.contract_id);

  it('holds the latest versions, newest first, with their real use', async () => {
    const { body } = await t.call('listContracts', {}, user);
    expect(body.map(({ contract_id, usage_count }) => [contract_id, usage_count])).toEqual([
      ['gamma', 0],
      ['beta', 0],
      ['alpha', 1],
    ]);
  });

  it('adds the rules on request: in words, with their tools, and where they are deployed', async () => {
    await t.call('deployComposition', { params: { name: 'one' }, body: { env: 'staging' } }, user);
    await t.call('deployComposition', { params: { name: 'one' }, body: { env: 'production' } }, user);
    const rules = async (caller = user) =>
      (await t.call('listContracts', { query: { include_rules: 'true' } }, caller)).body.map(
        ({ rule }) => rule,
      );
    const alpha = {
      sentence: 'Denies read_file when args.path matches ^/etc/',
      tools: ['read_file'],
      deployed: expect.arrayContaining([
        { env: 'staging', bundle_name: 'one', bundle_version: 1 },
        { env: 'production', bundle_name: 'one', bundle_version: 2 },
      ]),
    };
    expect(await rules()).toEqual([
      { ...alpha, deployed: [] },
      { ...alpha, sentence: 'Denies results of read_file when args.path matches ^/etc/', deployed: [] },
      alpha,
    ]);
    const stager = { ...user, roles: [{ role: 'viewer', env: 'staging' }] as const };
    expect((await rules(stager)).at(-1)?.deployed.map(({ env }) => env)).toEqual(['staging']);
    // A rule is read again after its contract changed.
    const changed = { ...definition('^/srv/'), tool: 'write_file' };
    await t.call('updateContract', { ...id('alpha'), body: { definition: changed } }, user);
    expect((await rules()).find((rule) => rule?.deployed.length === 2)).toMatchObject({
      sentence: 'Denies write_file when args.path matches ^/srv/',
      tools: ['write_file'],
    });
    // A definition that no agent could load fails no list, and a long name does not fill one.
    const wrong = { ...changed, tool: 'x'.repeat(1_000), then: { effect: { toString: 1 } } };
    await t.call('updateContract', { ...id('alpha'), body: { definition: wrong } }, user);
    const rule = (await rules()).find((one) => one?.deployed.length === 2);
    expect(rule?.sentence).toMatch(/^… xxx/);
    expect(rule?.tools.map((name) => name.length)).toEqual([255]);
    expect((await t.call('listContracts', {}, user)).body[0]).not.toHaveProperty('rule');
  });

  it('is filtered by type, tag and search; wildcards mean themselves', async () => {
    expect(await list({ type: 'post' })).toEqual(['beta']);
    expect(await list({ type: 'unknown' })).toEqual([]);
    expect(await list({ tag: 'y' })).toEqual(['beta', 'alpha']);
    expect(await list({ search: 'ALPH' })).toEqual(['alpha']);
    expect(await list({ search: '100%' })).toEqual(['alpha']);
    expect(await list({ search: '%a%' })).toEqual([]);
    expect(await list({ search: '_lpha' })).toEqual([]);
    expect(await list({ tag: 'y', type: 'pre' })).toEqual(['alpha']);
  });

  it('has a list of its tags', async () => {
    const tags = async (query: { [name: string]: string }) =>
      (await t.call('listContractTags', { query }, user)).body;
    expect(await tags({})).toEqual(['x', 'y', 'z']);
    expect(await tags({ limit: '1', offset: '1' })).toEqual(['y']);
    await t.call('updateContract', { ...id('gamma'), body: { tags: null } }, user);
    expect(await tags({})).toEqual(['x', 'y']);
  });
});

describe('an import', () => {
  const load = async (yaml: string) =>
    (await t.call('importContracts', { body: { yaml_content: yaml } }, user)).body;

  it('makes contracts and a composition that carries the bundle settings, in one announcement', async () => {
    const yaml = bundleYaml('team', ['no-etc', 'no_root'], 'tools: {read_file: {side_effect: read}}\n');
    expect(await load(yaml.replace('mode: enforce', 'mode: observe'))).toEqual({
      contracts_created: ['no-etc', 'no_root'],
      contracts_updated: [],
      bundle_composition_created: 'team',
    });
    expect((await t.call('getContract', id('no_root'), user)).body).toMatchObject({
      name: 'No Root',
      type: 'pre',
      definition: { type: 'pre', tool: 'read_file' },
    });
    const composition = (await t.call('getComposition', { params: { name: 'team' } }, user)).body;
    expect(composition).toMatchObject({
      defaults_mode: 'observe',
      update_strategy: 'manual',
      tools_config: { read_file: { side_effect: 'read' } },
    });
    expect(composition.contracts.map((item) => [item.contract_id, item.position])).toEqual([
      ['no-etc', 10],
      ['no_root', 20],
    ]);
    expect(frames().map(({ type, contract_id, version }) => [type, contract_id, version])).toEqual([
      ['contract_created', 'no-etc', undefined],
      ['contract_created', 'no_root', undefined],
      ['composition_changed', undefined, undefined],
    ]);
  });

  it('of a ruleset makes a composition of rulesets', async () => {
    await load(bundleYaml('team').replace('ContractBundle', 'Ruleset').replace('contracts:', 'rules:'));
    const composition = { params: { name: 'team' } };
    expect((await t.call('getComposition', composition, user)).body.document_kind).toBe('ruleset');
    expect((await t.call('previewComposition', composition, user)).body.yaml_content).toMatch(
      /kind: Ruleset\n.*rules:\n.*action: block/s,
    );
  });

  it('adds versions to what exists and leaves an existing composition alone', async () => {
    await load(bundleYaml('team', ['a']));
    expect(await load(bundleYaml('team', ['a', 'b']))).toEqual({
      contracts_created: ['b'],
      contracts_updated: ['a'],
      bundle_composition_created: null,
    });
    const { contracts } = (await t.call('getComposition', { params: { name: 'team' } }, user)).body;
    expect(contracts).toHaveLength(1);
    expect(contracts[0]).toMatchObject({ contract_version: 1, has_newer_version: true });
  });

  it('writes nothing when one contract exists with another type', async () => {
    await addContract(t, user, 'b', { type: 'post' });
    t.newFrames();
    await expect(load(bundleYaml('team', ['a', 'b']))).rejects.toMatchObject({
      code: 'unprocessable',
      message: expect.stringContaining("'b' exists with another type"),
    });
    await expect(t.call('getContract', id('a'), user)).rejects.toMatchObject({ code: 'not_found' });
    expect(frames()).toEqual([]);
  });

  it.each([
    ['no mapping', '- a'],
    ['no name', bundleYaml('team').replace('{name: team}', '{}')],
    ['a reserved name', bundleYaml('evaluate')],
    ['another kind', bundleYaml('team').replace('ContractBundle', 'Pod')],
    ['another apiVersion', bundleYaml('team').replace('service/v1', 'service/v2')],
    ['no contracts', bundleYaml('team', []).replace('contracts:\n', 'contracts: []\n')],
    ['an id that is a number', bundleYaml('team', ['12'])],
    ['an id out of pattern', bundleYaml('team', ['A b'])],
    ['an id twice', bundleYaml('team', ['a', 'a'])],
    [
      '101 contracts',
      bundleYaml(
        'team',
        Array.from({ length: 101 }, (_, i) => `c${i}`),
      ),
    ],
    ['two documents', `${bundleYaml('team')}---\n${bundleYaml('team')}`],
  ])('of %s is refused with a sentence', async (_what, yaml) => {
    await expect(load(yaml)).rejects.toMatchObject({ code: 'unprocessable' });
    expect((await t.call('listContracts', {}, user)).body).toEqual([]);
  });

  it('of 100 contracts is one step', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `c${i}`);
    const result = await load(bundleYaml('team', ids));
    expect(result.contracts_created).toHaveLength(100);
  });
});

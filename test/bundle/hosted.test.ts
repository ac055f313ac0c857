// Rulesets on the hosted API: saved and deployed in one step, byte for byte, with strong ETags and base64 signatures.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { encodeSignature } from '../../src/http/contract/signature.ts';
import type { Env } from '../../src/shared/ids.ts';
import { type CallInput, makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
  operator = t.operator(user, 'operator');
});
afterEach(() => t.close());

const ruleset = (message: string, more = '') => `apiVersion: service/v1
kind: Ruleset
metadata: {name: team}
rules:
  - id: no-secrets
    type: pre
    tool: read_file
    when: {args.path: {contains: .env}}
    then: {action: block, message: "${message}"}
${more}`;
const when = '{args.a: {exists: true}}';
const then = '{action: block, message: no}';
/** As many further rules as `count`. */
const more = (count: number) =>
  Array.from(
    { length: count },
    (_, i) => `  - {id: r${i}, type: pre, tool: t, when: ${when}, then: ${then}}\n`,
  ).join('');
/** A further rule of so many conditions inside each other. */
const nested = (levels: number) =>
  `  - {id: deep, type: pre, tool: t, when: ${'{not: '.repeat(levels)}${when}${'}'.repeat(levels)}, then: ${then}}\n`;
/** So many tools with their side effect. */
const declared = (count: number) =>
  Array.from({ length: count }, (_, i) => `t${i}: {side_effect: read}`).join(', ');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface PutOptions {
  readonly query?: CallInput['query'];
  readonly headers?: { readonly [name: string]: string };
  readonly name?: string;
  readonly as?: OperatorCaller;
}
const put = (
  yaml: string | Uint8Array,
  { query = {}, headers = {}, name = 'team', as = operator }: PutOptions = {},
) =>
  t.call('hostedPutRuleset', { params: { name }, query, body: Buffer.from(yaml) }, as, {
    headers: { 'content-type': 'application/x-yaml', ...headers },
  });
const current = (env?: string, caller: Parameters<TestHub['call']>[2] = operator, headers = {}) =>
  t.call(
    'hostedCurrentRuleset',
    { params: { name: 'team' }, query: env === undefined ? {} : { env } },
    caller,
    {
      headers,
    },
  );

describe('a put', () => {
  it('saves the bytes as they are, deploys them, and tells agents and dashboards', async () => {
    const yaml = `# kept: é\r\n${ruleset('no')}`;
    t.newFrames();
    const { status, body, headers } = await put(yaml);
    expect(status).toBe(201);
    expect(headers.ETag).toBe(`"${sha256(yaml)}"`);
    expect(body).toMatchObject({
      name: 'team',
      version: 1,
      revision_hash: sha256(yaml),
      size_bytes: Buffer.byteLength(yaml),
      rule_count: 1,
      created: true,
      deployed_envs: ['production'],
      deployed_env: 'production',
      uploaded_by: 'ann@example.com',
    });
    expect(t.newFrames().map(({ type }) => type)).toEqual(
      expect.arrayContaining(['bundle_uploaded', 'contract_update', 'bundle_deployed']),
    );
    const now = (await current()).body;
    expect(now.yaml).toBe(yaml);
    expect(Buffer.from(now.yaml_bytes, 'base64').toString()).toBe(yaml);
    // One store: the console has it as a bundle.
    const bundle = (
      await t.call('currentBundle', { params: { name: 'team' }, query: { env: 'production' } }, user)
    ).body;
    expect(bundle).toMatchObject({ version: 1, revision_hash: sha256(yaml), public_key: now.public_key });
  });

  it('can be attested by what /current answers alone', async () => {
    await put(ruleset('one'));
    const now = (await current()).body;
    const signs = [
      now.tenant_id,
      now.env,
      now.name,
      now.version,
      now.revision_hash,
      now.sequence,
      now.deployed_at,
    ];
    const text = Buffer.from(`reeve-deployment-v1\n${JSON.stringify(signs)}`);
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(now.public_key, 'hex').toString('base64url') },
      format: 'jwk',
    });
    expect(verify(null, text, key, Buffer.from(now.attestation ?? '', 'hex'))).toBe(true);
  });

  it('of the newest bytes makes no version, and deploys where something else runs', async () => {
    await put(ruleset('one'));
    const again = await put(ruleset('one'));
    expect([again.status, again.body.created, again.body.version]).toEqual([200, false, 1]);
    const before = (await current()).body.sequence;
    await put(ruleset('one'));
    expect((await current()).body.sequence).toBe(before);
    const staging = await put(ruleset('one'), { query: { env: 'staging' } });
    expect([staging.status, staging.body.deployed_envs]).toEqual([200, ['production', 'staging']]);
  });

  it('deploys a version of its own whose bytes run there as an older one', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { deploy: 'false' } });
    const third = await put(ruleset('one'));
    expect([third.status, third.body.version, third.body.deployed_envs]).toEqual([201, 3, ['production']]);
    expect((await current()).body.version).toBe(3);
    await put(ruleset('two'), { query: { deploy: 'false' } });
    await put(ruleset('one'), { query: { deploy: 'false' } });
    const repeat = await put(ruleset('one'));
    expect([repeat.status, repeat.body.version, repeat.body.deployed_envs]).toEqual([200, 5, ['production']]);
  });

  it('keeps what the document says of itself with the version and in the list', async () => {
    await put(ruleset('one'));
    const told = ruleset('two').replace('{name: team}', '{name: team, description: Files and secrets}');
    const second = await put(`${told}defaults: {mode: observe}\n`);
    expect(second.body).toMatchObject({ mode: 'observe', description: 'Files and secrets' });
    const params = { name: 'team' };
    const { versions } = (await t.call('hostedRulesetVersions', { params }, operator)).body;
    expect(versions.map(({ mode, description }) => [mode, description])).toEqual([
      ['observe', 'Files and secrets'],
      ['enforce', null],
    ]);
    const first = await t.call('hostedRulesetVersion', { params: { ...params, version: '1' } }, operator);
    expect(first.body).toMatchObject({ mode: 'enforce', description: null });
    expect((await t.call('hostedListRulesets', {}, operator)).body.rulesets).toMatchObject([
      { name: 'team', mode: 'observe' },
    ]);
  });

  it('only saves with deploy=false', async () => {
    expect((await put(ruleset('one'), { query: { deploy: 'false' } })).body).toMatchObject({
      version: 1,
      deployed_envs: [],
      signature: null,
      deployed_at: null,
    });
    await expect(current()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('holds to its preconditions', async () => {
    const refused = { code: 'precondition_failed', detail: { reason: 'version_precondition_failed' } };
    await expect(put(ruleset('one'), { headers: { 'if-match': '*' } })).rejects.toMatchObject(refused);
    const first = await put(ruleset('one'), { headers: { 'if-none-match': '*' } });
    await expect(put(ruleset('two'), { headers: { 'if-none-match': '*' } })).rejects.toMatchObject(refused);
    await expect(put(ruleset('two'), { headers: { 'if-match': '"00"' } })).rejects.toMatchObject(refused);
    await expect(
      put(ruleset('two'), { headers: { 'if-match': `W/${first.headers.ETag}` } }),
    ).rejects.toMatchObject(refused);
    const second = await put(ruleset('two'), { headers: { 'if-match': `"00", ${first.headers.ETag}` } });
    expect(second.body.version).toBe(2);
  });

  it('of ten at once with one precondition lets one through', async () => {
    const first = await put(ruleset('one'));
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        put(ruleset(`next ${i}`), { headers: { 'if-match': String(first.headers.ETag) } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('tells everything that is wrong, and saves nothing', async () => {
    const wrong = ruleset(
      'no',
      '  - {id: x, type: pre, tool: y, when: {args.a: {nope: 1}}, then: {action: ask}}\n  - 7\n',
    );
    const error = await put(wrong).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'validation_failed', detail: { reason: 'invalid_ruleset' } });
    const { fields } = (error as { detail: { fields: { message: string }[] } }).detail;
    expect(fields.length).toBeGreaterThan(1);
    expect(fields[0]?.message).toMatch(/^line \d+, column \d+: /);
    expect((await t.call('hostedListRulesets', {}, operator)).body.rulesets).toEqual([]);
  });

  it.each([
    ['no UTF-8', new Uint8Array([0xff, 0xfe, 0x00])],
    ['a byte order mark', `\ufeff${ruleset('no')}`],
    ['a NUL', `${ruleset('no')}# \0`],
    [
      'another kind',
      ruleset('no').replace('kind: Ruleset', 'kind: ContractBundle').replace('rules:', 'contracts:'),
    ],
    ['no YAML', ': ['],
    ['nothing', ''],
    ['a parent', ruleset('no', 'extends: other\n')],
    ['an anchor', ruleset('no').replace('tool: read_file', 'tool: &t read_file')],
    ['an anchor of a mapping', ruleset('no').replace('{path', '&m {path').replace('when: {', 'when: &m {')],
    ['an alias', ruleset('no').replace('tool: read_file', 'tool: &t read_file').replace('.env', '*t')],
    ['a tag', ruleset('no').replace('tool: read_file', 'tool: !!str read_file')],
    ['a tag of a list', ruleset('no').replace('rules:', 'rules: !!seq')],
    ['what is deeper than 32 levels', ruleset('no', nested(28))],
    ['more than 50,000 values', ruleset('no', `tools: {${declared(13_000)}}\n`)],
    ['501 rules', ruleset('no', more(500))],
  ])('refuses %s', async (_what, yaml) => {
    await expect(put(yaml)).rejects.toMatchObject({ detail: { reason: 'invalid_ruleset' } });
  });

  it('of a known mistake says what a ruleset calls it', async () => {
    const problems = async (yaml: string) => {
      const error = (await put(yaml).catch((thrown: unknown) => thrown)) as {
        readonly detail: { readonly fields: readonly { readonly message: string }[] };
      };
      return error.detail.fields.map(({ message }) => message);
    };
    const [limit] = await problems(ruleset('no', more(500)));
    expect(limit).toBe('line 1, column 1: expected at most 500 rules; there are 501');
    const [kind] = await problems(ruleset('no').replace('kind: Ruleset', 'kind: Rules'));
    expect(kind).toMatch(/^line 2, column 1: kind: expected Ruleset$/);
    const [operator] = await problems(ruleset('no').replace('contains', 'holds'));
    expect(operator).toMatch(
      /^line 8, column \d+: rule 'no-secrets': rules\[0\]\.when\.args\.path\.holds: unknown/,
    );
  });

  it('takes 500 rules, and 32 levels, and deploys them', async () => {
    for (const yaml of [ruleset('no', more(499)), ruleset('no', nested(25))]) {
      const { status, body } = await put(yaml);
      expect({ status, deployed: body.deployed_envs }).toEqual({ status: 201, deployed: ['production'] });
    }
  });

  it('refuses another name, another type of body, and too much of it', async () => {
    await expect(put(ruleset('no'), { name: 'other' })).rejects.toMatchObject({
      detail: { reason: 'name_mismatch' },
    });
    await expect(
      put(ruleset('no'), { headers: { 'content-type': 'application/json' } }),
    ).rejects.toMatchObject({
      code: 'unsupported_media_type',
    });
    await expect(
      t.call('hostedPutRuleset', { params: { name: 'team' }, body: Buffer.from(ruleset('no')) }, operator),
    ).rejects.toMatchObject({
      code: 'unsupported_media_type',
    });
    await expect(put(`${ruleset('no')}# ${'x'.repeat(512 * 1024)}`)).rejects.toMatchObject({
      code: 'payload_too_large',
    });
    await expect(put(ruleset('no'), { query: { env: 'test' } })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  it('takes what the linter finds errors in from an admin who says so, and says so too', async () => {
    const never = ruleset('no').replace('args.path', 'principal.rol');
    await expect(put(never)).rejects.toMatchObject({ detail: { reason: 'invalid_ruleset' } });
    const reason = 'the claim comes with the next client';
    const force = { query: { force: 'true', reason } };
    await expect(put(never, force)).rejects.toMatchObject({
      code: 'forbidden',
      detail: { reason: 'role_required' },
    });
    const forced = await put(never, { ...force, as: t.operator(user) });
    expect(forced.body.warnings).toMatchObject([{ severity: 'error' }]);
    const { entries } = (await t.call('hostedListAudit', {}, operator)).body;
    expect(entries[0]).toMatchObject({ action_type: 'ruleset.deployed', details: { forced: true, reason } });
    await expect(put(': [', { ...force, as: t.operator(user) })).rejects.toMatchObject({
      detail: { reason: 'invalid_ruleset' },
    });
  });
});

describe('what an environment runs', () => {
  it('is signed so that clients can check it', async () => {
    await put(ruleset('one'));
    const { body } = await current();
    const key = {
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(body.public_key, 'hex').toString('base64url') },
    };
    const ok = verify(
      null,
      Buffer.from(body.yaml_bytes, 'base64'),
      { ...key, format: 'jwk' },
      Buffer.from(body.signature, 'base64'),
    );
    expect(ok).toBe(true);
    expect(body.key_id).toBe(
      createHash('sha256').update(Buffer.from(body.public_key, 'hex')).digest('hex').slice(0, 16),
    );
  });

  it('has the signature of the known vector', () => {
    const yaml = Buffer.from('apiVersion: service/v1\nkind: Ruleset\n');
    const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
    const secrets = createSecrets('a master secret of tests, 32 bytes');
    expect(secrets.sha256(yaml)).toBe('a2e0a3867c7240cdfd608b45e448b221236ecf1cb49c87ea8bc7fb68bbf4b736');
    expect(encodeSignature(secrets.sign(seed, yaml), 'base64')).toBe(
      'zbQZgzgrdv65ysGrcPpp+CQxj9Zs8u0x5BioW4hfto27ukvdQ7qYKS1V0xmlV6sCxpTeuRab1BPksKjVHwqOAg==',
    );
  });

  it("is that of the key's environment, of the one asked for, or of production", async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { env: 'staging' } });
    const versionFor = async (...args: Parameters<typeof current>) => (await current(...args)).body.version;
    expect(await versionFor()).toBe(1);
    expect(await versionFor('staging')).toBe(2);
    expect(await versionFor(undefined, t.hostedKey(user))).toBe(1);
    expect(await versionFor('staging', t.hostedKey(user))).toBe(2);
    expect(await versionFor(undefined, t.hostedKey(user, 'staging'))).toBe(2);
    await expect(current('production', t.hostedKey(user, 'staging'))).rejects.toMatchObject({
      code: 'env_mismatch',
    });
    await expect(current('no such')).rejects.toMatchObject({ code: 'not_found' });
    await expect(current('development')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('where nothing does, is not found, in words of this API', async () => {
    for (const env of ['staging', 'elsewhere']) {
      await expect(current(env)).rejects.toMatchObject({
        code: 'not_found',
        message: `Ruleset 'team' is not deployed to '${env}'.`,
      });
    }
    await expect(
      t.call('hostedUndeployRuleset', { params: { name: 'team' }, query: { env: 'staging' } }, operator),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/^Ruleset 'team' is not deployed to 'staging'/),
    });
  });

  it('leaves the version before it with the signature and the time of its own deployment', async () => {
    const {
      id: _,
      created: __,
      warnings: ___,
      deployed_envs: ____,
      ...first
    } = (await put(ruleset('one'))).body;
    await put(ruleset('two'));
    const was = { ...first, deployed_envs: [] };
    const params = { name: 'team', version: '1' };
    expect((await t.call('hostedRulesetVersion', { params }, operator)).body).toMatchObject(was);
    const { versions } = (await t.call('hostedRulesetVersions', { params: { name: 'team' } }, operator)).body;
    expect(versions[1]).toMatchObject(was);
    const saved = await put(ruleset('three'), { query: { deploy: 'false' } });
    expect(saved.body).toMatchObject({ signature: null, deployed_at: null, deployed_env: null });
  });

  it('is not sent again to who has it', async () => {
    const { headers } = await put(ruleset('one'));
    const same = await current(undefined, operator, { 'if-none-match': String(headers.ETag) });
    expect([same.status, same.body, same.headers.ETag]).toEqual([304, null, headers.ETag]);
    expect((await current(undefined, operator, { 'if-none-match': '"00"' })).status).toBe(200);
  });

  it('is taken away, and put back from what is saved', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'));
    const undeploy = (query: { env?: string }) =>
      t.call('hostedUndeployRuleset', { params: { name: 'team' }, query }, operator);
    await expect(undeploy({})).rejects.toMatchObject({ detail: { reason: 'env_required' } });
    expect((await undeploy({ env: 'production' })).status).toBe(204);
    await expect(current()).rejects.toMatchObject({ code: 'not_found' });
    const back = await t.call(
      'hostedDeployRuleset',
      { params: { name: 'team', version: '1' }, query: { env: 'production' } },
      operator,
    );
    expect(back).toMatchObject({ status: 201, body: { version: 1, env: 'production', forced: false } });
    expect((await current()).body.version).toBe(1);
    const actions = (await t.call('hostedListAudit', {}, operator)).body.entries.map(
      (entry) => entry.action_type,
    );
    expect(actions).toEqual([
      'ruleset.deployed',
      'ruleset.undeployed',
      'ruleset.deployed',
      'ruleset.uploaded',
      'ruleset.deployed',
      'ruleset.uploaded',
    ]);
  });
});

describe('reading rulesets', () => {
  it('gives summaries by name, versions newest first, and each version whole', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { deploy: 'false' } });
    await put(ruleset('other').replace('name: team', 'name: alpha'), { name: 'alpha' });
    const { rulesets, has_more } = (await t.call('hostedListRulesets', {}, operator)).body;
    expect(rulesets.map(({ name }) => name)).toEqual(['alpha', 'team']);
    expect(rulesets[1]).toMatchObject({
      latest_version: 2,
      version_count: 2,
      deployed: [{ env: 'production', version: 1 }],
    });
    expect(has_more).toBe(false);
    const paged = (await t.call('hostedListRulesets', { query: { limit: '1' } }, operator)).body;
    expect([paged.rulesets.length, paged.has_more]).toEqual([1, true]);
    const { versions } = (await t.call('hostedRulesetVersions', { params: { name: 'team' } }, operator)).body;
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
    const one = await t.call('hostedRulesetVersion', { params: { name: 'team', version: '1' } }, operator);
    expect(one.body).toMatchObject({
      version: 1,
      yaml_content: ruleset('one'),
      deployed_envs: ['production'],
    });
    const newest = await t.call('hostedGetRuleset', { params: { name: 'team' } }, operator);
    expect(newest.body).toMatchObject({ version: 2, yaml_content: ruleset('two') });
    const same = await t.call('hostedGetRuleset', { params: { name: 'team' } }, operator, {
      headers: { 'if-none-match': String(newest.headers.ETag) },
    });
    expect(same.status).toBe(304);
  });

  it('reads no more of the store for a page than the page shows', async () => {
    for (const name of ['alpha', 'beta', 'gamma', 'team']) {
      await put(ruleset(name).replace('name: team', `name: ${name}`), { name });
    }
    const reads: string[] = [];
    const noting = <T extends object>(store: T): T =>
      new Proxy(store, {
        get(target, method, receiver) {
          const read: unknown = Reflect.get(target, method, receiver);
          if (typeof read !== 'function') return read;
          return (...values: unknown[]) => {
            reads.push(String(method));
            return read.apply(target, values) as unknown;
          };
        },
      });
    const { store } = t.hub;
    const { rulesets } = t.changed({
      store: { ...store, bundles: noting(store.bundles), deployments: noting(store.deployments) },
    }).app;
    const { tenantId } = operator;
    const principal = { tenantId, env: null, envRoles: null } as Parameters<typeof rulesets.list>[0];
    const { items, more } = await rulesets.list(principal, { limit: 2, offset: 1 });
    expect([items.map(({ latest }) => latest.name), more]).toEqual([['beta', 'gamma'], true]);
    expect(reads.sort()).toEqual(['getCurrent', 'getCurrent', 'getVersion', 'getVersion', 'list']);
  });

  it('shows a key of one environment what runs there, and nothing of other workspaces', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { env: 'staging' } });
    const key = t.hostedKey(user, 'production');
    const read = (version: string, as = key) =>
      t.call('hostedRulesetVersion', { params: { name: 'team', version } }, as);
    expect((await read('1')).status).toBe(200);
    await expect(read('2')).rejects.toMatchObject({ code: 'not_found' });
    const other = t.hostedKey(await t.tenant());
    await expect(read('1', other)).rejects.toMatchObject({ code: 'not_found' });
    await expect(current(undefined, other)).rejects.toMatchObject({ code: 'not_found' });
    expect((await t.call('hostedListRulesets', {}, other)).body.rulesets).toEqual([]);
    await expect(t.call('hostedGetRuleset', { params: { name: 'absent' } }, operator)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('of a key of one environment end with the version that runs there', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { env: 'staging' } });
    const params = { name: 'team' };
    const versionsOf = async (env: Env, query: CallInput['query'] = {}) => {
      const { body } = await t.call('hostedRulesetVersions', { params, query }, t.hostedKey(user, env));
      return { ...body, versions: body.versions.map(({ version }) => version) };
    };
    const end = { has_more: false, next_offset: null };
    for (const [env, version] of [
      ['production', 1],
      ['staging', 2],
    ] as const) {
      expect(await versionsOf(env)).toMatchObject({ versions: [version], ...end });
      expect(await versionsOf(env, { limit: '1' })).toMatchObject({ versions: [version], ...end });
      expect(await versionsOf(env, { offset: '1' })).toMatchObject({ versions: [], ...end });
    }
    await expect(versionsOf('development')).rejects.toMatchObject({ code: 'not_found' });
    await expect(versionsOf('development', { offset: '1' })).rejects.toMatchObject({ code: 'not_found' });
    expect(
      (await t.call('hostedRulesetVersions', { params, query: { limit: '1' } }, operator)).body,
    ).toMatchObject({ versions: [{ version: 2 }], has_more: true, next_offset: 1 });
  });

  it('by name gives a key of one environment the version that runs there', async () => {
    await put(ruleset('one'));
    await put(ruleset('two'), { query: { env: 'staging' } });
    const newestOf = async (...key: Parameters<TestHub['hostedKey']>) =>
      (await t.call('hostedGetRuleset', { params: { name: 'team' } }, t.hostedKey(...key))).body;
    expect(await newestOf(user, 'production')).toMatchObject({
      version: 1,
      yaml_content: ruleset('one'),
      deployed_envs: ['production'],
    });
    expect(await newestOf(user, 'staging')).toMatchObject({ version: 2 });
    expect(await newestOf(user)).toMatchObject({ version: 2 });
    await expect(newestOf(user, 'development')).rejects.toMatchObject({ code: 'not_found' });
  });
});

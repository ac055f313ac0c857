// `reeve export`, `reeve diff` and `reeve apply` against a real hub: round trips, cut-off runs, plans, bad files,
// deletions and rights.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apply, diff, exportFolder } from '../../src/hub/commands/as-code.ts';
import { bundleYaml, definition } from '../contract/library.ts';
import type { CommandRun } from '../run-here.ts';
import { isNightly, itAtNight, rowsOfRun } from '../runs.ts';
import { type Command, callCommand } from './command.ts';
import { type HubProcess, mainFile } from './process.ts';
import { operatorToken, SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const root = mkdtempSync(join(tmpdir(), 'reeve-as-code-'));
let nameCount = 0;

/** A tenant of its own, with tokens of service accounts. */
interface Tenant {
  readonly cookie: string;
  readonly admin: string;
  call(method: string, path: string, body?: unknown): ReturnType<HubProcess['call']>;
  token(roles: object[]): Promise<string>;
}

async function tenant(): Promise<Tenant> {
  const email = hub.emailOf(`admin-${++nameCount}`);
  const created = await hub.call('POST', '/api/v1/operator/tenants', {
    body: { name: `t${nameCount}`, email, password: 'correct horse battery' },
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  expect(created.status).toBe(201);
  const cookie = await hub.login(email);
  const call: Tenant['call'] = (method, path, body) =>
    hub.call(method, `/api/v1${path}`, { cookie, ...(body === undefined ? {} : { body }) });
  const token = async (roles: object[]): Promise<string> => {
    const account = await call('POST', '/service-accounts', { name: `ci-${++nameCount}`, roles });
    const given = await call('POST', `/service-accounts/${account.body.id}/tokens`, { label: 'ci' });
    return given.body.token;
  };
  return { cookie, call, token, admin: await token([{ role: 'admin', env: '*' }]) };
}

/** Starts the program. */
function start(token: string, args: readonly string[]): { child: ChildProcess; ended: Promise<CommandRun> } {
  const child = spawn(process.execPath, [mainFile, ...args], {
    env: { PATH: process.env.PATH ?? '', REEVE_URL: hub.url, REEVE_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    texts.out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    texts.err += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...texts }));
  return { child, ended };
}

const commands: { readonly [word: string]: Command } = { apply, diff, export: exportFolder };

/** Calls a command in this process. */
const reeve = (token: string, word: string, ...args: string[]): Promise<CommandRun> => {
  const command = commands[word];
  if (!command) throw new Error(`there is no command ${word}`);
  return callCommand(command, args, { REEVE_URL: hub.url, REEVE_TOKEN: token });
};

let folder: string;
const file = (path: string): string => join(folder, path);
const write = (path: string, text: string): void => writeFileSync(file(path), text);
const edit = (path: string, change: (text: string) => string): void =>
  write(path, change(readFileSync(file(path), 'utf8')));

/** Contracts, compositions of all strategies, uploads, rules, settings and deployments. */
async function furnish({ call }: Tenant): Promise<void> {
  const post = async (path: string, body: unknown): Promise<void> => {
    const answer = await call('POST', path, body);
    expect([path, answer.status, answer.body]).toMatchObject([path, 201, {}]);
  };
  for (const contract_id of ['a', 'b', 'c'])
    await post('/contracts', {
      contract_id,
      name: `Contract ${contract_id}: "x" # yes`,
      description: contract_id === 'b' ? 'Two\nlines\n' : null,
      type: 'pre',
      definition: definition(`^/${contract_id}/`),
      tags: ['on', '1e3'],
    });
  const items = [
    { contract_id: 'b', position: 20, mode_override: 'observe' },
    { contract_id: 'a', position: 10 },
  ];
  await post('/compositions', {
    name: 'by-hand',
    contracts: items,
    tools_config: { t: { side_effect: 'read' } },
  });
  await post('/compositions', { name: 'live', update_strategy: 'auto_deploy', contracts: items });
  await post('/compositions', { name: 'slow', update_strategy: 'observe_first', contracts: items });
  await post('/bundles', { yaml_content: `${bundleYaml('plain')}# first\n` });
  await post('/bundles', { yaml_content: `${bundleYaml('plain')}# second é\n` });
  await post('/bundles/plain/1/deploy', { env: 'production' });
  await post('/bundles/plain/2/deploy', { env: 'staging' });
  for (const name of ['live', 'slow', 'by-hand'])
    await post(`/compositions/${name}/deploy`, { env: 'staging' });
  await post('/compositions/live/deploy', { env: 'production' });
  // An older pin in two compositions, and one that runs as it was before its last change.
  await call('PUT', '/contracts/b', { name: 'Newer', definition: definition('^/newer/') });
  await call('PUT', '/compositions/by-hand', { description: 'not deployed yet' });
  const rule = {
    priority: 10,
    pattern: 'web-*',
    tag_match: { team: 'x' },
    bundle_name: 'live',
    env: 'staging',
  };
  await post('/assignment-rules', rule);
  await post('/assignment-rules', { priority: 20, pattern: '*', bundle_name: 'plain', env: 'production' });
  await call('PUT', '/settings/tools', {
    tool_arguments: { read: { path: 'path' } },
    custom_selectors: ['geo'],
    isolation: 'required',
  });
}

/** Everything that a second run could have written. */
async function trace({ call }: Tenant): Promise<unknown> {
  const list = async (path: string) => (await call('GET', path)).body;
  return [
    await list('/contracts'),
    await list('/compositions'),
    await list('/bundles'),
    await list('/assignment-rules'),
    await list('/deployments?limit=200'),
    await list('/settings/tools'),
  ];
}

beforeAll(async () => {
  await hub.start();
  await hub.admin();
});
afterAll(async () => {
  await hub.remove();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  folder = join(root, `folder-${++nameCount}`);
});

async function exported(): Promise<Tenant> {
  const source = await tenant();
  await furnish(source);
  expect(await reeve(source.admin, 'export', folder)).toMatchObject({ code: 0 });
  return source;
}

/** A small folder that is written by hand. */
function small(): void {
  for (const name of ['contracts', 'compositions']) mkdirSync(file(name), { recursive: true });
  write(
    'contracts/one.yaml',
    `name: One
type: pre
definition:
  tool: read_file
  when: {args.path: {matches: ^/etc/}}
  then: {effect: deny, message: Not that file.}
`,
  );
  write('compositions/team.yaml', 'contracts:\n  - {contract_id: one, position: 10}\n');
  write('deployments.yaml', 'deployments:\n  - {env: staging, bundle: team}\n');
}

describe('export', () => {
  itAtNight('then diff finds nothing, and a second export writes nothing', async () => {
    const source = await exported();
    expect(await reeve(source.admin, 'diff', folder)).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
    edit('contracts/a.yaml', (text) => `${text}# a remark\n`);
    const again = await reeve(source.admin, 'export', folder, '--json');
    expect(JSON.parse(again.out)).toMatchObject({ written: 0, removed: [] });
    const before = await trace(source);
    expect(await reeve(source.admin, 'apply', folder)).toMatchObject({ code: 0 });
    expect(await trace(source)).toEqual(before);
  });

  itAtNight('keeps uploaded bytes under their hash, and removes what is gone', async () => {
    const source = await exported();
    const names = readdirSync(file('bundles'));
    // Two uploads, and two compositions that run as they were before a change.
    expect(names).toHaveLength(4);
    for (const { version, revision_hash } of (await source.call('GET', '/bundles/plain')).body)
      expect(readFileSync(file(`bundles/${revision_hash}.yaml`), 'utf8')).toContain(
        version === 1 ? '# first' : '# second é',
      );
    await source.call('DELETE', '/contracts/c');
    expect(await reeve(source.admin, 'export', folder)).toMatchObject({ code: 0 });
    expect(existsSync(file('contracts/c.yaml'))).toBe(false);
    write('contracts/mine.yaml', 'name: mine\n');
    expect(await reeve(source.admin, 'export', folder)).toMatchObject({ code: 1 });
    expect(existsSync(file('contracts/mine.yaml'))).toBe(true);
  });
});

describe('apply', () => {
  it('makes an empty hub equal, deployments last; a second one writes nothing', async () => {
    const source = await exported();
    const target = await tenant();
    expect(await reeve(target.admin, 'diff', folder)).toMatchObject({ code: 4 });
    const applied = await reeve(target.admin, 'apply', folder, '--yes');
    expect([applied.code, applied.err]).toEqual([0, expect.any(String)]);
    const lines = applied.err.split('\n').filter((line) => line.startsWith('['));
    const first = lines.findIndex((line) => line.includes('deploy '));
    expect(lines.slice(first).every((line) => line.includes('] deploy '))).toBe(true);
    expect(await reeve(target.admin, 'diff', folder)).toMatchObject({ code: 0 });
    const before = await trace(target);
    expect(await reeve(target.admin, 'apply', folder, '--yes', '--prune')).toMatchObject({ code: 0 });
    expect(await trace(target)).toEqual(before);
    const runs = async ({ call }: Tenant) =>
      (await call('GET', '/bundles/live/current?env=production')).body.revision_hash;
    expect(await runs(target)).toBe(await runs(source));
    const isolation = async () => (await target.call('GET', '/settings/tools')).body.isolation;
    expect(readFileSync(file('tools.yaml'), 'utf8')).toContain('isolation: required');
    expect(await isolation()).toBe('required');
    // An absent field keeps its value, null clears it.
    edit('tools.yaml', (text) => text.replace('isolation: required\n', ''));
    expect(await reeve(target.admin, 'diff', folder)).toMatchObject({ code: 0 });
    edit('tools.yaml', (text) => `${text}isolation: null\n`);
    expect(await reeve(target.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    expect(await isolation()).toBe('none');
    edit('tools.yaml', (text) => text.replace('isolation: null', 'isolation: container'));
    expect((await reeve(target.admin, 'diff', folder)).err).toMatch(/tools\.yaml:\d+: isolation /);
    const copy = join(root, `copy-${++nameCount}`);
    expect(await reeve(target.admin, 'export', copy)).toMatchObject({ code: 0 });
    for (const name of ['contracts', 'compositions', 'bundles', '.'])
      expect(readdirSync(join(copy, name))).toEqual(readdirSync(join(folder, name)));
  });

  itAtNight('makes a folder that is written by hand', async () => {
    small();
    const { admin, call } = await tenant();
    expect(await reeve(admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    expect((await call('GET', '/bundles/team/current?env=staging')).body.version).toBe(1);
    edit('contracts/one.yaml', (text) => text.replace('^/etc/', '^/var/'));
    const diff = JSON.parse((await reeve(admin, 'diff', folder, '--json')).out);
    expect(
      diff.changes.map((one: { action: string; thing: string }) => `${one.action} ${one.thing}`),
    ).toEqual(['update contract one', 'update composition team', 'deploy deployment staging/team']);
    expect(await reeve(admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    expect(await reeve(admin, 'diff', folder)).toMatchObject({ code: 0 });
  });

  itAtNight('asks nobody without a terminal', async () => {
    small();
    const { admin, call } = await tenant();
    expect(await reeve(admin, 'apply', folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('Add --yes'),
    });
    expect((await call('GET', '/contracts')).body).toEqual([]);
  });

  itAtNight('deploys automatic compositions last, also those of the hub alone', async () => {
    const source = await tenant();
    await furnish(source);
    mkdirSync(file('contracts'), { recursive: true });
    const current = (await source.call('GET', '/contracts/a')).body;
    const { name, description, tags } = current;
    const changed = { name, description, type: 'pre', tags, definition: definition('^/changed/') };
    write('contracts/a.yaml', JSON.stringify(changed));
    const applied = await reeve(source.admin, 'apply', folder, '--yes');
    expect(applied.code).toBe(0);
    const lines = applied.err.split('\n').filter((line) => line.startsWith('['));
    expect(lines.map((line) => line.replace(/^\S+ /, '').replace(/ \(.*/, ''))).toEqual([
      'update contract a',
      'update composition live',
      'deploy deployment production/live',
      'deploy deployment staging/live',
    ]);
    const versions = (await source.call('GET', '/bundles/live')).body;
    expect(versions[0].deployed_envs).toEqual(['production', 'staging']);
    expect(await reeve(source.admin, 'apply', folder, '--yes')).toMatchObject({
      code: 0,
      out: 'Nothing to change.\n',
    });
  });

  itAtNight('changes a rule in place, and swaps two', async () => {
    const source = await exported();
    const before = (await source.call('GET', '/assignment-rules')).body;
    edit('rules.yaml', (text) =>
      text
        .replace('priority: 10', 'priority: 11')
        .replace('priority: 20', 'priority: 10')
        .replace('priority: 11', 'priority: 20'),
    );
    expect(await reeve(source.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    const after = (await source.call('GET', '/assignment-rules')).body;
    expect(after.map((rule: { pattern: string }) => rule.pattern)).toEqual(['*', 'web-*']);
    expect(after.map((rule: { id: string }) => rule.id)).toEqual(
      before.map((rule: { id: string }) => rule.id),
    );
    expect(await reeve(source.admin, 'diff', folder)).toMatchObject({ code: 0 });
  });

  it('killed anywhere and run again comes to the same end', async () => {
    await exported();
    const target = await tenant();
    const reference = await tenant();
    expect(await reeve(reference.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    let kills = 0;
    for (let isKilled = true; isKilled; kills += isKilled ? 1 : 0) {
      const { child, ended } = start(target.admin, ['apply', folder, '--yes']);
      let lines = 0;
      child.stderr?.on('data', (chunk: Buffer) => {
        lines += chunk.toString().match(/^\[/gm)?.length ?? 0;
        // In one of the first steps, now at its beginning and now within it.
        if (lines >= (isNightly ? 2 : 10) + (kills % 2))
          setTimeout(() => child.kill('SIGKILL'), (kills * 3) % 10);
      });
      isKilled = (await ended).code === null;
    }
    expect(kills).toBeGreaterThan(isNightly ? 3 : 0);
    expect(await reeve(target.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    expect(await reeve(target.admin, 'diff', folder)).toMatchObject({ code: 0 });
    const state = async ({ call }: Tenant) => {
      const of = async (path: string) => (await call('GET', path)).body as { [field: string]: unknown }[];
      return [
        (await of('/contracts')).map(({ contract_id, name, tags }) => [contract_id, name, tags]).sort(),
        (await of('/bundles')).map(({ name, deployed_envs }) => [name, deployed_envs]).sort(),
        (await of('/bundles/plain')).map(({ revision_hash }) => revision_hash),
        (await of('/assignment-rules')).map(({ hash }) => hash),
      ];
    };
    expect(await state(target)).toEqual(await state(reference));
  }, 120_000);
});

describe('a plan', () => {
  itAtNight('is made as it stands, and finished after a kill', async () => {
    await exported();
    const target = await tenant();
    const plan = join(root, `plan-${++nameCount}.json`);
    expect(await reeve(target.admin, 'diff', folder, '--plan', plan)).toMatchObject({ code: 4 });
    const { child, ended } = start(target.admin, ['apply', folder, '--plan', plan, '--yes']);
    child.stderr?.on('data', (chunk: Buffer) => {
      if (/^\[6\//m.test(chunk.toString())) child.kill('SIGKILL');
    });
    await ended;
    expect(await reeve(target.admin, 'apply', folder, '--plan', plan, '--yes')).toMatchObject({ code: 0 });
    expect(await reeve(target.admin, 'diff', folder)).toMatchObject({ code: 0 });
    expect(await reeve(target.admin, 'apply', folder, '--plan', plan, '--yes')).toMatchObject({
      code: 0,
      out: 'Nothing to change.\n',
    });
  });

  it('ends with 3 when the hub changed since, and changes nothing', async () => {
    const source = await exported();
    const plan = join(root, `plan-${++nameCount}.json`);
    edit('contracts/a.yaml', (text) => text.replace('^/a/', '^/planned/'));
    const planned = () => reeve(source.admin, 'diff', folder, '--plan', plan);
    const apply = () => reeve(source.admin, 'apply', folder, '--plan', plan, '--yes');
    expect(await planned()).toMatchObject({ code: 4 });
    await source.call('PUT', '/contracts/c', { name: 'Somebody else' });
    const before = await trace(source);
    expect(await apply()).toMatchObject({ code: 3, err: expect.stringContaining('contract c') });
    expect(await trace(source)).toEqual(before);
    edit('contracts/c.yaml', (text) => text.replace(/name: .*/, 'name: Somebody else'));
    expect(await apply()).toMatchObject({ code: 1, err: expect.stringContaining('folder') });
    expect(await planned()).toMatchObject({ code: 4 });
    await source.call('DELETE', '/deployments/current?env=staging&bundle_name=plain');
    expect(await apply()).toMatchObject({ code: 3 });
  });

  itAtNight('is for one hub and tenant', async () => {
    small();
    const [one, other] = [await tenant(), await tenant()];
    const plan = join(root, `plan-${++nameCount}.json`);
    await reeve(one.admin, 'diff', folder, '--plan', plan);
    expect(await reeve(other.admin, 'apply', folder, '--plan', plan, '--yes')).toMatchObject({ code: 1 });
    writeFileSync(plan, '{}');
    expect(await reeve(one.admin, 'apply', folder, '--plan', plan, '--yes')).toMatchObject({ code: 2 });
  });
});

describe('a bad file', () => {
  const faults: readonly (readonly [string, (text: string) => string, string])[] = [
    [
      'contracts/one.yaml',
      (text: string) => text.replace('type: pre', 'type: later'),
      'contracts/one.yaml:2: type',
    ],
    [
      'contracts/one.yaml',
      (text: string) => `${text}colour: red\n`,
      'contracts/one.yaml:7: colour is unknown',
    ],
    [
      'contracts/one.yaml',
      (text: string) => text.replace('tool: ', 'tool: ['),
      'contracts/one.yaml:5: Invalid YAML',
    ],
    [
      'contracts/one.yaml',
      (text: string) => text.replace('matches: ^/etc/', 'matches: "("'),
      'contracts/one.yaml:3:',
    ],
    [
      'compositions/team.yaml',
      (text: string) => `${text}  - {contract_id: two, position: 20}\n`,
      'compositions/team.yaml:3: the contract two',
    ],
    [
      'deployments.yaml',
      (text: string) => `${text}  - {env: staging, bundle: nothing}\n`,
      'deployments.yaml:3: compositions/nothing.yaml does not exist',
    ],
    ['contracts/one.yaml', () => `name: ${'x'.repeat(1_100_000)}\n`, 'contracts/one.yaml:1: is larger'],
  ];
  it.each(rowsOfRun(faults, 2))('%s stops the run before the first write', async (path, change, expected) => {
    small();
    edit(path, change);
    const { admin, call } = await tenant();
    for (const [word, ...args] of [
      ['diff', folder],
      ['apply', folder, '--yes'],
    ] as const)
      expect(await reeve(admin, word, ...args)).toMatchObject({
        code: 1,
        err: expect.stringContaining(expected),
      });
    expect((await call('GET', '/contracts')).body).toEqual([]);
  });

  itAtNight('is also a name without .yaml, a wrong hash, and a folder of something else', async () => {
    small();
    const { admin } = await tenant();
    write('contracts/two.yml', 'name: two\n');
    expect(await reeve(admin, 'diff', folder)).toMatchObject({ err: expect.stringContaining('rename') });
    rmSync(file('contracts/two.yml'));
    mkdirSync(file('bundles'));
    write(`bundles/${'0'.repeat(64)}.yaml`, bundleYaml('x'));
    expect(await reeve(admin, 'diff', folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('SHA-256'),
    });
    expect(await reeve(admin, 'apply', root, '--yes', '--prune')).toMatchObject({ code: 1 });
  });
});

describe('--prune', () => {
  it('alone deletes, after the deployments', async () => {
    const source = await exported();
    await source.call('POST', '/contracts', {
      contract_id: 'extra',
      name: 'x',
      type: 'pre',
      definition: definition(),
    });
    rmSync(file('compositions/live.yaml'));
    rmSync(file('contracts/c.yaml'));
    write('rules.yaml', 'rules: []\n');
    edit('deployments.yaml', (text) =>
      text.replace(/ {2}- env: \w+\n {4}bundle: (live|plain)\n( {4}revision: \w+\n)?/g, ''),
    );
    for (const name of readdirSync(file('bundles')))
      if (readFileSync(file(`bundles/${name}`), 'utf8').includes('name: plain'))
        rmSync(file(`bundles/${name}`));
    const before = await trace(source);
    expect(await reeve(source.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
    expect(await trace(source)).toEqual(before);
    expect(await reeve(source.admin, 'diff', folder)).toMatchObject({
      code: 4,
      out: expect.stringContaining('delete contract extra (only on the hub), with --prune'),
    });
    const pruned = await reeve(source.admin, 'apply', folder, '--yes', '--prune');
    expect([pruned.code, pruned.err]).toEqual([0, expect.any(String)]);
    expect(await reeve(source.admin, 'diff', folder)).toMatchObject({ code: 0 });
    const ids = (await source.call('GET', '/contracts')).body.map(
      (one: { contract_id: string }) => one.contract_id,
    );
    expect(ids.sort()).toEqual(['a', 'b']);
    expect((await source.call('GET', '/assignment-rules')).body).toEqual([]);
    expect((await source.call('GET', '/bundles/plain')).status).toBe(404);
    expect((await source.call('GET', '/bundles/live/current?env=production')).status).toBe(404);
  });

  itAtNight('leaves alone what the folder has no file for', async () => {
    const source = await exported();
    for (const name of ['contracts', 'compositions', 'bundles', 'rules.yaml', 'deployments.yaml'])
      rmSync(file(name), { recursive: true });
    const before = await trace(source);
    expect(await reeve(source.admin, 'apply', folder, '--yes', '--prune')).toMatchObject({ code: 0 });
    expect(await trace(source)).toEqual(before);
  });
});

describe('rights', () => {
  it("refuse an operator's token where tool settings or a protected environment would change", async () => {
    const source = await exported();
    const operator = await source.token([{ role: 'operator', env: '*' }]);
    expect(await reeve(operator, 'diff', folder)).toMatchObject({ code: 0 });
    edit('tools.yaml', (text) => text.replace('geo', 'place'));
    edit('contracts/a.yaml', (text) => text.replace('^/a/', '^/other/'));
    const before = await trace(source);
    expect(await reeve(operator, 'apply', folder, '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('tools.yaml:'),
    });
    const viewer = await source.token([{ role: 'viewer', env: '*' }]);
    expect(await reeve(viewer, 'diff', folder)).toMatchObject({
      code: 4,
      err: expect.stringContaining('needs the role operator'),
    });
    edit('tools.yaml', (text) => text.replace('place', 'geo'));
    await source.call('PUT', '/environments/production/policy', { protected: true });
    const refused = await reeve(operator, 'apply', folder, '--yes');
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(/deployments\.yaml:\d+: the token may not change production/),
    });
    expect(await trace(source)).toEqual(before);
    expect(await reeve(source.admin, 'apply', folder, '--yes')).toMatchObject({ code: 0 });
  });
});

describe('usage', () => {
  it('has help, and 2 for what does not fit', async () => {
    const { admin } = await tenant();
    const program = (token: string, ...args: string[]) => start(token, args).ended;
    for (const word of rowsOfRun(['apply', 'diff', 'export'], 1)) {
      expect(await program(admin, word, '--help')).toMatchObject({
        code: 0,
        out: expect.stringContaining(`reeve ${word}`),
      });
      expect(await reeve(admin, word)).toMatchObject({ code: 2 });
      expect(await reeve(admin, word, 'a', 'b')).toMatchObject({ code: 2 });
      expect(await reeve(admin, word, 'a', '--force')).toMatchObject({ code: 2 });
      expect(await reeve('', word, folder)).toMatchObject({
        code: 2,
        err: expect.stringContaining('REEVE_TOKEN'),
      });
    }
    const json = await reeve(admin, 'diff', join(root, 'absent'), '--json');
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { error: { code: 'not_found' } }]);
    expect(await reeve('svt_wrong', 'export', folder)).toMatchObject({ code: 1 });
  });
});

// Settings and figures: rotation of the signing key, removal of old events, the overview.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventRemoval } from '../../src/event/console/removal-handlers.ts';
import type { EventStore } from '../../src/event/port.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import type { Job, Jobs } from '../../src/shared/ports/jobs.ts';
import { settled } from '../clock.ts';
import { bundleYaml } from '../contract/library.ts';
import { deploy } from '../deployment/deploy.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

const day = 86_400_000;
const send = (env: 'production' | 'staging', ...events: object[]) =>
  t.call(
    'ingestEvents',
    {
      body: {
        events: events.map((more, i) => ({
          call_id: `${env}-${t.clock.now()}-${i}`,
          agent_id: 'agent-1',
          tool_name: 'x',
          verdict: 'call_allowed',
          mode: 'enforce',
          timestamp: new Date(t.clock.now()).toISOString(),
          ...more,
        })),
      },
    },
    t.key(user, env),
  );

it('rotates the signing key: every current deployment is signed anew and announced', async () => {
  await deploy(t, user, 'base', '1');
  const old = await t.hub.store.signing.getActive(user.tenantId);
  t.newFrames();
  const { status, body } = await t.call('rotateSigningKey', {}, user);
  await settled();
  expect(status).toBe(201);
  expect(body).toEqual({
    public_key: expect.stringMatching(/^[0-9a-f]{64}$/),
    rotated_at: new Date(t.clock.now()).toISOString(),
    deployments_re_signed: 1,
    agents_follow: true,
    warning: null,
  });
  expect(body.public_key).not.toBe(old?.publicKey);
  const update = t.newFrames().find(({ type }) => type === 'contract_update');
  expect(update?.data.public_key).toBe(body.public_key);
  const yaml = await t.hub.store.bundles.getYaml(user.tenantId, 'base', 1);
  expect(
    t.hub.secrets.verify(body.public_key, yaml ?? new Uint8Array(), String(update?.data.signature)),
  ).toBe(true);
});

it('says that agents must be pinned again when the old key was compromised', async () => {
  await deploy(t, user, 'base', '1');
  const { body } = await t.call('rotateSigningKey', { body: { compromised: true } }, user);
  expect(body).toMatchObject({ deployments_re_signed: 1, agents_follow: false });
  expect(body.warning).toContain('until they pin the new key');
  await expect(t.call('rotateSigningKey', { body: { compromised: 'yes' } }, user)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it('purges events by the time they were received, and keeps newer ones', async () => {
  await send('production', {}, {});
  t.clock.advance(3 * day);
  await send('production', { timestamp: '2001-01-01T00:00:00Z' });
  const cutoff = new Date(t.clock.now() - 2 * day).toISOString();
  const purge = async (more = {}) =>
    (await t.call('purgeEvents', { query: { older_than_days: '2', ...more } }, user)).body;
  for (let i = 0; i < 2; i++) {
    const tried = await purge({ dry_run: 'true' });
    expect(tried).toEqual({ deleted_count: 2, cutoff, complete: true, dry_run: true });
  }
  expect(await purge()).toEqual({ deleted_count: 2, cutoff, complete: true, dry_run: false });
  expect(await purge({ dry_run: 'true' })).toMatchObject({ deleted_count: 0 });
  expect((await t.call('searchEvents', {}, user)).body).toHaveLength(1);
});

it('purges by hours too', async () => {
  const query = { older_than_hours: '1', dry_run: 'true' };
  const { body } = await t.call('purgeEvents', { query }, user);
  expect(Date.parse(body.cutoff)).toBe(t.clock.now() - 3_600_000);
});

it.each([
  {},
  { older_than_days: '0' },
  { older_than_days: 'x' },
  { older_than_hours: '0' },
  { older_than_days: '1', older_than_hours: '1' },
])('refuses to purge by %j', async (query) => {
  await expect(t.call('purgeEvents', { query }, user)).rejects.toMatchObject({ code: 'validation_failed' });
});

it('counts for the overview what the caller sees', async () => {
  await send('staging', {});
  t.clock.advance(1000);
  await send(
    'production',
    { verdict: 'call_denied', payload: { decision_name: 'a' } },
    { verdict: 'call_would_deny', mode: 'observe', payload: { decision_name: 'b' } },
    {},
  );
  const body = { tool_name: 'x', message: 'm', timeout: 60 };
  await t.call('createApproval', { body }, t.key(user));
  const production = {
    pending_approvals: 1,
    active_agents: 1,
    total_agents: 1,
    events_24h: 3,
    denials_24h: 1,
    observe_findings_24h: 1,
    contracts_triggered_24h: 2,
  };
  expect((await t.call('statsOverview', {}, t.key(user))).body).toEqual(production);
  expect((await t.call('statsOverview', {}, user)).body).toEqual({ ...production, events_24h: 4 });
  expect((await t.call('statsOverview', { query: { env: 'production' } }, user)).body).toEqual(production);
  await expect(t.call('statsOverview', {}, { ...t.key(user), agentPattern: 'bot-a' })).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining("agents that match 'bot-a'"),
  });
  await expect(t.call('statsOverview', { query: { env: 'staging' } }, t.key(user))).rejects.toMatchObject({
    code: 'env_mismatch',
  });
  t.clock.advance(60_000);
  expect((await t.call('statsOverview', {}, user)).body.pending_approvals).toBe(0);
  t.clock.advance(day);
  expect((await t.call('statsOverview', {}, user)).body).toMatchObject({
    events_24h: 0,
    active_agents: 0,
    total_agents: 1,
  });
});

it('counts for a key only the agents of its environment, and for a person those of all', async () => {
  await send('production', {}, { agent_id: 'agent-2' });
  await send('staging', { agent_id: 'agent-3' });
  const totalFor = async (caller: Caller) => (await t.call('statsOverview', {}, caller)).body.total_agents;
  expect(await totalFor(t.key(user, 'production'))).toBe(2);
  expect(await totalFor(t.key(user, 'staging'))).toBe(1);
  expect(await totalFor(t.key(user, 'development'))).toBe(0);
  expect(await totalFor(user)).toBe(3);
});

it('leaves to a job what a request has no time for, and says so', async () => {
  await send('production', {}, {}, {});
  t.clock.advance(3 * day);
  const { removeBefore: purge } = t.hub.store.events;
  // Each slice takes longer than a request may.
  const events = {
    ...t.hub.store.events,
    removeBefore: async (tenantId: string, before: number) => {
      const removed = await purge(tenantId, before, 2);
      t.clock.advance(11_000);
      setImmediate(() => t.clock.advance(11_000));
      return removed;
    },
  } satisfies EventStore;
  const added: Job[] = [];
  const jobs = {
    add: async (job: Job) => void added.push(job),
    remove: async () => false,
  } as Partial<Jobs> as Jobs;
  const hub = t.changed({ jobs, store: { ...t.hub.store, events } });
  const cutoff = t.clock.now() - 2 * day;
  const answer = await eventRemoval.purgeEvents(
    hub,
    { query: { older_than_days: 2, dry_run: 'false' } } as never,
    user,
    {} as never,
  );
  expect(answer).toEqual({
    deleted_count: 2,
    cutoff: new Date(cutoff).toISOString(),
    complete: false,
    dry_run: false,
  });
  expect(added).toMatchObject([{ queue: 'purge', payload: { tenantId: user.tenantId, before: cutoff } }]);
});

it('keeps what the arguments of tools hold, and judges by it in the playground', async () => {
  const words = { custom_selectors: [], custom_operators: [], command_profiles: {}, isolation: 'none' };
  const nothing = { tool_arguments: {}, ...words, updated_at: null, updated_by: null };
  expect((await t.call('toolSettings', {}, user)).body).toEqual(nothing);
  const toolArguments = { 'run_*': { input: 'command', 'options.at': 'cwd' }, search: { where: 'path' } };
  const written = {
    tool_arguments: toolArguments,
    ...words,
    updated_at: new Date(t.clock.now()).toISOString(),
    updated_by: user.email,
  };
  const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: a }
defaults: { mode: enforce }
contracts:
  - { id: box, type: sandbox, tools: ["*"], within: [/w], message: out }
`;
  const tryOut = async (tool_args: object, cwd?: string, caller = user) => {
    const body = { yaml_content: yaml, tool_name: 'run_it', tool_args, ...(cwd ? { cwd } : {}) };
    return (await t.call('evaluateBundle', { body }, caller)).body.verdict;
  };
  expect(await tryOut({ input: 'cat ../x' })).toBe('allow');
  expect((await t.call('putToolSettings', { body: { tool_arguments: toolArguments } }, user)).body).toEqual(
    written,
  );
  expect((await t.call('toolSettings', {}, user)).body).toEqual(written);
  expect(await tryOut({ input: 'cat ../x' })).toBe('deny');
  expect(await tryOut({ input: 'cat ../x' }, '/w/a')).toBe('allow');
  expect(await tryOut({ input: 'cat ../x', options: { at: '/w/a' } })).toBe('allow');
  const other = await t.tenant();
  expect((await t.call('toolSettings', {}, other)).body).toEqual(nothing);
  expect(await tryOut({ input: 'cat ../x' }, undefined, other)).toBe('allow');
});

it('keeps profiles of programs, and judges by them in the playground and the linter', async () => {
  const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: profiled }
defaults: { mode: enforce }
contracts:
  - { id: box, type: sandbox, tools: ["*"], allows: { commands: [ship, bash] }, message: out }
`;
  const tryOut = async (command: string) =>
    (
      await t.call(
        'evaluateBundle',
        { body: { yaml_content: yaml, tool_name: 'a', tool_args: { command } } },
        user,
      )
    ).body.verdict;
  const codes = async () =>
    (await t.call('uploadBundle', { body: { yaml_content: yaml } }, user)).body.warnings.map(
      ({ code }: { code: string }) => code,
    );
  const command_profiles = { ship: { options: { flag: '--dry-run' }, operands: ['path'] } };
  expect(await tryOut('ship --now a')).toBe('allow');
  expect(await codes()).toEqual(expect.arrayContaining(['program_without_profile', 'unisolated_program']));
  expect((await t.call('putToolSettings', { body: { command_profiles } }, user)).body).toMatchObject({
    tool_arguments: {},
    command_profiles,
  });
  await t.call('putToolSettings', { body: { custom_selectors: ['geo'] } }, user);
  expect((await t.call('toolSettings', {}, user)).body).toMatchObject({ command_profiles });
  t.clock.advance(2_000);
  expect(await tryOut('ship --dry-run a')).toBe('allow');
  expect(await tryOut('ship --now a')).toBe('deny');
  expect(await codes()).not.toContain('program_without_profile');
  const wrong = { command_profiles: { ship: { operands: ['file'] } } };
  await expect(t.call('putToolSettings', { body: wrong }, user)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it("takes what agents register for known, in the linter, in deploys and in the playground; of this tenant's", async () => {
  const yaml = bundleYaml('team').replace(
    '{args.path: {matches: ^/etc/}}',
    '{all: [{arg.risk: {gt: 5}}, {args.ip: {in_network: 10.0.0.0/8}}]}',
  );
  const upload = async (caller = user) =>
    (await t.call('uploadBundle', { body: { yaml_content: yaml } }, caller)).body.warnings;
  const deploy = (version: string) =>
    t.call('deployBundle', { params: { name: 'team', version }, body: { env: 'production' } }, user);
  expect(await upload()).toMatchObject([{ code: 'invalid', contract: 'block-etc' }]);
  await expect(deploy('1')).rejects.toMatchObject({ code: 'unprocessable' });
  const put = async (body: object) => (await t.call('putToolSettings', { body }, user)).body;
  await put({ custom_operators: ['in_network'] });
  expect(await upload()).toMatchObject([{ code: 'unknown-root', suggestion: 'args' }]);
  await expect(deploy('2')).rejects.toMatchObject({ code: 'unprocessable' });
  expect(await put({ custom_selectors: ['arg'] })).toMatchObject({
    custom_selectors: ['arg'],
    custom_operators: ['in_network'],
  });
  expect(await upload()).toEqual([]);
  expect((await deploy('2')).body).toMatchObject({ warnings: [] });
  const evaluate = async (tool_args: object, caller = user) => {
    const body = { yaml_content: yaml, tool_name: 'read_file', tool_args };
    return (await t.call('evaluateBundle', { body }, caller)).body;
  };
  // No value is found for the selector, so that the operator is not reached.
  expect(await evaluate({ ip: '10.0.0.1' })).toMatchObject({ verdict: 'allow' });
  const stranger = await t.tenant('eve@example.com');
  await expect(evaluate({}, stranger)).rejects.toMatchObject({ code: 'unprocessable' });
  expect(await upload(stranger)).toMatchObject([{ code: 'invalid' }]);
  expect(await put({ custom_operators: null })).toMatchObject({
    custom_selectors: ['arg'],
    custom_operators: [],
  });
  expect(await upload()).toMatchObject([{ code: 'invalid' }]);
});

it('takes an operator that only agents have for a fault in the playground, and says so', async () => {
  await t.call('putToolSettings', { body: { custom_operators: ['in_network'] } }, user);
  const yaml_content = bundleYaml('team').replace('{matches: ^/etc/}', '{in_network: 10.0.0.0/8}');
  const body = { yaml_content, tool_name: 'read_file', tool_args: { path: 'x' } };
  for (let i = 0; i < 2; i++) {
    expect((await t.call('evaluateBundle', { body }, user)).body).toMatchObject({
      verdict: 'deny',
      contracts_evaluated: [{ fired: true, trace: { outcome: 'fault' } }],
      warnings: [{ code: 'operator-not-run', severity: 'warning', contract: 'block-etc' }],
    });
  }
});

it.each([
  [{ custom_selectors: ['args'] }],
  [{ custom_selectors: ['a.b'] }],
  [{ custom_selectors: 'geo' }],
  [{ custom_operators: ['matches'] }],
  [{ custom_operators: ['__proto__ '] }],
  [{ custom_operators: Array.from({ length: 101 }, (_, i) => `o${i}`) }],
])('refuses words that no agent could register: %j', async (body) => {
  await expect(t.call('putToolSettings', { body }, user)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it.each([
  [{ shell: { input: 'program' } }],
  [{ '': { input: 'path' } }],
  [{ shell: 'command' }],
  [Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`t${i}`, {}]))],
])('refuses settings of tools that no guard would take', async (tool_arguments) => {
  const body = { tool_arguments };
  await expect(t.call('putToolSettings', { body }, user)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

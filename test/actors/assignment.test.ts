import { describe, expect, it } from 'vitest';
import type { RuleChange } from '../../actors/protocol.ts';
import { environments } from '../../src/shared/ids.ts';
import { settled } from '../clock.ts';
import { aNote, aRule, t0 } from '../conformance/fixtures.ts';
import { aHub, allStreams, headersOf } from './hub.ts';

type Hub = Awaited<ReturnType<typeof aHub>>;
const yaml = 'kind: ContractBundle\n';

type Unnoted<T> = T extends unknown ? Omit<T, 'note'> : never;
const change = (hub: Hub, body: Unnoted<RuleChange>) =>
  hub.actors.ask('tenant', hub.tenantId, 'changeRule', {
    ...body,
    note: aNote({ tenantId: hub.tenantId, action: 'assignment_rule.changed' }),
  } as RuleChange);
const rule = (hub: Hub, over: Partial<ReturnType<typeof aRule>> = {}) =>
  aRule({ tenantId: hub.tenantId, pattern: 'a*', tagMatch: null, bundleName: 'base', ...over });
const assign = (hub: Hub, agentIds: readonly string[], bundleName: string | null, bulk = false) =>
  hub.actors.ask('tenant', hub.tenantId, 'assign', {
    agentIds,
    bundleName,
    envs: environments,
    bulk,
    note: aNote({ tenantId: hub.tenantId }),
  });
const resolve = (hub: Hub, agentId: string) =>
  hub.actors.ask('agent', hub.agentKeyOf(agentId), 'resolve', null);

/** Connects and joins as an edge does. */
async function stream(hub: Hub, agentId: string, requested: string | null = null) {
  const { bundleName } = await hub.connect(agentId, { requested });
  await hub.join({ agentId, bundleName, pinned: requested !== null });
  await hub.announced();
}

describe('connecting', () => {
  it('registers the agent, and answers none without an assignment', async () => {
    const hub = await aHub();
    expect(await hub.connect('a1')).toMatchObject({
      bundleName: null,
      source: 'none',
      ruleId: null,
      rulePattern: null,
    });
    expect(await hub.store.agents.get(hub.tenantId, 'a1')).toMatchObject({
      lastEnv: 'production',
      lastSeenAt: t0,
    });
  });

  it('takes the explicit assignment, else the rule of the environment, and tags of stream over registration', async () => {
    const hub = await aHub();
    const tagged = rule(hub, { tagMatch: { team: 'mail' } });
    await change(hub, { action: 'create', rule: tagged });
    await change(hub, {
      action: 'create',
      rule: rule(hub, { priority: 20, env: 'staging', bundleName: 's' }),
    });
    expect(await hub.connect('a1')).toMatchObject({ source: 'none' });
    expect(await hub.connect('a1', {}, 'staging')).toMatchObject({ source: 'rule', bundleName: 's' });
    expect(await hub.connect('a1', { tags: { team: 'mail' } })).toMatchObject({
      bundleName: 'base',
      source: 'rule',
      ruleId: tagged.id,
      rulePattern: 'a*',
    });
    await hub.store.agents.update(hub.tenantId, 'a1', { tags: { team: 'mail' } });
    expect(await hub.connect('a1')).toMatchObject({ source: 'rule' });
    expect(await hub.connect('a1', { tags: { team: 'web' } })).toMatchObject({ source: 'none' });
    await assign(hub, ['a1'], 'own');
    expect(await hub.connect('a1')).toMatchObject({ source: 'explicit', bundleName: 'own' });
  });

  it('a bundle that the stream asks for wins outright', async () => {
    const hub = await aHub();
    await change(hub, { action: 'create', rule: rule(hub) });
    expect(await hub.connect('a1', { requested: 'mine' })).toMatchObject({
      source: 'agent_provided',
      bundleName: 'mine',
    });
  });

  it('tells the environment the version it runs', async () => {
    const hub = await aHub();
    const { bundleName } = await hub.connect('a1', { requested: 'mine', policyVersion: 'v1' });
    await hub.join({ agentId: 'a1', bundleName });
    expect(await hub.status()).toMatchObject([{ policyVersion: 'v1' }]);
  });
});

describe('a report', () => {
  it('is stored and seen in the status', async () => {
    const hub = await aHub();
    await stream(hub, 'a1', 'mine');
    await hub.actors.ask('agent', hub.agentKeyOf('a1'), 'report', {
      bundleName: 'mine',
      policyVersion: 'v2',
      at: t0,
    });
    await settled();
    expect(await hub.status()).toMatchObject([{ policyVersion: 'v2' }]);
    expect(await hub.store.agents.listReports(hub.tenantId, 'production', 99)).toEqual([
      { agentId: 'a1', bundleName: 'mine', policyVersion: 'v2', at: t0 },
    ]);
  });
});

describe('an explicit assignment', () => {
  it('moves the open stream: the agent hears of it, then gets what is deployed for its new bundle', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.deploy('base', 1);
    await stream(hub, 'a1');
    expect(await assign(hub, ['a1', 'stranger'], 'base')).toEqual(['a1']);
    const frames = (await hub.announced()).filter((f) => !f.audience.match(/staging|development/));
    expect(headersOf(frames)).toEqual([
      'dashboards assignment_changed',
      'agents/production assignment_changed',
      'agents/production contract_update',
    ]);
    const data = { type: 'assignment_changed', agent_id: 'a1', bundle_name: 'base', source: 'explicit' };
    expect(frames[0]?.data).toEqual(data);
    expect(frames[1]).toMatchObject({ data, agent: 'a1' });
    expect(frames[2]).toMatchObject({ agent: 'a1', bundle: 'base', data: { version: 1 } });
    expect(await hub.status()).toMatchObject([{ bundleName: 'base' }]);
  });

  it('of many is one event for the dashboards', async () => {
    const hub = await aHub();
    await stream(hub, 'a1');
    await stream(hub, 'a2');
    await assign(hub, ['a1', 'a2'], 'base', true);
    const frames = await hub.announced();
    expect(frames.filter((f) => f.audience.startsWith('dashboards')).map((f) => f.data)).toEqual([
      { type: 'assignment_changed', agent_id: '__bulk__', bundle_name: 'base', source: 'explicit' },
    ]);
    const told = frames.filter((f) => f.audience.endsWith('production')).map((f) => f.agent);
    expect(told).toEqual(['a1', 'a2']);
  });

  it('taken away lets the stream follow all again', async () => {
    const hub = await aHub();
    await stream(hub, 'a1');
    await assign(hub, ['a1'], 'base');
    await hub.announced();
    await assign(hub, ['a1'], null);
    const frame = (await hub.announced()).find((f) => f.agent === 'a1');
    expect(frame?.data).toMatchObject({ bundle_name: null, source: 'none' });
    expect(await hub.status()).toMatchObject([{ bundleName: null }]);
  });

  it('of nobody that is registered announces nothing', async () => {
    const hub = await aHub();
    expect(await assign(hub, ['stranger'], 'base')).toEqual([]);
    expect(await hub.announced()).toEqual([]);
  });

  it('leaves pinned streams where they are', async () => {
    const hub = await aHub();
    await stream(hub, 'a1', 'mine');
    await hub.connect('a1', { connectionId: 'free' });
    await hub.join({ agentId: 'a1', connectionId: 'free', connectedAt: hub.clock.now() + 1 });
    await assign(hub, ['a1'], 'base');
    await settled();
    expect((await hub.status()).map((e) => e.bundleName)).toEqual(['mine', 'base']);
  });

  // Every listed agent hears of a bulk assignment, also one whose stream named its bundle; that bundle wins, so the
  // stream follows no other.
  it('is heard by an agent that named the bundle of all its streams, every time, and moves none of them', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.deploy('base', 1);
    await stream(hub, 'a1', 'mine');
    await hub.announced();
    for (const bundleName of ['base', 'other', null]) {
      await assign(hub, ['a1'], bundleName);
      const told = (await hub.announced()).filter(
        (f) => f.agent === 'a1' && f.audience.endsWith('production'),
      );
      expect(told.map((f) => f.data)).toEqual([
        {
          type: 'assignment_changed',
          agent_id: 'a1',
          bundle_name: bundleName,
          source: bundleName === null ? 'none' : 'explicit',
        },
      ]);
      expect(await hub.status()).toMatchObject([{ bundleName: 'mine' }]);
    }
  });

  it('that comes between connecting and joining is not lost', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.deploy('base', 1);
    const connectedAt = hub.clock.now();
    const { bundleName } = await hub.connect('a1');
    await assign(hub, ['a1'], 'base');
    await settled();
    const { catchUp } = await hub.join({ agentId: 'a1', bundleName, connectedAt });
    expect(catchUp).toMatchObject([{ bundleName: 'base' }]);
    expect(await hub.status()).toMatchObject([{ bundleName: 'base' }]);
  });
});

describe('a second stream of one agent', () => {
  const statusOf = async (hub: Hub) => (await hub.status()).map(({ bundleName }) => bundleName);
  const second = { connectionId: 'c-second' };

  it('moves the first when the assignment changed since, before the agent resolves', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.deploy('base', 1);
    await stream(hub, 'a1');
    await hub.store.agents.assign(hub.tenantId, ['a1'], 'base');
    expect(await hub.connect('a1', second)).toMatchObject({ bundleName: 'base' });
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual([
      'agents/production assignment_changed',
      'agents/production contract_update',
    ]);
    expect(frames[1]).toMatchObject({ agent: 'a1', bundle: 'base' });
    expect(await statusOf(hub)).toEqual(['base']);
    await resolve(hub, 'a1');
    expect(await hub.announced()).toEqual([]);
  });

  it('moves no other stream by its own tags', async () => {
    const hub = await aHub();
    await stream(hub, 'a1');
    await change(hub, { action: 'create', rule: rule(hub, { tagMatch: { team: 'mail' } }) });
    await hub.announced();
    const tags = { team: 'mail' };
    expect(await hub.connect('a1', { ...second, tags })).toMatchObject({ bundleName: 'base' });
    expect(await hub.announced()).toEqual([]);
    expect(await statusOf(hub)).toEqual([null]);
  });
});

describe('resolving', () => {
  it('announces nothing when the bundle stays the same or nobody is connected', async () => {
    const hub = await aHub();
    await stream(hub, 'a1');
    expect(await resolve(hub, 'a1')).toMatchObject({ source: 'none' });
    await stream(hub, 'a2', 'mine');
    await resolve(hub, 'a2');
    await hub.announced();
    await resolve(hub, 'a2');
    await hub.actors.tell('agent', hub.agentKeyOf('a2'), 'disconnect', { connectionId: 'c-a2' });
    await assign(hub, ['a2'], 'base');
    const frames = await hub.announced();
    expect(frames.filter((f) => f.audience.endsWith('production'))).toEqual([]);
  });

  it('says it again after the activation was lost, since nobody knows what the streams follow', async () => {
    const hub = await aHub();
    await change(hub, { action: 'create', rule: rule(hub) });
    await hub.announced();
    await resolve(hub, 'a1');
    expect(headersOf(await hub.announced())).toEqual(['agents/production assignment_changed']);
    await resolve(hub, 'a1');
    expect(await hub.announced()).toEqual([]);
  });

  it('says every change after a failure, although no stream was announced again since', async () => {
    let isAway = false;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        agents: {
          ...store.agents,
          get: (...place) => (isAway ? Promise.reject(new Error('away')) : store.agents.get(...place)),
        },
      }),
    });
    await stream(hub, 'a1');
    isAway = true;
    await expect(resolve(hub, 'a1')).rejects.toMatchObject({ code: 'internal' });
    isAway = false;
    for (const bundleName of ['base', 'other', null]) {
      await assign(hub, ['a1'], bundleName);
      const frames = await hub.announced();
      const here = frames.filter(({ audience, agent }) => audience.endsWith('/production') && agent === 'a1');
      expect(here.map(({ data }) => data.bundle_name)).toEqual([bundleName]);
      expect(await hub.status()).toMatchObject([{ bundleName }]);
    }
  });
});

describe('a change of rules', () => {
  it('is stored, told to the dashboards, and moves the connected agents that it concerns', async () => {
    const hub = await aHub();
    await stream(hub, 'a1');
    await stream(hub, 'b1');
    const given = rule(hub);
    expect(await change(hub, { action: 'create', rule: given })).toEqual(given);
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual([
      'dashboards assignment_changed',
      'agents/production assignment_changed',
    ]);
    expect(frames[0]?.data).toEqual({ type: 'assignment_changed', rule_id: given.id, action: 'created' });
    expect(frames[1]?.data).toEqual({
      type: 'assignment_changed',
      agent_id: 'a1',
      bundle_name: 'base',
      source: 'rule',
    });
    expect((await hub.status()).map((e) => e.bundleName)).toEqual(['base', null]);

    await change(hub, { action: 'update', id: given.id, patch: { env: 'staging' } });
    const moved = await hub.announced();
    expect(moved[0]?.data).toMatchObject({ action: 'updated' });
    expect(moved[1]?.data).toMatchObject({ bundle_name: null, source: 'none' });

    await change(hub, { action: 'delete', id: given.id });
    expect((await hub.announced())[0]?.data).toMatchObject({ action: 'deleted' });
    expect(await hub.store.rules.list(hub.tenantId)).toEqual([]);
  });

  // Rules tell the agents whose result changed; for a stream that named its bundle nothing is resolved.
  it('is not told to an agent whose streams all named their bundle: no rule concerns it', async () => {
    const hub = await aHub();
    await stream(hub, 'a1', 'mine');
    await hub.announced();
    await change(hub, { action: 'create', rule: rule(hub) });
    expect(headersOf(await hub.announced())).toEqual(['dashboards assignment_changed']);
  });

  it('refuses a priority that is taken and an unknown rule; a repeated creation is harmless', async () => {
    const hub = await aHub();
    const given = rule(hub);
    await change(hub, { action: 'create', rule: given });
    expect(await change(hub, { action: 'create', rule: given })).toEqual(given);
    const taken = { code: 'conflict' };
    await expect(change(hub, { action: 'create', rule: rule(hub) })).rejects.toMatchObject(taken);
    const second = await change(hub, { action: 'create', rule: rule(hub, { priority: 11 }) });
    await expect(
      change(hub, { action: 'update', id: second.id, patch: { priority: 10 } }),
    ).rejects.toMatchObject({ ...taken, message: 'An assignment rule with priority 10 already exists.' });
    for (const body of [
      { action: 'delete', id: 'x' },
      { action: 'update', id: 'x', patch: { priority: 1 } },
    ] as const) {
      await expect(change(hub, body)).rejects.toMatchObject({ code: 'not_found', message: 'Rule not found' });
    }
  });

  it('reaches a large fleet in portions, every agent of it', async () => {
    const hub = await aHub();
    for (let i = 0; i < 450; i++) await stream(hub, `a${i}`);
    await change(hub, { action: 'create', rule: rule(hub) });
    await settled();
    await hub.clock.advanceAsync(20);
    await hub.clock.advanceAsync(20);
    expect(await hub.status('base')).toHaveLength(450);
  });

  it('that comes between connecting and joining is not lost', async () => {
    const hub = await aHub();
    await stream(hub, 'other');
    const connectedAt = hub.clock.now();
    const { bundleName } = await hub.connect('a1');
    hub.clock.advance(3);
    await change(hub, { action: 'create', rule: rule(hub) });
    await settled();
    await hub.join({ agentId: 'a1', bundleName, connectedAt });
    await settled();
    expect(await hub.status('base')).toMatchObject([{ agentId: 'a1' }]);
    expect(headersOf(await hub.announced())).toContain('agents/production assignment_changed');
  });
});

describe('what an agent is to follow', () => {
  const retarget = (hub: Hub, bundleName: string, at: number, actors = hub.actors) =>
    actors.ask('environment', hub.keyOf(), 'retarget', {
      agentId: 'a1',
      bundleName,
      connected: true,
      resolvedAt: { epoch: 0, at },
    });
  const updates = async (hub: Hub) =>
    (await hub.announced())
      .filter(({ type }) => type === 'contract_update')
      .map(({ audience, bundle, agent }) => `${agent} ${bundle} ${audience.split('/').at(-1)}`);
  async function aDeployedHub() {
    const hub = await aHub();
    for (const name of ['base', 'other']) {
      await hub.upload(name, `${yaml}# ${name}\n`);
      await hub.deploy(name, 1);
      await hub.deploy(name, 1, 'staging');
    }
    return hub;
  }

  it('is sent by a new owner to whom no stream was announced yet', async () => {
    const hub = await aDeployedHub();
    await stream(hub, 'a1');
    await hub.actors.stop();
    const other = hub.start();
    await other.ask('environment', hub.keyOf(), 'status', allStreams);
    await hub.clock.advanceAsync(1);
    await hub.announced();
    // The edge has it from this on that the stream follows `base`, and will announce it so.
    await hub.store.agents.assign(hub.tenantId, ['a1'], 'base');
    await other.ask('agent', hub.agentKeyOf('a1'), 'resolve', null);
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual([
      'agents/production assignment_changed',
      'agents/production contract_update',
    ]);
    expect(frames[1]).toMatchObject({ agent: 'a1', bundle: 'base' });
    await other.stop();
  });

  it('is sent when it is repeated after a failure, although its streams were announced so meanwhile', async () => {
    const hub = await aDeployedHub();
    await stream(hub, 'a1');
    hub.bus.cut = true;
    await expect(retarget(hub, 'base', 1)).rejects.toMatchObject({ code: 'unavailable' });
    hub.bus.cut = false;
    await hub.join({ agentId: 'a1', bundleName: 'base' });
    await hub.clock.advanceAsync(1);
    await hub.announced();
    await retarget(hub, 'base', 1);
    expect(await updates(hub)).toEqual(['a1 base production']);
    await retarget(hub, 'base', 2);
    expect(await updates(hub)).toEqual([]);
  });

  it('is what was resolved last, in whatever order that is heard', async () => {
    const hub = await aDeployedHub();
    await stream(hub, 'a1');
    await hub.announced();
    await retarget(hub, 'other', 2);
    await retarget(hub, 'base', 1);
    expect(await updates(hub)).toEqual(['a1 other production']);
    expect(await hub.status()).toMatchObject([{ bundleName: 'other' }]);
    await hub.actors.ask('environment', hub.keyOf(), 'retarget', {
      agentId: 'a1',
      bundleName: 'base',
      resolvedAt: { epoch: 1, at: 1 },
    });
    expect(await hub.status()).toMatchObject([{ bundleName: 'base' }]);
  });

  it('is sent where the agent is connected, not to its other environments', async () => {
    const hub = await aDeployedHub();
    await stream(hub, 'a1');
    await hub.announced();
    await assign(hub, ['a1'], 'base');
    expect(await updates(hub)).toEqual(['a1 base production']);
  });
});

it('an agent lets go of memory once its streams have closed', async () => {
  const hub = await aHub();
  await hub.connect('a1');
  await hub.clock.advanceAsync(120_000, 10_000);
  expect(hub.actors.size).toBe(1);
  await hub.actors.ask('agent', hub.agentKeyOf('a1'), 'disconnect', { connectionId: 'c-a1' });
  await hub.clock.advanceAsync(120_000, 10_000);
  expect(hub.actors.size).toBe(0);
});

it('an agent whose id holds slashes is one agent', async () => {
  const hub = await aHub();
  await hub.connect('team/mail/1');
  expect(await hub.store.agents.get(hub.tenantId, 'team/mail/1')).toMatchObject({ agentId: 'team/mail/1' });
});

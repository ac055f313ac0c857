// The numbers of an environment's connected agents: when they are told, and that they are what the status list says.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Roster } from '../../actors/roster.ts';
import type { Env } from '../../src/shared/ids.ts';
import { settled } from '../clock.ts';
import { aHub, openedBy } from './hub.ts';

const yaml = 'kind: ContractBundle\n';

type Hub = Awaited<ReturnType<typeof aHub>>;

/** The numbers that were told since the last call, as `connected/current/drift/unknown`. */
const told = async (hub: Hub, env: Env = 'production') =>
  (await hub.announced())
    .filter(({ type, data }) => type === 'fleet_changed' && data.env === env)
    .map(({ data: d }) => `${d.connected}/${d.current}/${d.drift}/${d.unknown}`);

const passed = async (hub: Hub, ms: number) => {
  await settled();
  hub.clock.advance(ms);
  await settled();
};
const leave = (hub: Hub, agentId: string, connectionId = `c-${agentId}`) =>
  hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId, connectionId });
const report = (hub: Hub, agentId: string, policyVersion: string, at = hub.clock.now()) =>
  hub.actors.ask('environment', hub.keyOf(), 'reportVersions', {
    reports: [{ agentId, bundleName: 'base', policyVersion, at }],
  });

it('are told once a second at most, however much changes, and only when they are others', async () => {
  const hub = await aHub();
  const { hash } = await hub.upload('base', yaml);
  await hub.deploy('base', 1);
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['0/0/0/0']);

  for (let i = 0; i < 50; i++) await hub.join({ agentId: `a${i}`, bundleName: 'base' });
  expect(await told(hub)).toEqual([]);
  await passed(hub, 999);
  expect(await told(hub)).toEqual([]);
  await passed(hub, 1);
  expect(await told(hub)).toEqual(['50/0/0/50']);

  await report(hub, 'a0', hash);
  await report(hub, 'a1', 'another');
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['50/1/1/48']);

  // The same version again, one of an agent that is not connected, and an agent that comes and goes: nothing to tell.
  await report(hub, 'a0', hash);
  await report(hub, 'absent', hash);
  await hub.join({ agentId: 'short' });
  await leave(hub, 'short');
  await passed(hub, 1_000);
  await passed(hub, 10_000);
  expect(await told(hub)).toEqual([]);

  // After a rest a change is told at once.
  await leave(hub, 'a2');
  await passed(hub, 1);
  expect(await told(hub)).toEqual(['49/1/1/47']);
});

it('follow what is deployed and taken away, in their own environment alone', async () => {
  const hub = await aHub();
  const first = await hub.upload('base', yaml);
  await hub.upload('base', `${yaml}# second\n`);
  await hub.deploy('base', 1);
  await hub.join({ agentId: 'a', bundleName: 'base', policyVersion: first.hash });
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['1/1/0/0']);
  await hub.deploy('base', 2);
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['1/0/1/0']);
  const undeploy = { bundleName: 'base', undeployedBy: 'ann@example.org' };
  await hub.actors.ask('environment', hub.keyOf(), 'undeploy', undeploy);
  await passed(hub, 1_000);
  expect(await told(hub, 'staging')).toEqual([]);
  expect(await hub.actors.ask('environment', hub.keyOf(), 'fleet', null)).toEqual({
    connected: 1,
    current: 0,
    drift: 0,
    unknown: 1,
  });
});

it('end with zero when the last agent leaves', async () => {
  const hub = await aHub();
  await hub.join({ agentId: 'a' });
  await passed(hub, 1_000);
  await leave(hub, 'a');
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['1/0/0/1', '0/0/0/0']);
});

it('of an activation that begins wait for the agents that are announced to it', async () => {
  const hub = await aHub();
  for (const agentId of ['a', 'b', 'c']) await hub.join({ agentId });
  expect(await told(hub)).toEqual([]);
  await passed(hub, 1_000);
  expect(await told(hub)).toEqual(['3/0/0/3']);
});

it('count each agent once, by its newest stream on a node that lives, as a recount of the status list does', () => {
  const agents = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('join' as const),
      agentId: agents,
      connection: fc.nat(2),
      bundle: fc.constantFrom(null, 'x', 'y'),
      node: fc.constantFrom('n1', 'n2'),
    }),
    fc.record({ kind: fc.constant('leave' as const), agentId: agents, connection: fc.nat(2) }),
    fc.record({
      kind: fc.constant('report' as const),
      agentId: agents,
      bundle: fc.constantFrom(null, 'x', 'y'),
      version: fc.constantFrom('1', '2'),
    }),
  );
  const deployed = new Map([['x', { revisionHash: '1', version: 1 }]]);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, dead) => {
      const roster = new Roster();
      const isGone = (node: string) => dead && node === 'n2';
      steps.forEach((one, at) => {
        if (one.kind === 'leave') roster.leave(one.agentId, `${one.agentId}${one.connection}`);
        else if (one.kind === 'report')
          roster.reportVersion({
            agentId: one.agentId,
            bundleName: one.bundle,
            policyVersion: one.version,
            at,
          });
        else
          roster.join({
            connectionId: `${one.agentId}${one.connection}`,
            node: one.node,
            agentId: one.agentId,
            bundleName: one.bundle,
            pinned: true,
            connectedAt: at,
            ...openedBy,
          });
      });
      const newest = new Map<string, string>();
      const all = { bundleName: null, limit: 1_000, after: null };
      for (const { agentId, status } of roster.status('production', deployed, all, isGone).entries) {
        newest.set(agentId, status);
      }
      const of = (status: string) => [...newest.values()].filter((one) => one === status).length;
      expect(roster.numbers(deployed, isGone)).toEqual({
        connected: newest.size,
        current: of('current'),
        drift: of('drift'),
        unknown: of('unknown'),
      });
    }),
  );
});

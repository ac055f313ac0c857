// Work that an environment does in portions goes on although its owner dies, or the bus is away, in between.

import { expect, it } from 'vitest';
import { hubKinds } from '../../actors/kinds.ts';
import type { ActorPorts } from '../../actors/ports.ts';
import type { HubActors, HubKinds } from '../../actors/protocol.ts';
import { createRemoteActors } from '../../actors/runtime/remote.ts';
import { RuleSets } from '../../src/agent/rules/assignment.ts';
import { AgentStream, type StreamNode } from '../../src/agent/use-cases/stream.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import { currentFormat } from '../../src/shared/cluster-format.ts';
import type { Control, Frame } from '../../src/shared/frame.ts';
import { agentsOf } from '../../src/shared/frame.ts';
import type { Envelope } from '../../src/shared/ports/message-bus.ts';
import { settled } from '../clock.ts';
import { aNote, aRule } from '../conformance/fixtures.ts';
import { consoleAnnouncer } from '../frames.ts';
import { memoryLog } from '../log.ts';
import { aHub, allStreams, registrarOf, rotation } from './hub.ts';
import { MemoryBus } from './runtime/memory-bus.ts';

const yaml = 'kind: ContractBundle\n';
const many = 20;

/** A hub whose actors are nodes of a cluster. `sends` may refuse an envelope, `publishes` frames; both by node. */
async function aFleet() {
  const hub = await aHub();
  for (let i = 0; i < many; i++) {
    await hub.upload(`b${i}`, `${yaml}# ${i}\n`);
    await hub.deploy(`b${i}`, 1);
  }
  await hub.actors.stop();
  // Old enough not to be announced by an activation.
  hub.clock.advance(16 * 60_000);
  const network = new MemoryBus(hub.clock);
  const portions: Frame[][] = [];
  const on = {
    sends: (_node: string, _letter: Envelope) => {},
    publishes: (_node: string, _frames: readonly Frame[]) => {},
    control: (_message: Control) => {},
  };
  const node = async (name: string) => {
    const bus = network.bus(name);
    const publish = async (frames: readonly Frame[]) => {
      on.publishes(name, frames);
      portions.push([...frames]);
    };
    const announcer = consoleAnnouncer({ publish });
    const actors = createRemoteActors<HubKinds, ActorPorts>({
      definitions: hubKinds,
      ports: {
        store: hub.store,
        secrets: hub.secrets,
        registrar: registrarOf(hub.store, hub.clock),
        ruleSets: new RuleSets(),
        isGone: () => false,
        meters: createMeters(),
      },
      clock: hub.clock,
      log: memoryLog(),
      announcer,
      broadcast: { control: async (message) => on.control(message) },
      node: name,
      bus: {
        ...bus,
        send: async (shard, envelope) => {
          on.sends(name, envelope);
          return bus.send(shard, envelope);
        },
      },
      leases: network.leases(name),
      members: network.members(name),
      note: () => ({ version: 'test', ...currentFormat, startedAt: 0, agents: 0 }),
    });
    await actors.turn();
    return { actors, announcer };
  };
  const pass = (ms: number) => hub.clock.advanceAsync(ms, 100);
  return { hub, network, node, on, portions, pass };
}

it('after a rotation of the key every deployment is announced, though the owner dies after the first portion', async () => {
  const { hub, network, node, on, portions, pass } = await aFleet();
  const a = await node('a');
  let updates = 0;
  on.publishes = (name, frames) => {
    if (name !== 'a' || frames[0]?.type !== 'contract_update' || ++updates < 2) return;
    network.cut.add('a');
    throw new Error('dead');
  };
  await a.actors.ask('tenant', hub.tenantId, 'rotateSigningKey', rotation('k2'));
  await pass(300);
  const told = () => new Set(portions.flat().flatMap(({ bundle }) => bundle ?? []));
  expect(told().size).toBeLessThan(many);
  await node('b');
  await pass(10_000);
  expect(told().size).toBe(many);
  expect(Math.max(...portions.map(({ length }) => length))).toBeLessThan(many);
  await a.actors.stop(0);
});

it('after a change of rules every agent it concerns is assigned anew, though the bus was away after the first portion', async () => {
  const { hub, node, on, pass } = await aFleet();
  const { actors, announcer } = await node('a');
  const edge = {
    ports: { actors: actors as HubActors, announcer, clock: hub.clock },
    id: 'n1',
    startedAt: hub.clock.now(),
  } as unknown as StreamNode;
  const streams = Array.from({ length: 450 }, (_, i) => {
    const asked = {
      tenantId: hub.tenantId,
      env: 'production',
      requested: null,
      policyVersion: null,
    } as const;
    // Nothing is told of the first portion, so nothing else wakes the environment.
    const own = {
      agentId: `${i < 250 ? 'early' : 'late'}-${i}`,
      connectionId: `c${i}`,
      tags: {},
      transport: 'sse' as const,
      api: 'console' as const,
      client: { keyId: 'key-1', agentId: null, network: '' },
      resumes: false,
      audience: agentsOf(hub.tenantId, 'production'),
      skips: null,
      loadsAny: false,
      wantsIsolation: false,
    };
    return { stream: new AgentStream(edge, { ...asked, ...own }), follows: null as string | null };
  });
  const announceAll = () => Promise.all(streams.map(({ stream, follows }) => stream.announce(follows)));
  const byAgent = new Map(streams.map((one) => [one.stream.agentId, one]));
  on.control = ({ kind }) => void (kind === 'roster_wanted' && announceAll().catch(() => {}));
  on.publishes = (_name, frames) => {
    for (const { agent, assigned } of frames) {
      const found = assigned !== undefined && agent !== undefined && byAgent.get(agent);
      if (found) found.follows = assigned;
    }
  };
  await announceAll();
  await pass(10_000);
  let resolved = 0;
  let away = true;
  on.sends = (_name, { type }) => {
    if (type === 'resolve' && ++resolved > 200 && away) throw new Error('away');
  };
  const rule = aRule({ tenantId: hub.tenantId, pattern: 'late*', tagMatch: null, bundleName: 'b1' });
  await actors.ask('tenant', hub.tenantId, 'changeRule', {
    action: 'create',
    rule,
    note: aNote({ tenantId: hub.tenantId, action: 'assignment_rule.created' }),
  });
  await pass(2000);
  expect(resolved).toBeGreaterThan(200);
  away = false;
  await pass(2000);
  await settled();
  expect(streams.filter(({ follows }) => follows === 'b1')).toHaveLength(200);
  const followed = { ...allStreams, bundleName: 'b1' };
  const { entries } = await actors.ask('environment', hub.keyOf(), 'status', followed);
  expect(entries).toHaveLength(200);
  await actors.stop(0);
});

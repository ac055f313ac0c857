// Nodes of counters over one bus in memory and one manual clock, for tests of what runs between nodes.
import { createRemoteActors, type RemoteActors, shardOfKey } from '../../../actors/runtime/remote.ts';
import { currentFormat } from '../../../src/shared/cluster-format.ts';
import { ManualClock } from '../../clock.ts';
import { memoryLog } from '../../log.ts';
import { type CounterKinds, type CounterPorts, counterKinds } from './counter.ts';
import { MemoryBus } from './memory-bus.ts';

export function aCluster() {
  const clock = new ManualClock(0);
  const bus = new MemoryBus(clock);
  const ports: CounterPorts = {
    stored: new Map(),
    steps: [],
    gates: new Map(),
    broken: null,
    activations: 0,
  };
  const announced: unknown[] = [];
  /** Names of the nodes that say that they are about to stop. */
  const leaving = new Set<string>();
  const node = async (name: string) => {
    const log = memoryLog();
    const moved: number[] = [];
    const actors = createRemoteActors<CounterKinds, CounterPorts>({
      definitions: counterKinds,
      ports,
      clock,
      log,
      announcer: { announce: async (list) => void announced.push(...list) },
      broadcast: { control: async () => {} },
      node: name,
      bus: bus.bus(name),
      leases: bus.leases(name),
      members: bus.members(name),
      note: () => ({
        version: 'test',
        ...currentFormat,
        startedAt: 0,
        agents: 0,
        ...(leaving.has(name) ? { leaving: true as const } : {}),
      }),
      moved: async (shards) => void moved.push(...shards),
    });
    await actors.turn();
    return { actors, log, moved, name };
  };
  const latch = (name: string) => {
    let open = () => {};
    ports.gates.set(name, new Promise<void>((resolve) => (open = resolve)));
    return () => open();
  };
  /** Lets the nodes' loops run for so long. */
  const pass = (ms: number) => clock.advanceAsync(ms, 100);
  return { clock, bus, ports, announced, leaving, node, latch, pass };
}

/** A key whose shard this node owns. */
export const keyOf = (actors: RemoteActors<CounterKinds>): string => {
  for (let i = 0; ; i++)
    if (actors.shards.includes(shardOfKey(`t${i}/production`))) return `t${i}/production`;
};

export async function two() {
  const cluster = aCluster();
  const a = await cluster.node('a');
  const b = await cluster.node('b');
  await cluster.pass(3000);
  return { ...cluster, a, b };
}

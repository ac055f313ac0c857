// One process that needs no other service: SQLite, and everything else in memory.
import { join } from 'node:path';
import { hubKinds } from '../../actors/kinds.ts';
import type { ActorPorts } from '../../actors/ports.ts';
import type { HubKinds } from '../../actors/protocol.ts';
import { createActors } from '../../actors/runtime/system.ts';
import { createLocalBroadcast } from '../../adapters/local/broadcast.ts';
import { createLocalJobs } from '../../adapters/local/jobs.ts';
import { createLocalLimits } from '../../adapters/local/limits.ts';
import { keepInstead, readKept } from '../../adapters/node/data-folder.ts';
import { openSqlite } from '../../adapters/sqlite/index.ts';
import { createAnnouncer } from '../http/live/announcer.ts';
import { shardCount } from '../shared/ids.ts';
import { version } from '../version.ts';
import { refuseMoved } from './move/folder-mark.ts';
import { actorPorts, type Materials, type NodeParts, registrarOf } from './parts.ts';

export async function openEmbedded(materials: Materials): Promise<NodeParts> {
  const { config, clock, log, secrets } = materials;
  const node = secrets.uuid();
  const startedAt = clock.now();
  refuseMoved(config.dataDir);
  const idFile = join(config.dataDir, 'hub.id');
  const store = await openSqlite({
    path: join(config.dataDir, 'reeve.db'),
    clock,
    log,
    reserveBytes: config.diskReserveBytes,
    diskMeasured: (ms) => materials.meters.dependencies.disk.add(ms),
    hubId: { read: () => readKept(idFile), write: (id) => keepInstead(idFile, id) },
  });
  const broadcast = createLocalBroadcast({ clock, log });
  const announcer = createAnnouncer(broadcast, materials.streamApis);
  const limits = createLocalLimits({ clock });
  const registrar = registrarOf(materials, store, limits);
  const jobs = createLocalJobs({ table: store.jobs, clock, log, alone: true });
  const actors = createActors<HubKinds, ActorPorts>({
    definitions: hubKinds,
    ports: actorPorts(materials, store, registrar, () => false),
    clock,
    announcer,
    broadcast,
    jobs,
    log,
  });
  return {
    node,
    store,
    announcer,
    broadcast,
    limits,
    requestLimits: limits,
    registrar,
    jobs,
    actors,
    keyValue: () => store.ping(),
    cluster: async () => clusterOfOne(node, startedAt, materials.agents()),
    isAloneWithout: async () => true,
    owns: () => true,
    begin: async () => {},
    control: () => {},
    stopActors: () => actors.stop(),
    async close() {
      await registrar.close();
      await broadcast.close();
      await store.close();
    },
  };
}

/** The cluster's state as one node is all of it. */
const clusterOfOne = (
  node: string,
  startedAt: number,
  agents: number,
): Awaited<ReturnType<NodeParts['cluster']>> => ({
  mode: 'embedded',
  node,
  nodes: [{ node, version, startedAt, agents, shards: [...Array(shardCount).keys()] }],
  shardCount,
  lag: [],
  broadcastLagMs: 0,
});

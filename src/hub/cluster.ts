// One node of a cluster: MongoDB, Redis, and actors that this node shares with the others. Keeps promises P12, P14 and
// P17.
import { hubKinds } from '../../actors/kinds.ts';
import type { ActorPorts } from '../../actors/ports.ts';
import type { HubKinds } from '../../actors/protocol.ts';
import { createRemoteActors, shardOfKey } from '../../actors/runtime/remote.ts';
import { openBullJobs } from '../../adapters/bullmq/index.ts';
import { createLocalLimits } from '../../adapters/local/limits.ts';
import { openMongo } from '../../adapters/mongo/index.ts';
import type { ClusterClock } from '../../adapters/redis/clock.ts';
import { openRedis, redisConnections } from '../../adapters/redis/index.ts';
import { createAnnouncer } from '../http/live/announcer.ts';
import { currentFormat, formatConflict } from '../shared/cluster-format.ts';
import { hourMs } from '../shared/duration.ts';
import { HubError } from '../shared/error.ts';
import { type Audience, type Control, environmentIn } from '../shared/frame.ts';
import { shardCount } from '../shared/ids.ts';
import { pause } from '../shared/ports/clock.ts';
import { leaseRenewMs } from '../shared/ports/leases.ts';
import { type Membership, memberMs } from '../shared/ports/membership.ts';
import type { Store } from '../shared/ports/store.ts';
import { version } from '../version.ts';
import { startAuditRecovery } from './audit-recovery.ts';
import { actorPorts, type Materials, type NodeParts, registrarOf } from './parts.ts';
import { createReach } from './reach.ts';

/** A loop that has not turned for so long is crashed; turns come every 1 to 2 s. */
const loopMs = 6000;
/** A node that is no member any more for so long is gone. */
const missedMs = 2 * leaseRenewMs;
/** Extra time for a node that this one has never seen, in milliseconds. */
const strangerMs = memberMs;
const forgetMs = 2 * hourMs;
/** Together 10 s: while Redis is away for longer all leases end, and their new owners announce the shards again. */
const wakeAttempts = 20;
const wakeAgainMs = 500;

/** @throws HubError conflict when a node lives whose format does not work with this version's */
async function refuseOtherFormats(members: Pick<Membership, 'list'>): Promise<void> {
  for (const { node, note } of await members.list()) {
    const conflict = formatConflict(currentFormat, note, `node ${node} (version ${note.version})`);
    if (conflict) throw new HubError('conflict', `This node cannot join the cluster: ${conflict}`);
  }
}

type ClusterMaterials = Materials & { readonly clock: ClusterClock };
type ClusterConfig = NonNullable<Materials['config']['cluster']> & { readonly node: string };

/** Redis, MongoDB and the jobs. After a failure, what was opened is closed. */
async function openServices(
  { clock, log, workers, admission }: ClusterMaterials,
  { mongoUrl, redisUrl, name, node }: ClusterConfig,
) {
  const group = redisConnections(log);
  const redis = await openRedis({
    url: redisUrl,
    log,
    clock,
    group,
    clusterClock: clock,
    prefix: `${name}:`,
    nodeId: node,
    busTurned: workers.add('consumer', loopMs),
    framesTurned: workers.add('broadcast', loopMs),
  });
  // Before the store: a node that is refused here leaves the database as it is.
  const documents = await refuseOtherFormats(redis.members)
    .then(() => openMongo({ url: mongoUrl, node, log, clock, admission }))
    .catch(async (error: unknown) => {
      await redis.close();
      throw error;
    });
  const jobs = await openBullJobs({ url: redisUrl, clock, log, group, prefix: name }).catch(
    async (error: unknown) => {
      await redis.close();
      await documents.close();
      throw error;
    },
  );
  return { redis, documents, jobs };
}

/** Time when each node was last seen among the members, in this node's monotonic time. */
class HeardNodes {
  readonly #node: string;
  readonly #clock: ClusterClock;
  readonly #heardAt = new Map<string, number>();

  constructor(node: string, clock: ClusterClock) {
    this.#node = node;
    this.#clock = clock;
  }

  /** Notes the members of a turn. */
  hear(members: readonly { readonly node: string }[]): void {
    const now = this.#clock.monotonic();
    for (const [other, at] of this.#heardAt) if (now - at > forgetMs) this.#heardAt.delete(other);
    for (const { node } of members) this.#heardAt.set(node, now);
  }

  gone(): string[] {
    return [...this.#heardAt.keys()].filter((other) => this.isGone(other));
  }

  /** True for a node that has been missing from the members for two turns; a stranger gets more time to appear. */
  isGone(other: string): boolean {
    const now = this.#clock.monotonic();
    // A node that has not seen itself among the members lately cannot judge others.
    if (other === this.#node || now - (this.#heardAt.get(this.#node) ?? Number.NEGATIVE_INFINITY) > missedMs)
      return false;
    const at = this.#heardAt.get(other) ?? now + strangerMs;
    this.#heardAt.set(other, at);
    return now - at > missedMs;
  }
}

type Services = Awaited<ReturnType<typeof openServices>>;
type ClusterActors = ReturnType<typeof createRemoteActors<HubKinds, ActorPorts>>;

/** The nodes with their shards, and how far the bus is behind. */
async function clusterStateOf(
  node: string,
  { redis }: Services,
  actors: ClusterActors,
  agents: () => number,
): ReturnType<NodeParts['cluster']> {
  const nodes = actors.members.map((member) => ({
    node: member.node,
    ...member.note,
    ...(member.node === node ? { shards: actors.shards, agents: agents() } : {}),
  }));
  const othersOwn = new Set(nodes.flatMap((one) => (one.node === node ? [] : one.shards)));
  const all = Array.from({ length: shardCount }, (_, shard) => shard);
  const own = new Set(actors.shards);
  const [lag, broadcastLagMs] = await Promise.all([
    redis.bus.lag(all.filter((shard) => own.has(shard) || !othersOwn.has(shard))),
    redis.broadcastLagMs(),
  ]);
  return { mode: 'cluster', node, nodes, shardCount, lag, broadcastLagMs };
}

/** The actors of this node, which follows what nodes that are gone left. */
function joinActors(
  materials: ClusterMaterials,
  { redis, documents, jobs }: Services,
  {
    node,
    store,
    registrar,
    announcer,
    startedAt,
    lacksStore,
  }: Pick<NodeParts, 'node' | 'store' | 'registrar' | 'announcer'> & {
    readonly startedAt: number;
    /** As of the last time that readiness was asked for. */
    readonly lacksStore: () => boolean;
  },
) {
  const { clock, log, workers, agents, meters } = materials;
  const heard = new HeardNodes(node, clock);
  const leasesTurned = workers.add('leases', loopMs);
  const recovery = startAuditRecovery({ audit: documents.audit, members: redis.members, clock, log });
  const actors: ClusterActors = createRemoteActors<HubKinds, ActorPorts>({
    definitions: hubKinds,
    ports: actorPorts(materials, store, registrar, (other) => heard.isGone(other)),
    clock,
    log,
    announcer,
    broadcast: redis.broadcast,
    jobs,
    node,
    bus: redis.bus,
    leases: redis.leases,
    members: redis.members,
    note: () => ({
      version,
      ...currentFormat,
      startedAt,
      agents: agents(),
      ...(materials.isDraining() ? { leaving: true as const } : {}),
      ...(lacksStore() ? { lacksStore: true as const } : {}),
    }),
    moved(shards, reason) {
      meters.takeovers.add([reason], shards.length);
      return redis.broadcast.control({ kind: 'shards_moved', shards });
    },
    turned() {
      leasesTurned();
      heard.hear(actors.members);
      recovery.gone(heard.gone());
    },
  });
  return { actors, recovery };
}

/** Wakes environments with open streams here whose owner may have changed. */
class Waker {
  readonly #actors: ClusterActors;
  readonly #materials: ClusterMaterials;
  #closed = false;

  constructor(actors: ClusterActors, materials: ClusterMaterials) {
    this.#actors = actors;
    this.#materials = materials;
  }

  close(): void {
    this.#closed = true;
  }

  control(message: Control, audiences: readonly Audience[]): void {
    if (message.kind !== 'shards_moved' && message.kind !== 'missed') return;
    const moved = message.kind === 'missed' ? null : new Set(message.shards);
    for (const audience of audiences) {
      const key = environmentIn(audience);
      if (key === null) continue;
      if (moved === null || moved.has(shardOfKey(key))) void this.#wake(audience);
    }
  }

  async #wake(audience: Audience): Promise<void> {
    const key = environmentIn(audience) ?? '';
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#actors.wake('environment', key);
      } catch (err) {
        if (this.#closed) return;
        if (attempt === wakeAttempts) {
          this.#materials.log.warn({ err, audience }, 'cannot activate an environment with open streams');
          return;
        }
        await pause(this.#materials.clock, wakeAgainMs);
      }
    }
  }
}

/**
 * @throws HubError in plain words: unavailable with the cause when MongoDB or Redis cannot be used within about 2 s,
 * conflict when this version does not fit the cluster's
 */
export async function openCluster(materials: ClusterMaterials, config: ClusterConfig): Promise<NodeParts> {
  const { clock, agents } = materials;
  const { node } = config;
  const services = await openServices(materials, config);
  const { redis, documents, jobs } = services;
  const { reachNotes, ...stores } = documents;
  const store: Store = { ...stores, values: redis.values };
  const announcer = createAnnouncer(redis.broadcast, materials.streamApis);
  /** As of the last time that readiness was asked for. */
  let lacksStore = false;
  const registrar = registrarOf(materials, store, redis.limits);
  const joined = { node, store, registrar, announcer, startedAt: clock.now(), lacksStore: () => lacksStore };
  const { actors, recovery } = joinActors(materials, services, joined);
  const reach = createReach({ node, members: () => actors.members, notes: reachNotes });
  const waker = new Waker(actors, materials);
  return {
    ...{ node, store, announcer, registrar, jobs, actors },
    broadcast: redis.broadcast,
    limits: redis.limits,
    requestLimits: createLocalLimits({ clock }),
    keyValue: () => redis.ping(),
    cluster: () => clusterStateOf(node, services, actors, agents),
    isAloneWithout(reached) {
      lacksStore = !reached.store;
      return reach.isAloneWithout(reached);
    },
    owns: (key) => actors.owns(key),
    begin: () => actors.turn(),
    control: (message, audiences) => waker.control(message, audiences),
    stopActors: () => actors.stop(),
    async close() {
      waker.close();
      recovery.stop();
      await registrar.close();
      await redis.close();
      await documents.close();
    },
  };
}

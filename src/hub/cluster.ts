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
/** A node that this one never heard of has so much longer to appear. */
const strangerMs = memberMs;
const forgetMs = 2 * hourMs;
/** Together 10 s: while Redis is away for longer all leases end, and who takes them tells of it again. */
const wakeAttempts = 20;
const wakeAgainMs = 500;

/** @throws HubError conflict when a node lives whose format does not work with this version's */
async function refuseOtherFormats(members: Pick<Membership, 'list'>): Promise<void> {
  for (const { node, note } of await members.list()) {
    const conflict = formatConflict(currentFormat, note, `node ${node} (version ${note.version})`);
    if (conflict) throw new HubError('conflict', `This node cannot join the cluster: ${conflict}`);
  }
}

/**
 * @throws HubError in plain words: unavailable with the cause when MongoDB or Redis cannot be used within about 2 s,
 * conflict when this version does not fit the cluster's
 */
export async function openCluster(
  materials: Materials & { readonly clock: ClusterClock },
  { mongoUrl, redisUrl, name, node }: NonNullable<Materials['config']['cluster']> & { readonly node: string },
): Promise<NodeParts> {
  const { clock, log, workers, agents, meters } = materials;
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
    .then(() => openMongo({ url: mongoUrl, node, log, clock }))
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
  const startedAt = clock.now();
  const { reachNotes, ...stores } = documents;
  const store: Store = { ...stores, values: redis.values };
  const announcer = createAnnouncer(redis.broadcast, materials.streamApis);
  /** When each node was last heard of, in this node's monotonic time. */
  const heard = new Map<string, number>();
  const leasesTurned = workers.add('leases', loopMs);
  let closed = false;
  /** As of the last time that readiness was asked for. */
  let lacksStore = false;

  const recovery = startAuditRecovery({ audit: documents.audit, members: redis.members, clock, log });

  function hear(): void {
    const now = clock.monotonic();
    for (const [other, at] of heard) if (now - at > forgetMs) heard.delete(other);
    for (const { node: member } of actors.members) heard.set(member, now);
    recovery.gone([...heard.keys()].filter(isGone));
  }

  /** True for a node that has been missing from the members for two turns; a stranger gets more time to appear. */
  function isGone(other: string): boolean {
    const now = clock.monotonic();
    // Who hears nobody knows nothing.
    if (other === node || now - (heard.get(node) ?? Number.NEGATIVE_INFINITY) > missedMs) return false;
    const at = heard.get(other) ?? now + strangerMs;
    heard.set(other, at);
    return now - at > missedMs;
  }

  const registrar = registrarOf(materials, store, redis.limits);
  const actors = createRemoteActors<HubKinds, ActorPorts>({
    definitions: hubKinds,
    ports: actorPorts(materials, store, registrar, isGone),
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
      ...(lacksStore ? { lacksStore: true as const } : {}),
    }),
    moved(shards, reason) {
      meters.takeovers.add([reason], shards.length);
      return redis.broadcast.control({ kind: 'shards_moved', shards });
    },
    turned() {
      leasesTurned();
      hear();
    },
  });

  const reach = createReach({ node, members: () => actors.members, notes: reachNotes });

  async function wake(audience: Audience): Promise<void> {
    const key = environmentIn(audience) ?? '';
    for (let attempt = 1; ; attempt++) {
      try {
        return await actors.wake('environment', key);
      } catch (err) {
        if (closed) return;
        if (attempt === wakeAttempts) {
          log.warn({ err, audience }, 'cannot activate an environment with open streams');
          return;
        }
        await pause(clock, wakeAgainMs);
      }
    }
  }

  return {
    node,
    store,
    announcer,
    broadcast: redis.broadcast,
    limits: redis.limits,
    requestLimits: createLocalLimits({ clock }),
    registrar,
    jobs,
    actors,
    keyValue: () => redis.ping(),
    connectedAgents: () =>
      actors.members.reduce(
        (sum, { node: other, note }) => sum + (other === node ? 0 : note.agents),
        agents(),
      ),
    async cluster() {
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
      return {
        mode: 'cluster',
        node,
        nodes,
        shardCount,
        lag,
        broadcastLagMs,
      };
    },
    isAloneWithout(reached) {
      lacksStore = !reached.store;
      return reach.isAloneWithout(reached);
    },
    owns: (key) => actors.owns(key),
    begin: () => actors.turn(),
    control(message: Control, audiences) {
      if (message.kind !== 'shards_moved' && message.kind !== 'missed') return;
      const moved = message.kind === 'missed' ? null : new Set(message.shards);
      for (const audience of audiences) {
        const key = environmentIn(audience);
        if (key === null) continue;
        if (moved === null || moved.has(shardOfKey(key))) void wake(audience);
      }
    },
    stopActors: () => actors.stop(),
    async close() {
      closed = true;
      recovery.stop();
      await registrar.close();
      await redis.close();
      await documents.close();
    },
  };
}

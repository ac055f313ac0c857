// What a cluster keeps in Redis: limits, session values, leases, the broadcast and the bus, over four connections per
// node. Puts them together.
import { randomUUID } from 'node:crypto';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { hourMs } from '../../src/shared/duration.ts';
import type { Broadcast } from '../../src/shared/ports/broadcast.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Leases } from '../../src/shared/ports/leases.ts';
import type { Limits } from '../../src/shared/ports/limits.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Membership } from '../../src/shared/ports/membership.ts';
import type { MessageBus } from '../../src/shared/ports/message-bus.ts';
import type { ValueStore } from '../../src/shared/ports/values.ts';
import { openBroadcast } from './broadcast.ts';
import type { ClusterClock } from './clock.ts';
import { checkEviction, type EvictionCheck } from './eviction.ts';
import { redisLeases } from './leases.ts';
import { redisLimits } from './limits.ts';
import { type Link, openLink, unavailable } from './link.ts';
import { type Retention, redisLogs } from './log.ts';
import { redisMembers } from './membership.ts';
import { openMessageBus } from './message-bus.ts';
import { openReader, type Reader } from './reader.ts';
import { redisValues } from './values.ts';

export interface RedisOptions {
  /**
   * `redis[s]://[[user][:password]@]host[:port][/database]`. One server (or what stands for one), not a Redis cluster.
   */
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Goes by this server's time from then on; without it no clock does. */
  readonly clusterClock?: Pick<ClusterClock, 'follow'>;
  /** Before every key; `reeve:` without it. Nodes of one cluster share it. */
  readonly prefix?: string;
  /** This process's name among the nodes; a random one without it. */
  readonly nodeId?: string;
  /** Of all connections to this server; one of its own that logs, by default. */
  readonly group?: ConnectionGroup;
  readonly retention?: Partial<Retention>;
  /** How long a lease lasts, in milliseconds. */
  readonly leaseMs?: number;
  /** How long a node is a member after it was heard, in milliseconds. */
  readonly memberMs?: number;
  /** How long a node has sent no pulse when it is silent, in milliseconds. */
  readonly silentMs?: number;
  /** Called after every turn of the reader of envelopes, and of the reader of frames, that Redis answered. */
  readonly busTurned?: () => void;
  readonly framesTurned?: () => void;
  /** How many envelopes a shard may hold. */
  readonly maxEnvelopes?: number;
  /** The time that limits count in; Redis's own without it. */
  readonly limitTime?: () => number;
}

export interface RedisParts {
  readonly limits: Limits;
  readonly values: ValueStore;
  readonly leases: Leases;
  readonly broadcast: Broadcast;
  readonly bus: MessageBus;
  readonly members: Membership;
  /** How far this node is behind what was published, in milliseconds. @throws HubError('unavailable') */
  broadcastLagMs(): Promise<number>;
  /** Round trip in milliseconds. @throws HubError('unavailable') within 2 s, and while Redis may evict keys */
  ping(): Promise<number>;
  /** Closes the broadcast and the connections. Leases are not released. */
  close(): Promise<void>;
}

/** Logs that Redis cannot be used, and that it can be used again, once each. */
export const redisConnections = (log: Log): ConnectionGroup =>
  new ConnectionGroup({
    down: (cause) => log.warn({ cause }, 'cannot use redis'),
    up: () => log.info({}, 'redis is back'),
  });

const timeoutMs = 2000;
const defaultRetention: Retention = { keepMs: hourMs, keepFrames: 2000, keepBytes: 64 * 2 ** 20 };

/**
 * Connects and begins to hear control messages.
 * @throws HubError('unavailable') when Redis does not answer within about 2 s
 */
export async function openRedis(options: RedisOptions): Promise<RedisParts> {
  const { url, log, clock, prefix = 'reeve:' } = options;
  const nodeId = options.nodeId ?? randomUUID();
  const group = options.group ?? redisConnections(log);
  const links: Link[] = [];
  const opened = async (name: string): Promise<Link> => {
    const one = await openLink({ url, log, clock, timeoutMs, name, group });
    links.push(one);
    return one;
  };
  let reader: Reader | null = null;
  let followed: { stop(): void } | undefined;
  let eviction: EvictionCheck | undefined;
  try {
    const link = await opened('commands');
    followed = await options.clusterClock?.follow(link);
    eviction = await checkEviction(link, clock, log);
    const mayEvict = eviction.mayEvict;
    const blocking = await opened('reader');
    const replays = await opened('replay');
    const envelopes = await opened('bus');
    const logs = redisLogs(link, replays, prefix, { ...defaultRetention, ...options.retention });
    const turned = options.framesTurned;
    const ports = { link, blocking, logs, clock, log, ...(turned ? { turned } : {}) };
    const frames = openReader(ports, `${prefix}wake:${randomUUID()}`);
    reader = frames;
    const broadcast = await openBroadcast(logs, frames, log);
    const bus = openMessageBus({
      link,
      blocking: envelopes,
      prefix,
      node: nodeId,
      clock,
      log,
      ...(options.busTurned ? { turned: options.busTurned } : {}),
      ...(options.maxEnvelopes ? { maxEnvelopes: options.maxEnvelopes } : {}),
    });
    return {
      limits: redisLimits(link, prefix, options.limitTime),
      values: redisValues(link, prefix),
      leases: redisLeases(link, prefix, clock, nodeId, options.leaseMs),
      broadcast,
      bus,
      members: redisMembers(link, prefix, nodeId, options.memberMs, options.silentMs),
      broadcastLagMs: () => frames.lagMs(),
      async ping() {
        const begun = clock.monotonic();
        await link.send(['PING']);
        if (mayEvict()) throw unavailable();
        return clock.monotonic() - begun;
      },
      async close() {
        followed?.stop();
        eviction?.stop();
        await broadcast.close();
        await bus.close();
        await replays.close();
        await link.close();
      },
    };
  } catch (error) {
    followed?.stop();
    eviction?.stop();
    await reader?.close();
    await Promise.all(links.map((one) => one.close()));
    throw error;
  }
}

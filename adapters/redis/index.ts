// Redis parts of a cluster: limits, session values, leases, the broadcast and the bus, over four connections per node.
// This file puts them together.
import { randomUUID } from 'node:crypto';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { hourMs } from '../../src/shared/duration.ts';
import { omitUndefined } from '../../src/shared/omit-undefined.ts';
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
  /** How long a node is a member after its last pulse, in milliseconds. */
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

/** Everything open so far is closed if the rest does not open. */
class RedisOpening {
  readonly #options: RedisOptions;
  readonly #prefix: string;
  readonly #group: ConnectionGroup;
  readonly #links: Link[] = [];
  #reader: Reader | null = null;
  #followed: { stop(): void } | undefined;
  #eviction: EvictionCheck | undefined;

  constructor(options: RedisOptions) {
    this.#options = options;
    this.#prefix = options.prefix ?? 'reeve:';
    this.#group = options.group ?? redisConnections(options.log);
  }

  async open(): Promise<RedisParts> {
    const { log, clock, nodeId = randomUUID(), retention, framesTurned } = this.#options;
    const prefix = this.#prefix;
    const link = await this.#link('commands');
    this.#followed = await this.#options.clusterClock?.follow(link);
    this.#eviction = await checkEviction(link, clock, log);
    const blocking = await this.#link('reader');
    const replays = await this.#link('replay');
    const envelopes = await this.#link('bus');
    const logs = redisLogs(link, replays, prefix, { ...defaultRetention, ...retention });
    const ports = { link, blocking, logs, clock, log, ...omitUndefined({ turned: framesTurned }) };
    const frames = openReader(ports, `${prefix}wake:${randomUUID()}`);
    this.#reader = frames;
    const broadcast = await openBroadcast(logs, frames, clock, log);
    const bus = this.#bus(link, envelopes, nodeId);
    const { leaseMs, memberMs, silentMs, limitTime } = this.#options;
    return {
      limits: redisLimits(link, prefix, limitTime),
      values: redisValues(link, prefix),
      leases: redisLeases(link, prefix, clock, nodeId, leaseMs),
      broadcast,
      bus,
      members: redisMembers(link, prefix, nodeId, memberMs, silentMs),
      broadcastLagMs: () => frames.lagMs(),
      ping: () => this.#ping(link),
      close: async () => {
        this.#stopWatching();
        await broadcast.close();
        await bus.close();
        await replays.close();
        await link.close();
      },
    };
  }

  async abandon(): Promise<void> {
    this.#stopWatching();
    await this.#reader?.close();
    await Promise.all(this.#links.map((one) => one.close()));
  }

  async #link(name: string): Promise<Link> {
    const { url, log, clock } = this.#options;
    const link = await openLink({ url, log, clock, timeoutMs, name, group: this.#group });
    this.#links.push(link);
    return link;
  }

  #bus(link: Link, blocking: Link, node: string): MessageBus {
    const { clock, log, busTurned, maxEnvelopes } = this.#options;
    const more = omitUndefined({ turned: busTurned, maxEnvelopes });
    return openMessageBus({ link, blocking, prefix: this.#prefix, node, clock, log, ...more });
  }

  async #ping(link: Link): Promise<number> {
    const { clock } = this.#options;
    const begun = clock.monotonic();
    await link.send(['PING']);
    if (this.#eviction?.mayEvict()) throw unavailable();
    return clock.monotonic() - begun;
  }

  #stopWatching(): void {
    this.#followed?.stop();
    this.#eviction?.stop();
  }
}

/**
 * Connects and begins to receive control messages.
 * @throws HubError('unavailable') when Redis does not answer within about 2 s
 */
export async function openRedis(options: RedisOptions): Promise<RedisParts> {
  const opening = new RedisOpening(options);
  try {
    return await opening.open();
  } catch (error) {
    await opening.abandon();
    throw error;
  }
}

// What a cluster keeps in Redis: limits, session values, leases and the broadcast, over two connections per node. Puts them together.
import { randomUUID } from 'node:crypto';
import type { Broadcast } from '../../src/ports/broadcast.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Leases } from '../../src/ports/leases.ts';
import type { Limits } from '../../src/ports/limits.ts';
import type { Log } from '../../src/ports/log.ts';
import type { ValueStore } from '../../src/ports/values.ts';
import { openBroadcast } from './broadcast.ts';
import { redisLeases } from './leases.ts';
import { redisLimits } from './limits.ts';
import { openLink } from './link.ts';
import { type Retention, redisLogs } from './log.ts';
import { openReader } from './reader.ts';
import { redisValues } from './values.ts';

export interface RedisOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]`. One server (or what stands for one), not a Redis cluster. */
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Before every key; `reeve:` without it. Nodes of one cluster share it. */
  readonly prefix?: string;
  /** This process's name among the nodes; a random one without it. */
  readonly nodeId?: string;
  readonly retention?: Partial<Retention>;
  /** How long a lease lasts, in milliseconds. */
  readonly leaseMs?: number;
  /** The time that limits count in; Redis's own without it. */
  readonly limitTime?: () => number;
}

export interface RedisParts {
  readonly limits: Limits;
  readonly values: ValueStore;
  readonly leases: Leases;
  readonly broadcast: Broadcast;
  /** Round trip in milliseconds. @throws HubError('unavailable') within 2 s */
  ping(): Promise<number>;
  /** Closes the broadcast and the connections. Leases are not released. */
  close(): Promise<void>;
}

const timeoutMs = 2000;
const defaultRetention: Retention = { keepMs: 3_600_000, keepFrames: 2000 };

/** Connects and begins to hear control messages. @throws HubError('unavailable') when Redis does not answer within about 2 s */
export async function openRedis(options: RedisOptions): Promise<RedisParts> {
  const { url, log, clock, prefix = 'reeve:' } = options;
  const nodeId = options.nodeId ?? randomUUID();
  const link = await openLink({ url, log, clock, timeoutMs, name: 'commands' });
  try {
    const blocking = await openLink({ url, log, clock, timeoutMs, name: 'reader' });
    const logs = redisLogs(link, prefix, { ...defaultRetention, ...options.retention });
    const reader = openReader({ link, blocking, logs, clock, log }, `${prefix}wake:${randomUUID()}`);
    const broadcast = await openBroadcast(logs, reader, log).catch(async (error) => {
      await reader.close();
      throw error;
    });
    return {
      limits: redisLimits(link, prefix, options.limitTime),
      values: redisValues(link, prefix),
      leases: redisLeases(link, prefix, clock, nodeId, options.leaseMs),
      broadcast,
      async ping() {
        const begun = clock.monotonic();
        await link.send(['PING']);
        return clock.monotonic() - begun;
      },
      async close() {
        await broadcast.close();
        await link.close();
      },
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}

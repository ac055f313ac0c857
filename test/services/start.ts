// The real servers that the cluster's tests need, found or installed, started and stopped. Never skips: throws what to
// install.
import { type MongoWishes, startMongo } from './mongo.ts';
import { startNginx } from './nginx.ts';
import { startPrometheus } from './prometheus.ts';
import { openReaper, type Reaper } from './reaper.ts';
import { type RedisWishes, startRedis } from './redis.ts';
import type { Service } from './service.ts';

export type { Service } from './service.ts';

export interface Services {
  readonly mongoUrl: string;
  readonly redisUrl: string;
  readonly mongo: Service;
  readonly redis: Service;
  /** Ends both and removes their data. */
  stop(): Promise<void>;
}

type Removable = Service & { remove?(): Promise<void> };

async function withReaper<T extends object>(
  begin: (reaper: Reaper) => Promise<readonly [T, readonly Removable[]]>,
): Promise<T & { stop(): Promise<void> }> {
  const reaper = await openReaper();
  try {
    const [result, services] = await begin(reaper);
    const stop = async () => {
      for (const service of services) {
        if (service.remove) await service.remove();
        else if (service.pid !== null) await service.kill9();
      }
      await reaper.close();
    };
    return { ...result, stop };
  } catch (error) {
    await reaper.close();
    throw error;
  }
}

/** Both servers. `own`: servers that may be killed even when MONGODB_URL or REDIS_URL names others. */
export const startServices = (wishes: MongoWishes = {}): Promise<Services> =>
  withReaper(async (reaper) => {
    const mongo = await startMongo(reaper, wishes);
    const redis = await startRedis(reaper, { own: wishes.own === true }).catch(async (error) => {
      await (mongo as Removable).remove?.();
      throw error;
    });
    const found = { mongoUrl: mongo.url, redisUrl: redis.url, mongo, redis };
    return [found, [mongo, redis]] as const;
  });

/** A Redis server alone, which may be killed. */
export const startOwnRedis = (
  fsync: RedisWishes['fsync'] = 'always',
): Promise<{ readonly redis: Service; stop(): Promise<void> }> =>
  withReaper(async (reaper) => {
    const redis = await startRedis(reaper, { own: true, fsync });
    return [{ redis }, [redis]] as const;
  });

/** A MongoDB server alone. By default, it may be killed. */
export const startOwnMongo = (
  wishes: MongoWishes = { own: true },
): Promise<{ readonly mongo: Service; stop(): Promise<void> }> =>
  withReaper(async (reaper) => {
    const mongo = await startMongo(reaper, wishes);
    return [{ mongo }, [mongo]] as const;
  });

/** nginx with the shipped configuration, before hubs at these ports of this machine. */
export const startOwnNginx = (
  hubs: readonly number[],
): Promise<{ readonly nginx: Service; stop(): Promise<void> }> =>
  withReaper(async (reaper) => {
    const nginx = await startNginx(reaper, hubs);
    return [{ nginx }, [nginx]] as const;
  });

/** Prometheus with these settings (YAML). */
export const startOwnPrometheus = (
  settings: string,
): Promise<{ readonly prometheus: Service; stop(): Promise<void> }> =>
  withReaper(async (reaper) => {
    const prometheus = await startPrometheus(reaper, settings);
    return [{ prometheus }, [prometheus]] as const;
  });

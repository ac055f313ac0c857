// Connections to Redis for BullMQ, which takes clients and makes none here. A connection comes back by itself; its
// errors name no address.
import { createClient } from 'redis';
import { withTimeout } from '../../src/concurrency/with-timeout.ts';
import { HubError } from '../../src/domain/error.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';

export type RedisClient = ReturnType<typeof connectionTo>;

export interface ConnectionOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly name: string;
  /**
   * True for what workers say: it is sent when Redis is back. False for callers, who must hear at once that it is away.
   */
  readonly patient: boolean;
}

const connectMs = 2000;
/** Longer than a worker's blocking wait (10 s): a server that hangs is noticed and left. */
const silentMs = 15_000;
const longestPauseMs = 1000;

export const unavailable = (): HubError =>
  new HubError('unavailable', 'The job queue cannot be reached. Try again in a moment.', { retryAfter: 2 });

/** A client that is not connected yet. */
export function connectionTo({ url, clock, log, name, patient }: ConnectionOptions) {
  let away = false;
  const client = createClient({
    url,
    name: `reeve-${name}`,
    RESP: 2,
    disableOfflineQueue: !patient,
    pingInterval: 5000,
    socket: {
      connectTimeout: connectMs,
      socketTimeout: silentMs,
      reconnectStrategy: (retries: number) =>
        Math.min(2 ** Math.min(retries, 10) * 25, longestPauseMs) * (0.75 + clock.random() / 2),
    },
  });
  client.on('error', (error: Error) => {
    if (!away) log.warn({ kind: error.name, link: name }, 'redis cannot be reached');
    away = true;
  });
  client.on('ready', () => {
    if (away) log.info({ link: name }, 'redis is back');
    away = false;
  });
  return client;
}

/**
 * The task's result.
 * @throws HubError('unavailable') when it has none after `ms`, or failed; it may be carried out all the same
 */
export async function within<T>(clock: Clock, ms: number, task: Promise<T>): Promise<T> {
  try {
    return await withTimeout(clock, ms, task, unavailable);
  } catch (error) {
    throw error instanceof HubError ? error : unavailable();
  }
}

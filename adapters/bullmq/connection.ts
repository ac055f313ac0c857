// Connections to Redis for BullMQ, which takes clients and makes none here. A connection comes back by itself; its
// errors name no address.

import { createClient } from 'redis';
import { outageOf } from '../../src/admission/outages.ts';
import type { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { withTimeout } from '../../src/shared/concurrency/with-timeout.ts';
import { connectFailure, connectionLoss } from '../../src/shared/connect-failure.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';

export type RedisClient = ReturnType<typeof connectionTo>;

export interface ConnectionOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly name: string;
  /** All connections of the process to this server. */
  readonly group: ConnectionGroup;
  /**
   * True for workers: their commands are sent when Redis is back. False for callers, who must learn at once that Redis
   * is away.
   */
  readonly patient: boolean;
}

const connectMs = 2000;
/** Longer than a worker's blocking wait (10 s): a server that hangs is noticed and left. */
const silentMs = 15_000;
const longestPauseMs = 1000;

export const unavailable = (): HubError => outageOf('jobQueueAway');

/** A client that is not connected yet. It, and those that BullMQ makes of it, are members of the group. */
export function connectionTo({ url, clock, name, patient, group }: ConnectionOptions) {
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
  join(client, group);
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (overrides) => join(duplicate(overrides), group);
  return client;
}

interface Member {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'ready' | 'end', listener: () => void): unknown;
  sendCommand(args: readonly string[]): Promise<unknown>;
  readonly isReady: boolean;
}

function join<T extends Member>(client: T, group: ConnectionGroup): T {
  // The server closes a connection that quits, and the client connects again.
  const leave = group.add(() => {
    if (client.isReady) client.sendCommand(['QUIT']).catch(() => {});
  });
  let wasReady = false;
  client.on('error', (error) => group.down(client, wasReady ? connectionLoss(error) : connectFailure(error)));
  client.on('ready', () => {
    wasReady = true;
    group.up(client);
  });
  client.on('end', () => {
    leave();
    group.up(client);
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

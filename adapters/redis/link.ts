// The connection to Redis that commands share: bounded in time, failing at once while Redis is away, back by itself
// when it returns. Its errors leave as HubErrors; it logs no address, because an address may hold a password.
import { createHash } from 'node:crypto';
import { createClient, ErrorReply, RESP_TYPES } from 'redis';
import type { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { withTimeout } from '../../src/shared/concurrency/with-timeout.ts';
import { connectFailure, connectionLoss } from '../../src/shared/connect-failure.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';

export type Argument = string | Buffer;

/** What Redis answers: strings come as bytes. */
export type RedisReply = Buffer | string | number | null | readonly RedisReply[];

export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** A Lua script. Everything it decides is one step: Redis runs nothing else meanwhile. */
export const script = (text: string): Script => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
});

export interface Link {
  /**
   * @throws HubError('unavailable') when Redis does not answer within the link's time; the command may have been
   *   carried out all the same
   */
  send(args: readonly Argument[], timeoutMs?: number): Promise<RedisReply>;
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<RedisReply>;
  close(): Promise<void>;
}

const connectMs = 2000;
const longestPauseMs = 1000;

/** A server that became a replica is left at most so often: its address may lead to the new primary later. */
const leaveEveryMs = 500;
/** Replies that pass by themselves. */
const passing = /^(LOADING|OOM|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|BUSY|TRYAGAIN)\b/;
/** Redis 6 wraps the reply when a script meets it. */
const demoted = /\b(READONLY|UNBLOCKED)\b/;

export const unavailable = (): HubError =>
  new HubError('unavailable', 'The hub cannot reach the message bus. Try again in a moment.', {
    retryAfter: 2,
  });

/** Thrown at the start, to whoever operates the hub. */
const notConnected = (error: unknown, url: string): HubError =>
  new HubError(
    'unavailable',
    `The hub cannot use Redis (REDIS_URL): ${connectFailure(error, url.startsWith('rediss:'))}`,
  );

export interface LinkOptions {
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  /** How long a command may take. */
  readonly timeoutMs: number;
  readonly name: string;
  /** All connections of the process to this server. */
  readonly group: ConnectionGroup;
}

/** Connects. @throws HubError('unavailable') with the cause when Redis does not answer in time */
export async function openLink({ url, log, clock, timeoutMs, name, group }: LinkOptions): Promise<Link> {
  /** What the group knows this link by. */
  const member = {};
  let lastError: unknown;
  let wasReady = false;
  /** The server is a replica, or has no room: it can be reached and is of no use. */
  let isRefusing = false;
  let leftAt = Number.NEGATIVE_INFINITY;
  const make = () => {
    const client = createClient({
      url,
      name: `reeve-${name}`,
      RESP: 2,
      // A command that waited for Redis to come back would be carried out long after its caller gave up.
      disableOfflineQueue: true,
      // Each command has its time here: the client's own timeout costs an AbortSignal a command, a third of the
      // processor's time of a small message.
      commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
      socket: {
        connectTimeout: connectMs,
        reconnectStrategy: (retries: number) =>
          Math.min(2 ** Math.min(retries, 10) * 25, longestPauseMs) * (0.75 + clock.random() / 2),
      },
    });
    client.on('error', (error: Error) => {
      lastError = error;
      group.down(member, wasReady ? connectionLoss(error) : connectFailure(error));
    });
    client.on('ready', () => {
      wasReady = true;
      if (!isRefusing) group.up(member);
    });
    return client;
  };
  let client = make();
  let closed = false;

  const within = <T>(ms: number, task: Promise<T>): Promise<T> => withTimeout(clock, ms, task, unavailable);

  /** A connection that stopped answering without closing is of no use: it is replaced. */
  function replace(): void {
    const old = client;
    if (closed) return;
    client = make();
    client.connect().catch(() => {});
    old.destroy();
  }

  async function send(args: readonly Argument[], ms = timeoutMs): Promise<RedisReply> {
    const used = client;
    if (closed || !used.isReady) throw unavailable();
    const answered = used.sendCommand<RedisReply>([...args]);
    answered.catch(() => {});
    try {
      const reply = await within(ms, answered);
      if (isRefusing) {
        isRefusing = false;
        group.up(member);
      }
      return reply;
    } catch (error) {
      if (error instanceof ErrorReply) throw error;
      if (error instanceof HubError && used === client) replace();
      throw unavailable();
    }
  }

  /** The server became a replica: its address leads to the primary by now, or soon does. */
  function leave(): void {
    const now = clock.monotonic();
    if (now - leftAt < leaveEveryMs) return;
    leftAt = now;
    group.reconnectAll();
  }

  const refused = (error: unknown): unknown => {
    if (!(error instanceof ErrorReply)) return error;
    if (demoted.test(error.message)) {
      isRefusing = true;
      group.down(member, 'the server is now a replica and refuses writes. The hub reconnects.');
      leave();
    } else if (passing.test(error.message)) {
      isRefusing = true;
      group.down(member, `the server refuses commands (${error.message.slice(0, 200)}).`);
    } else log.error({ error: error.message, link: name }, 'redis refused a command');
    return unavailable();
  };

  try {
    await within(connectMs, client.connect());
  } catch (error) {
    client.destroy();
    group.forget(member);
    throw notConnected(lastError ?? error, url);
  }
  const leaveGroup = group.add(replace);
  return {
    send: (args, ms) =>
      send(args, ms).catch((error) => {
        throw refused(error);
      }),
    async run({ text, sha }, keys, args) {
      const rest = [String(keys.length), ...keys, ...args];
      try {
        return await send(['EVALSHA', sha, ...rest]);
      } catch (error) {
        if (!(error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))) throw refused(error);
      }
      try {
        return await send(['EVAL', text, ...rest]);
      } catch (error) {
        throw refused(error);
      }
    },
    async close() {
      if (closed) return;
      const last = client;
      // What was sent is answered before the connection ends; a dead one is not waited for.
      const quit = last.isReady ? within(timeoutMs, last.close()).catch(() => {}) : undefined;
      closed = true;
      leaveGroup();
      group.up(member);
      await quit;
      if (last.isOpen) last.destroy();
    },
  };
}

// The connection to Redis that commands share: bounded in time, failing at once while Redis is away, back by itself
// when it returns. Its errors leave as HubErrors; it logs no address, because an address may hold a password.

import { createHash } from 'node:crypto';
import { createClient, ErrorReply, RESP_TYPES } from 'redis';
import { outageOf } from '../../src/admission/outages.ts';
import type { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { withTimeout } from '../../src/shared/concurrency/with-timeout.ts';
import { connectFailure, connectionLoss } from '../../src/shared/connect-failure.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';

export type Argument = string | Buffer;

/** Reply from Redis; its strings are bytes. */
export type RedisReply = Buffer | string | number | null | readonly RedisReply[];

export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** A Lua script. All its decisions are one step: Redis runs nothing else during a script. */
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
/**
 * Redis 6 wraps the reply when a script meets it. UNBLOCKED also ends the wait for a stream that is gone: then the
 * server is no replica.
 */
const demoted = /\bREADONLY\b|\bUNBLOCKED\b.*\b(master|replica)\b/;

export const unavailable = (): HubError => outageOf('busAway');

/** Thrown at the start, for the operator of the hub. */
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

const clientOf = (url: string, name: string, clock: Clock) =>
  createClient({
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

type Client = ReturnType<typeof clientOf>;

class RedisLink implements Link {
  readonly #url: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #name: string;
  readonly #group: ConnectionGroup;
  /** Identity of this link in its group. */
  readonly #member = {};
  #lastError: unknown;
  #wasReady = false;
  /** The server is a replica, or has no room: it can be reached and is of no use. */
  #isRefusing = false;
  #leftAt = Number.NEGATIVE_INFINITY;
  #client: Client;
  #closed = false;
  #leaveGroup = () => {};

  constructor({ url, log, clock, timeoutMs, name, group }: LinkOptions) {
    this.#url = url;
    this.#log = log;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#name = name;
    this.#group = group;
    this.#client = this.#make();
  }

  /** @throws HubError('unavailable') with the cause */
  async connect(): Promise<void> {
    try {
      await this.#within(connectMs, this.#client.connect());
    } catch (error) {
      this.#client.destroy();
      this.#group.forget(this.#member);
      throw notConnected(this.#lastError ?? error, this.#url);
    }
    this.#leaveGroup = this.#group.add(() => this.#replace());
  }

  send(args: readonly Argument[], ms?: number): Promise<RedisReply> {
    return this.#send(args, ms).catch((error) => {
      throw this.#refused(error);
    });
  }

  async run({ text, sha }: Script, keys: readonly string[], args: readonly Argument[]): Promise<RedisReply> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!(error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))) throw this.#refused(error);
    }
    try {
      return await this.#send(['EVAL', text, ...rest]);
    } catch (error) {
      throw this.#refused(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const last = this.#client;
    // Commands under way are answered before the connection ends; a dead one is not waited for.
    const quit = last.isReady ? this.#within(this.#timeoutMs, last.close()).catch(() => {}) : undefined;
    this.#closed = true;
    this.#leaveGroup();
    this.#group.up(this.#member);
    await quit;
    if (last.isOpen) last.destroy();
  }

  #make(): Client {
    const client = clientOf(this.#url, this.#name, this.#clock);
    client.on('error', (error: Error) => {
      this.#lastError = error;
      this.#group.down(this.#member, this.#wasReady ? connectionLoss(error) : connectFailure(error));
    });
    client.on('ready', () => {
      this.#wasReady = true;
      if (!this.#isRefusing) this.#group.up(this.#member);
    });
    return client;
  }

  #within<T>(ms: number, task: Promise<T>): Promise<T> {
    return withTimeout(this.#clock, ms, task, unavailable);
  }

  /** A connection that stopped answering without closing is of no use: it is replaced. */
  #replace(): void {
    const old = this.#client;
    if (this.#closed) return;
    this.#client = this.#make();
    this.#client.connect().catch(() => {});
    old.destroy();
  }

  async #send(args: readonly Argument[], ms = this.#timeoutMs): Promise<RedisReply> {
    const used = this.#client;
    if (this.#closed || !used.isReady) throw unavailable();
    const answered = used.sendCommand<RedisReply>([...args]);
    answered.catch(() => {});
    try {
      const reply = await this.#within(ms, answered);
      if (this.#isRefusing) {
        this.#isRefusing = false;
        this.#group.up(this.#member);
      }
      return reply;
    } catch (error) {
      if (error instanceof ErrorReply) throw error;
      if (error instanceof HubError && used === this.#client) this.#replace();
      throw unavailable();
    }
  }

  /** The server became a replica: its address leads to the primary by now, or soon does. */
  #leave(): void {
    const now = this.#clock.monotonic();
    if (now - this.#leftAt < leaveEveryMs) return;
    this.#leftAt = now;
    this.#group.reconnectAll();
  }

  #refused(error: unknown): unknown {
    if (!(error instanceof ErrorReply)) return error;
    if (demoted.test(error.message)) {
      this.#isRefusing = true;
      this.#group.down(this.#member, 'the server is now a replica and refuses writes. The hub reconnects.');
      this.#leave();
    } else if (passing.test(error.message)) {
      this.#isRefusing = true;
      this.#group.down(this.#member, `the server refuses commands (${error.message.slice(0, 200)}).`);
    } else this.#log.error({ error: error.message, link: this.#name }, 'redis refused a command');
    return unavailable();
  }
}

/** Connects. @throws HubError('unavailable') with the cause when Redis does not answer in time */
export async function openLink(options: LinkOptions): Promise<Link> {
  const link = new RedisLink(options);
  await link.connect();
  return link;
}

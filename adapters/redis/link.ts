// The connection to Redis that commands share: bounded in time, failing at once while Redis is away, back by itself
// when it returns. Its errors leave as HubErrors; it logs no address, because an address may hold a password.
import { createHash } from 'node:crypto';
import { createClient, ErrorReply, RESP_TYPES } from 'redis';
import { withTimeout } from '../../src/concurrency/with-timeout.ts';
import { HubError } from '../../src/domain/error.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';

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

export const unavailable = (): HubError =>
  new HubError('unavailable', 'The message bus cannot be reached. Try again in a moment.', { retryAfter: 2 });

export interface LinkOptions {
  readonly url: string;
  readonly log: Log;
  readonly clock: Clock;
  /** How long a command may take. */
  readonly timeoutMs: number;
  readonly name: string;
}

/** Connects. @throws HubError('unavailable') when Redis does not answer in time */
export async function openLink({ url, log, clock, timeoutMs, name }: LinkOptions): Promise<Link> {
  const make = () => {
    let away = false;
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
      if (!away) log.warn({ kind: error.name, link: name }, 'redis cannot be reached');
      away = true;
    });
    client.on('ready', () => {
      if (away) log.info({ link: name }, 'redis is back');
      away = false;
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
      return await within(ms, answered);
    } catch (error) {
      if (error instanceof ErrorReply) throw error;
      if (error instanceof HubError && used === client) replace();
      throw unavailable();
    }
  }

  const refused = (error: unknown): unknown => {
    if (!(error instanceof ErrorReply)) return error;
    log.error({ error: error.message, link: name }, 'redis refused a command');
    // LOADING, READONLY, OOM and the like pass; what does not is a fault of ours.
    return unavailable();
  };

  try {
    await within(connectMs, client.connect());
  } catch {
    client.destroy();
    throw unavailable();
  }
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
      await quit;
      if (last.isOpen) last.destroy();
    },
  };
}

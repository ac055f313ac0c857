// Looks at a Redis server without changing it: for `reeve doctor`.
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { openLink, type RedisReply } from './link.ts';

export interface RedisFacts {
  readonly version: string;
  readonly role: string;
  readonly evictionPolicy: string;
  /** Keeps what it acknowledged in a log on disk. */
  readonly hasLog: boolean;
  /** Snapshots now and then. */
  readonly hasSnapshots: boolean | null;
  /** The server's time less this machine's, in milliseconds. */
  readonly clockErrorMs: number;
  /** Commands of the hub that its user may not use; null where the server cannot list them. */
  readonly denied: readonly string[] | null;
}

/** One of each group of commands that the hub uses, with arguments; `KEY` is a key of the cluster. */
const usedCommands: readonly (readonly string[])[] = [
  ['GET', 'KEY'],
  ['SET', 'KEY', '1'],
  ['HSET', 'KEY', 'a', '1'],
  ['ZADD', 'KEY', '1', 'a'],
  ['XADD', 'KEY', '*', 'a', '1'],
  ['XREAD', 'STREAMS', 'KEY', '0'],
  ['BZPOPMIN', 'KEY', '1'],
  ['EVALSHA', 'x', '1', 'KEY'],
  ['SCAN', '0'],
  ['INFO'],
  ['TIME'],
];

const field = (info: string, name: string): string | null =>
  new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? null;

/** @param prefix of every key of the cluster, with its colon @throws HubError unavailable */
export async function redisFacts(url: string, prefix: string, clock: Clock, log: Log): Promise<RedisFacts> {
  const group = new ConnectionGroup({ down() {}, up() {} });
  const link = await openLink({ url, log, clock, timeoutMs: 2_000, name: 'doctor', group });
  /** Null where the server refuses the command itself. */
  const answerOf = async (args: readonly string[]): Promise<RedisReply | undefined> => {
    try {
      return await link.send(args);
    } catch (error) {
      if (error instanceof HubError && error.code === 'unavailable') throw error;
      return undefined;
    }
  };
  async function denied(): Promise<readonly string[] | null> {
    const user = await answerOf(['ACL', 'WHOAMI']);
    if (user === undefined) return null;
    const refused: string[] = [];
    for (const command of usedCommands) {
      const words = command.map((word) => (word === 'KEY' ? `${prefix}doctor` : word));
      const reply = await answerOf(['ACL', 'DRYRUN', String(user), ...words]);
      if (reply === undefined) return null;
      if (String(reply) !== 'OK') refused.push(command[0] ?? '');
    }
    return refused;
  }
  try {
    const info = String((await answerOf(['INFO'])) ?? '');
    const before = clock.now();
    const time = await answerOf(['TIME']);
    const middle = (before + clock.now()) / 2;
    const [seconds = 0, micros = 0] = Array.isArray(time) ? time.map(Number) : [];
    const save = await answerOf(['CONFIG', 'GET', 'save']);
    return {
      version: field(info, 'redis_version') ?? '',
      role: field(info, 'role') ?? '',
      evictionPolicy: field(info, 'maxmemory_policy') ?? 'noeviction',
      hasLog: field(info, 'aof_enabled') === '1',
      hasSnapshots: Array.isArray(save) ? String(save[1] ?? '') !== '' : null,
      clockErrorMs: Math.round(seconds * 1000 + micros / 1000 - middle),
      denied: await denied(),
    };
  } finally {
    await link.close();
  }
}

// Session values of a move in Redis: written with the time at which each of them expires, and read back. Keys of the
// move's cluster, and its marker.
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { MovedRecords } from '../../src/shared/ports/moved-records.ts';
import { type Link, openLink, type RedisReply } from './link.ts';
import { graceMs, restoreScript, valueArguments } from './values.ts';

type MovedValue = MovedRecords['values'];

/** Commands under way at once. */
const atOnce = 64;
const scanned = '1000';

export interface ValueTarget {
  /** The hub whose move began here; null when none did. */
  owner(): Promise<string | null>;
  /** A key of this cluster; null when there is none. */
  occupied(): Promise<string | null>;
  begin(hubId: string): Promise<void>;
  write(values: readonly MovedValue[], now: number): Promise<void>;
  read(now: number): AsyncIterable<readonly MovedValue[]>;
  /** Removes every key of the cluster but the marker. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const texts = (reply: RedisReply | undefined): string[] => (Array.isArray(reply) ? reply.map(String) : []);

async function* keysOf(link: Link, pattern: string): AsyncGenerator<readonly string[]> {
  let cursor = '0';
  do {
    const answer = await link.send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', scanned]);
    const [next, keys] = Array.isArray(answer) ? answer : [];
    cursor = String(next ?? '0');
    const names = texts(keys);
    if (names.length > 0) yield names;
  } while (cursor !== '0');
}

/** The value of a key of `values.ts`. */
function movedValue(name: string, reply: RedisReply | undefined): MovedValue | null {
  if (!Buffer.isBuffer(reply)) return null;
  const space = reply.indexOf(0x20);
  const [expiry = '', env = ''] = reply.toString('latin1', 0, space).split('/');
  const slash = name.indexOf('/');
  return {
    tenantId: name.slice(0, slash),
    key: name.slice(slash + 1),
    env,
    expiresAt: Number(expiry),
    value: reply.toString('utf8', space + 1),
  };
}

/** A text as a pattern that fits it alone. */
const literally = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&');

async function writeValue(
  link: Link,
  prefix: string,
  { tenantId, env, key, value, expiresAt }: MovedValue,
  now: number,
): Promise<void> {
  const args = valueArguments({ prefix, tenantId, env, key, now, expiresAt });
  await link.run(
    restoreScript,
    [`${prefix}value:${tenantId}/${key}`],
    [...args, String(expiresAt - now + graceMs), value],
  );
}

/** Values that have not expired. */
async function* readValues(link: Link, prefix: string, now: number): AsyncGenerator<readonly MovedValue[]> {
  const start = `${prefix}value:`;
  // One key may come twice from a scan.
  const stored = new Set<string>();
  for await (const names of keysOf(link, `${literally(start)}*`)) {
    const fresh = [...new Set(names)].filter((name) => !stored.has(name));
    for (const name of fresh) stored.add(name);
    if (fresh.length === 0) continue;
    const replies = await link.send(['MGET', ...fresh]);
    const entries = fresh.map((name, i) =>
      movedValue(name.slice(start.length), Array.isArray(replies) ? replies[i] : undefined),
    );
    yield entries.flatMap((one) => (one && one.expiresAt > now ? [one] : []));
  }
}

/** @param prefix of every key of the cluster, with its colon @throws HubError unavailable */
export async function openValueTarget(
  url: string,
  prefix: string,
  clock: Clock,
  log: Log,
): Promise<ValueTarget> {
  const group = new ConnectionGroup({ down() {}, up() {} });
  const link = await openLink({ url, log, clock, timeoutMs: 10_000, name: 'move', group });
  const marker = `${prefix}move`;
  const all = `${literally(prefix)}*`;

  return {
    async owner() {
      const reply = await link.send(['GET', marker]);
      return reply === null ? null : String(reply);
    },
    async occupied() {
      for await (const names of keysOf(link, all)) {
        const other = names.find((name) => name !== marker);
        if (other !== undefined) return other;
      }
      return null;
    },
    async begin(hubId) {
      await link.send(['SET', marker, hubId]);
    },
    async write(records, now) {
      for (let from = 0; from < records.length; from += atOnce)
        await Promise.all(
          records.slice(from, from + atOnce).map((one) => writeValue(link, prefix, one, now)),
        );
    },
    read: (now) => readValues(link, prefix, now),
    async empty() {
      for await (const names of keysOf(link, all)) {
        const others = names.filter((name) => name !== marker);
        if (others.length > 0) await link.send(['UNLINK', ...others]);
      }
    },
    close: () => link.close(),
  };
}

// Checks of the MongoDB and the Redis of a cluster. Reads alone. Loaded where a cluster is configured.
import { type MongoFacts, mongoFacts } from '../../../adapters/mongo/look.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import { type RedisFacts, redisFacts } from '../../../adapters/redis/look.ts';
import type { Channel } from '../../notification/record.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { Config } from '../config.ts';
import { opensSeal } from '../master.ts';
import { attempt, type CheckResult, failure, ok, warning } from './check-result.ts';

const oldestRedis: readonly [number, number] = [6, 2];
/** Nodes go by the time of Redis; a difference of this size confuses people who read logs. */
const clockWarningMs = 1_000;
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export interface ServerState {
  readonly findings: readonly CheckResult[];
  readonly channels: readonly Channel[];
}

function clockOf(check: string, name: string, errorMs: number): CheckResult {
  const detail = `The clock of ${name} differs from this machine's by ${Math.abs(errorMs)} ms.`;
  return Math.abs(errorMs) > clockWarningMs
    ? warning(check, detail, 'Synchronise the clocks of all machines (NTP).')
    : ok(check, detail);
}

function mongoFindings(facts: MongoFacts, secretKey: string | null): readonly CheckResult[] {
  const { version, isReplicated, takesWrites, unindexed, conflict, hasUnfinishedMove, sealed } = facts;
  const results = [ok('mongodb', `MongoDB ${version} answers.`)];
  if (!takesWrites)
    results.push(
      failure('mongodb_primary', 'The server takes no writes.', 'Name all members of the replica set.'),
    );
  results.push(
    isReplicated
      ? ok('mongodb_replica_set', 'The server is a member of a replica set.')
      : failure('mongodb_replica_set', 'The server is in no replica set.', 'Start mongod with --replSet.'),
  );
  results.push(
    unindexed.length === 0
      ? ok('mongodb_indexes', 'No index is missing.')
      : warning(
          'mongodb_indexes',
          `Missing in ${unindexed.join(', ')}.`,
          'The next start of a node makes them.',
        ),
  );
  if (conflict)
    results.push(failure('mongodb_format', conflict, 'Start a version that fits (docs/cluster.md).'));
  if (hasUnfinishedMove)
    results.push(failure('mongodb_move', 'A move into the database has not ended.', 'Run reeve move again.'));
  if (sealed !== null && (secretKey === null || !opensSeal(createSecrets(secretKey), sealed)))
    results.push(
      failure(
        'secret',
        'SECRET_KEY is another than the one of the database.',
        'Set the SECRET_KEY of the first start.',
      ),
    );
  return [...results, clockOf('mongodb_clock', 'MongoDB', facts.clockErrorMs)];
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < oldestRedis[0] || (major === oldestRedis[0] && minor < oldestRedis[1]);
}

function persistenceOf({ hasLog, hasSnapshots }: RedisFacts): CheckResult {
  if (hasLog) return ok('redis_persistence', 'The append-only file is on.');
  const advice =
    'Set appendonly yes: session values and waiting notifications survive a restart only on disk.';
  return warning(
    'redis_persistence',
    hasSnapshots === true ? 'Snapshots alone: a crash loses the last minutes.' : 'Nothing is kept on disk.',
    advice,
  );
}

function redisFindings(facts: RedisFacts): readonly CheckResult[] {
  const { version, role, evictionPolicy, denied } = facts;
  const rights =
    denied === null
      ? ok('redis_acl', 'The server does not tell the rights of its users.')
      : denied.length === 0
        ? ok('redis_acl', 'The user may use every command of the hub.')
        : failure(
            'redis_acl',
            `The user may not use ${denied.join(', ')}.`,
            'Grant them in the ACL of Redis.',
          );
  return [
    isOld(version)
      ? failure('redis', `Redis ${version} is too old.`, 'Install Redis 6.2 or later.')
      : ok('redis', `Redis ${version} answers.`),
    role === 'master' || role === ''
      ? ok('redis_role', 'The server is a primary.')
      : failure(
          'redis_role',
          `The server is a ${role}.`,
          'Set REDIS_URL to the primary, or to an address that follows it.',
        ),
    evictionPolicy === 'noeviction'
      ? ok('redis_eviction', 'Redis evicts no keys.')
      : failure(
          'redis_eviction',
          `maxmemory-policy is ${evictionPolicy}: Redis may evict leases and messages.`,
          'Set maxmemory-policy to noeviction.',
        ),
    persistenceOf(facts),
    rights,
    clockOf('redis_clock', 'Redis', facts.clockErrorMs),
  ];
}

export async function checkServers(
  { mongoUrl, redisUrl, name }: NonNullable<Config['cluster']>,
  secretKey: string | null,
): Promise<ServerState> {
  let channels: readonly Channel[] = [];
  const mongo = attempt('mongodb', 'Start MongoDB, or correct MONGODB_URL.', async () => {
    const facts = await mongoFacts(mongoUrl, systemClock.now, noLog);
    channels = facts.channels;
    return mongoFindings(facts, secretKey);
  });
  const redis = attempt('redis', 'Start Redis, or correct REDIS_URL.', async () =>
    redisFindings(await redisFacts(redisUrl, `${name}:`, systemClock, noLog)),
  );
  const findings = (await Promise.all([mongo, redis])).flat();
  return { findings, channels };
}

// Hub processes as one cluster on this machine. They share a database and a part of Redis of their own.
import { randomUUID } from 'node:crypto';
import { type Env, environments, shardCount, shardOf } from '../../src/shared/ids.ts';
import { type Admin, setUp } from '../admin.ts';
import type { BenchServices } from '../services.ts';
import { CannotRun } from './failure.ts';
import { checkReached, type Hub, type HubOptions, startBenchHub, withSlowDowns } from './hub.ts';
import { isInterrupted } from './interrupt.ts';
import { newStoredName } from './stored-names.ts';

export interface BenchNodes {
  readonly hubs: readonly Hub[];
  readonly admin: Admin;
  /** An environment of the admin's tenant, or of a new one, whose actor lives on this node. */
  ownedBy(node: number): Promise<Env>;
  stop(): Promise<void>;
}

const spreadMs = 60_000;
const maxTenants = 50;
const maxStarts = 3;

interface Health {
  readonly node: string;
  readonly nodes: readonly { readonly node: string; readonly shards: readonly number[] }[];
}

const sharesOf = ({ nodes }: Health): readonly number[] => nodes.map(({ shards }) => shards.length);

/** Text about each node: the shares that it reads, or the reason why it does not answer. */
async function describeViews(readHealth: (node: number) => Promise<Health>, count: number): Promise<string> {
  const views = await Promise.allSettled(Array.from({ length: count }, (_, node) => readHealth(node)));
  const texts = views.map((view, node) => {
    if (view.status === 'rejected') return `node ${node + 1} does not answer (${String(view.reason)})`;
    return `node ${node + 1} reads ${view.value.nodes.length} nodes with ${sharesOf(view.value).join(', ')}`;
  });
  return texts.join('; ');
}

/**
 * Resolves when each node owns its even share of the shards.
 * @param limitMs default: a minute
 * @throws CannotRun with the view of each node: one that is absent from all others has not joined or has ended
 */
export async function awaitSpread(
  readHealth: (node: number) => Promise<Health>,
  count: number,
  limitMs = spreadMs,
): Promise<void> {
  for (const end = performance.now() + limitMs; ; ) {
    const shares = sharesOf(await readHealth(0));
    const isComplete = shares.reduce((sum, share) => sum + share, 0) === shardCount;
    if (shares.length === count && isComplete && Math.max(...shares) <= Math.ceil(shardCount / count)) return;
    if (performance.now() > end)
      throw new CannotRun(
        `The shards are not spread over ${count} nodes: ${await describeViews(readHealth, count)}.`,
      );
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** A node that joins while the others take shards may have to try again. */
async function startNode(options: HubOptions): Promise<Hub> {
  for (let tries = 1; ; tries++) {
    try {
      return await startBenchHub(options);
    } catch (error) {
      if (tries === maxStarts || isInterrupted() || !(error instanceof CannotRun)) throw error;
      process.stderr.write(`${error.message} The node starts again.\n`);
    }
  }
}

interface NodeOptions {
  readonly slow: readonly string[];
  readonly profile: boolean;
}

/**
 * @param options slow-downs and profile of each node
 * @param meters as `preloads` of `startBenchHub`. Default: none
 * @throws CannotRun if a node does not start; its `stop`, for slow-downs that never acted
 */
export async function startNodes(
  folder: string,
  { mongoUrl, redisUrl }: BenchServices,
  count: number,
  { slow, profile }: NodeOptions,
  meters: readonly string[] = [],
): Promise<BenchNodes> {
  const preloads = withSlowDowns(meters, slow);
  const name = newStoredName();
  const url = new URL(mongoUrl);
  url.pathname = `/${name}`;
  const settings = {
    MONGODB_URL: url.href,
    REDIS_URL: redisUrl,
    CLUSTER_NAME: name,
    SECRET_KEY: randomUUID() + randomUUID(),
    LOG_LEVEL: 'error',
    RATE_LIMIT_MAX_ATTEMPTS: '10000',
    APPROVALS_PER_MINUTE: '1000000',
  };
  const hubs = await Promise.all(
    Array.from({ length: count }, () => startNode({ folder, settings, preloads, profile })),
  );
  // The services remove the database at their end: some servers need minutes to drop one with many documents.
  const stopHubs = async (): Promise<void> => void (await Promise.all(hubs.map((hub) => hub.stop())));
  const stop = (): Promise<void> => checkReached(hubs, slow).finally(stopHubs);
  try {
    const admin = await setUp(hubs[0]?.url ?? '');
    const readHealth = async (node: number): Promise<Health> => {
      const headers = { Cookie: admin.cookie() };
      const response = await fetch(`${hubs[node]?.url}/api/v1/health/cluster`, { headers });
      return (await response.json()) as Health;
    };
    await awaitSpread(readHealth, count);
    return {
      hubs,
      admin,
      stop,
      async ownedBy(node) {
        const { node: id, nodes } = await readHealth(node);
        const shards = new Set(nodes.find((other) => other.node === id)?.shards ?? []);
        for (let n = 0; n < maxTenants; n++) {
          const { tenant_id } = await admin.call<{ readonly tenant_id: string }>('GET', '/api/v1/auth/me');
          const env = environments.find((one) => shards.has(shardOf(`${tenant_id}/${one}`)));
          if (env !== undefined) return env;
          await admin.newTenant(`tenant-${n}`);
        }
        throw new CannotRun(`No environment of ${maxTenants} tenants lives on the node.`);
      },
    };
  } catch (error) {
    await stopHubs();
    throw error;
  }
}

// A cluster of real hub processes for tests: N nodes of the compiled hub on free ports, over one store and one Redis,
// each of which may be killed, stopped, paused and started again by its number. Starts no service of its own:
// test/services does.
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { inject } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { wrongClock } from '../wrong-clock.ts';
import { mustDrop } from './stage.ts';

export interface ClusterWishes {
  /** How many nodes; 3 by default. */
  readonly count?: number;
  /** The servers; those of the suite's global setup by default. */
  readonly mongoUrl?: string;
  readonly redisUrl?: string;
  /** Settings of every node, on top of those of the cluster. */
  readonly env?: { readonly [name: string]: string };
  /** By how many milliseconds the clock of each node's machine is wrong; not at all by default. */
  readonly clockErrors?: readonly number[];
}

/** `base` with another database in its path. */
function databaseIn(base: string, database: string): string {
  const match = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(base);
  if (!match) throw new Error(`Not a MongoDB address: ${base}`);
  return `${match[1]}/${database}${match[2] ?? ''}`;
}

/** Less than hooks wait: a file whose hook is given up knows no nodes to remove. */
const startMs = 90_000;

/** Kills a node that does not listen in time, which ends its start. */
async function startInTime(node: HubProcess): Promise<void> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void node.kill();
  }, startMs);
  try {
    await node.start();
  } catch (cause) {
    throw isLate ? new Error(`a node does not listen within ${startMs} ms`, { cause }) : cause;
  } finally {
    clearTimeout(timer);
  }
}

export class Nodes {
  readonly nodes: readonly HubProcess[];
  /** Servers that the nodes share; a tool that looks into the servers needs them. */
  readonly mongoUrl: string;
  readonly redisUrl: string;
  readonly clusterName: string;
  readonly #paused = new Set<number>();

  constructor(wishes: ClusterWishes = {}) {
    const name = `test_${randomUUID().slice(0, 13).replace('-', '_')}`;
    this.clusterName = name;
    this.mongoUrl = databaseIn(wishes.mongoUrl ?? inject('mongoUrl'), `reeve_${name}`);
    this.redisUrl = wishes.redisUrl ?? inject('redisUrl');
    const env = {
      MONGODB_URL: this.mongoUrl,
      REDIS_URL: this.redisUrl,
      CLUSTER_NAME: name,
      SECRET_KEY: `${name}-${'k'.repeat(32)}`,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_MAX_ATTEMPTS: '1000',
      ...wishes.env,
    };
    this.nodes = Array.from({ length: wishes.count ?? 3 }, (_, i) => {
      const error = wishes.clockErrors?.[i] ?? 0;
      return new HubProcess(error === 0 ? env : { ...env, ...wrongClock(error) });
    });
  }

  /** The node of this number. */
  at(i: number): HubProcess {
    const node = this.nodes[i];
    if (!node) throw new Error(`There is no node ${i}.`);
    return node;
  }

  get urls(): readonly string[] {
    return this.nodes.map((node) => node.url);
  }

  /**
   * Starts all at once; resolves when every one listens.
   * @throws Error with the output of a node that does not, once no node runs
   */
  async start(): Promise<this> {
    const results = await Promise.allSettled(this.nodes.map(startInTime));
    const failure = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (!failure) return this;
    await Promise.all(this.nodes.map((node) => node.kill()));
    throw failure.reason;
  }

  /** kill -9. Resolves when the process is gone. */
  async kill(i: number): Promise<void> {
    await this.at(i).kill();
    this.#paused.delete(i);
  }

  /** SIGTERM: the node drains and ends; its exit code. */
  stop(i: number): Promise<number | null> {
    return this.at(i).stop();
  }

  /** Any other signal, as SIGSTOP and SIGCONT. */
  signal(i: number, signal: NodeJS.Signals): void {
    if (signal === 'SIGSTOP') this.#paused.add(i);
    if (signal === 'SIGCONT') this.#paused.delete(i);
    this.at(i).child?.kill(signal);
  }

  /** Starts a node that was killed or stopped, on the same port. Resolves when it listens. */
  async restart(i: number): Promise<void> {
    await this.at(i).start();
  }

  running(i: number): boolean {
    const child = this.at(i).child;
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  /** Numbers of the nodes that run and are not paused. */
  get alive(): readonly number[] {
    return this.nodes.flatMap((_, i) => (this.running(i) && !this.#paused.has(i) ? [i] : []));
  }

  /**
   * Kills what still runs and removes data folders and, on a server that was given, the database. Keys in Redis end by
   * themselves.
   */
  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
    if (!mustDrop()) return;
    const client = new MongoClient(this.mongoUrl, { serverSelectionTimeoutMS: 2000 });
    await client
      .db()
      .dropDatabase()
      .catch(() => {});
    await client.close();
  }
}

/** Starts a cluster; resolves when every node listens. */
export async function startNodes(wishes: ClusterWishes = {}): Promise<Nodes> {
  const nodes = new Nodes(wishes);
  return nodes.start().catch(async (error: unknown) => {
    await nodes.remove();
    throw error;
  });
}

/**
 * Calls `probe` until it gives something other than undefined, at most `ms`; what it gave, and after how many
 * milliseconds.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  ms = 15_000,
): Promise<{ readonly value: T; readonly tookMs: number }> {
  const begun = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined) return { value, tookMs: performance.now() - begun };
    } catch (error) {
      last = error;
    }
    if (performance.now() - begun > ms) throw new Error(`not within ${ms} ms: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a node says of the cluster. @param credentials of an admin or the operator */
export async function clusterHealth(
  node: HubProcess,
  credentials: { readonly cookie: string } | { readonly headers: { [name: string]: string } },
) {
  const { status, body } = await node.call('GET', '/api/v1/health/cluster', credentials);
  if (status !== 200) throw new Error(`health/cluster: ${status} ${JSON.stringify(body)}`);
  return body as {
    readonly node: string;
    readonly nodes: readonly {
      readonly node: string;
      readonly shard_count: number;
      readonly shards: number[];
    }[];
    readonly shards: { readonly owned: number };
    readonly lag: { readonly waiting: number };
  };
}

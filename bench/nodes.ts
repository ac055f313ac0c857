// Three hub processes as one cluster on this machine, with a signed-in admin, for benchmarks. They share a database and
// a part of Redis of their own.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { type Env, environments, shardCount, shardOf } from '../src/domain/ids.ts';
import { type Admin, benchOperatorToken, setUp } from './admin.ts';
import type { BenchServices } from './services.ts';

export interface BenchNodes {
  readonly urls: readonly [string, string, string];
  readonly ports: readonly [number, number, number];
  readonly admin: Admin;
  /** An environment of a tenant whose actor lives on this node (0 to 2), and the admin's session in that tenant. */
  ownedBy(node: number): Promise<{ readonly tenantId: string; readonly env: Env }>;
  stop(): Promise<void>;
}

const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
const startMs = 60_000;

async function startOne(env: {
  readonly [name: string]: string;
}): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // A benchmark that fails leaves no node behind.
  process.once('exit', () => child.kill('SIGKILL'));
  let said = '';
  const listening = new Promise<number>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      said += String(chunk);
      const port = /Reeve is listening on http:\/\/[^:]+:(\d+)/.exec(said)?.[1];
      if (port) resolve(Number(port));
    });
    child.once('exit', (code) => reject(new Error(`a node ended with ${code}: ${said}`)));
  });
  return { child, port: await listening };
}

interface Health {
  readonly node: string;
  readonly nodes: readonly { readonly node: string; readonly shards: readonly number[] }[];
}

export async function startNodes({ mongoUrl, redisUrl }: BenchServices): Promise<BenchNodes> {
  const name = `bench_${randomUUID().slice(0, 8)}`;
  const url = new URL(mongoUrl);
  url.pathname = `/reeve_${name}`;
  const settings = {
    MONGODB_URL: url.href,
    REDIS_URL: redisUrl,
    CLUSTER_NAME: name,
    SECRET_KEY: randomUUID() + randomUUID(),
    OPERATOR_TOKEN: benchOperatorToken,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'error',
    DRAIN_SECONDS: '0',
    RATE_LIMIT_MAX_ATTEMPTS: '10000',
  };
  const started = await Promise.all([startOne(settings), startOne(settings), startOne(settings)]);
  const [a, b, c] = started.map(({ port }) => port) as [number, number, number];
  const urls = [a, b, c].map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
  const admin = await setUp(urls[0]);

  const healthOf = async (node: number): Promise<Health> => {
    const response = await fetch(`${urls[node]}/api/v1/health/cluster`, {
      headers: { Cookie: admin.cookie() },
    });
    return (await response.json()) as Health;
  };
  /** Waits until each owns its even share. */
  const until = performance.now() + startMs;
  for (;;) {
    const { nodes } = await healthOf(0);
    const shares = nodes.map(({ shards }) => shards.length);
    if (
      shares.length === 3 &&
      Math.max(...shares) <= Math.ceil(shardCount / 3) &&
      shares.reduce((x, y) => x + y) === shardCount
    )
      break;
    if (performance.now() > until) throw new Error(`the shards are not spread: ${shares.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  return {
    urls,
    ports: [a, b, c],
    admin,
    async ownedBy(node) {
      const { node: id, nodes } = await healthOf(node);
      const shards = new Set(nodes.find((one) => one.node === id)?.shards ?? []);
      for (let i = 0; i < 50; i++) {
        const { tenant_id: tenantId } = await admin.call<{ readonly tenant_id: string }>(
          'GET',
          '/api/v1/auth/me',
        );
        const env = environments.find((one) => shards.has(shardOf(`${tenantId}/${one}`)));
        if (env) return { tenantId, env };
        await admin.newTenant(`tenant-${i}`);
      }
      throw new Error('no environment of 50 tenants lives on the node');
    },
    async stop() {
      const ended = started.map(({ child }) => once(child, 'exit'));
      for (const { child } of started) child.kill('SIGTERM');
      await Promise.all(ended);
      const client = new MongoClient(settings.MONGODB_URL);
      await client.db().dropDatabase();
      await client.close();
    },
  };
}

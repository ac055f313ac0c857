// Parts that are broken on purpose and must go on: the hub's processes, Redis and the store. Every fault goes through
// here and is noted. Chooses none.
import { HubProcess } from '../../e2e/process.ts';
import type { Random } from '../../random.ts';
import { type Service, startOwnMongo, startOwnRedis } from '../../services/start.ts';
import { eventually, startNodes } from '../nodes.ts';
import { Caller, type Node, type Request } from './caller.ts';

export type FaultKind = 'kill' | 'stop' | 'pause' | 'resume' | 'start' | 'lose';

export interface Fault {
  readonly kind: FaultKind;
  /** A node's name, `redis` or `store`. */
  readonly target: string;
  /** When it was complete; epoch ms. */
  readonly at: number;
}

export const operatorToken = 'operator-token-of-the-chaos-tests';
const names = 'ABCDEFGH';

export interface FleetWishes {
  readonly count?: number;
  readonly drainSeconds?: number;
}

export class Fleet {
  readonly nodes: readonly Node[];
  readonly caller = new Caller();
  readonly faults: Fault[] = [];
  readonly #hubs: readonly HubProcess[];
  readonly #services: { readonly [name: string]: Service };
  readonly #stop: () => Promise<void>;
  #closed = false;
  /** Nodes that run and listen, as far as this process did it. */
  readonly #up = new Set<number>();

  constructor(
    hubs: readonly HubProcess[],
    services: { readonly [name: string]: Service },
    stop: () => Promise<void>,
  ) {
    this.#hubs = hubs;
    this.#services = services;
    this.#stop = stop;
    this.nodes = hubs.map((hub, i) => ({ name: names[i] ?? String(i), port: hub.port }));
    for (const i of this.nodes.keys()) this.#up.add(i);
  }

  get size(): number {
    return this.nodes.length;
  }

  /** Nodes that run, listen and are not paused. */
  get up(): readonly Node[] {
    return this.nodes.filter((_, i) => this.#up.has(i));
  }

  at(i: number): Node {
    const node = this.nodes[i];
    if (!node) throw new Error(`There is no node ${i}.`);
    return node;
  }

  index(node: Node | string): number {
    return this.nodes.findIndex(({ name }) => name === (typeof node === 'string' ? node : node.name));
  }

  output(i: number): string {
    return this.#hub(i).output;
  }

  /** Chooses among the nodes that are up, as a load balancer with perfect health checks. */
  route(random: Random): Node | null {
    const { up } = this;
    return up.length === 0 ? null : random.pick(up);
  }

  /** kill -9. @throws Error when it had ended by itself, which no fault explains */
  async kill(i: number): Promise<void> {
    if (!this.#runs(i)) throw new Error(`node ${this.at(i).name} had ended by itself: ${this.output(i)}`);
    this.#up.delete(i);
    const ended = this.#hub(i).kill();
    this.#note('kill', this.at(i).name);
    await ended;
  }

  /** SIGTERM; the exit code. */
  async stop(i: number): Promise<number | null> {
    this.#up.delete(i);
    this.#note('stop', this.at(i).name);
    return this.#hub(i).stop();
  }

  pause(i: number): void {
    this.#up.delete(i);
    this.#hub(i).child?.kill('SIGSTOP');
    this.#note('pause', this.at(i).name);
  }

  resume(i: number): void {
    this.#hub(i).child?.kill('SIGCONT');
    this.#up.add(i);
    this.#note('resume', this.at(i).name);
  }

  /** Starts it again; while what it needs is away, once more every half second. */
  async start(i: number): Promise<void> {
    await eventually(
      `node ${this.at(i).name} starts`,
      async () => {
        if (!this.#closed && !this.#runs(i)) await this.#hub(i).start();
        return true;
      },
      60_000,
    );
    this.#up.add(i);
    this.#note('start', this.at(i).name);
  }

  async killService(name: 'redis' | 'store'): Promise<void> {
    await this.#service(name).kill9();
    this.#note('kill', name);
  }

  async startService(name: 'redis' | 'store'): Promise<void> {
    await this.#service(name).start();
    this.#note('start', name);
  }

  /** Everything runs again and every node says that it is ready. */
  async heal(ms = 30_000): Promise<void> {
    for (const service of Object.values(this.#services)) await service.start();
    for (const i of this.nodes.keys()) {
      if (this.#up.has(i)) continue;
      if (this.#runs(i)) this.resume(i);
      else await this.start(i);
    }
    await Promise.all(
      this.nodes.map((node) =>
        eventually(
          `node ${node.name} is ready`,
          async () => ((await this.ready(node)) ? true : undefined),
          ms,
        ),
      ),
    );
  }

  async ready(node: Node): Promise<boolean> {
    return (await this.caller.send(node, 'GET', '/api/v1/health/ready', { timeoutMs: 3000 })).status === 200;
  }

  /**
   * A call that must succeed, for preparing and checking: tried on one node after another for a while.
   * @throws Error with the last answer
   */
  async must(method: string, path: string, request: Request = {}, ms = 20_000) {
    let last: unknown = null;
    const { value } = await eventually(
      `${method} ${path} succeeds`,
      async () => {
        for (const node of this.up) {
          const answer = await this.caller.send(node, method, path, request);
          last = [answer.status, answer.output];
          if (answer.outcome === 'ok') return answer;
        }
        return undefined;
      },
      ms,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
    return value;
  }

  /** Nodes that were killed since `from`. */
  deaths(from: number): readonly { readonly node: string; readonly at: number }[] {
    return this.faults.flatMap(({ kind, target, at }) => {
      const isNode = this.index(target) >= 0;
      return kind === 'kill' && isNode && at >= from ? [{ node: target, at }] : [];
    });
  }

  /** Faults since, in words, with seconds since `from`. */
  told(from: number): string[] {
    return this.faults
      .filter(({ at }) => at >= from)
      .map(({ kind, target, at }) => `${((at - from) / 1000).toFixed(2)} s: ${kind} ${target}`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.caller.close();
    await this.#stop();
  }

  #hub(i: number): HubProcess {
    const hub = this.#hubs[i];
    if (!hub) throw new Error(`There is no node ${i}.`);
    return hub;
  }

  #runs(i: number): boolean {
    const { child } = this.#hub(i);
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  #service(name: string): Service {
    const service = this.#services[name];
    if (!service) throw new Error(`This fleet has no ${name} of its own.`);
    return service;
  }

  #note(kind: FaultKind, target: string): void {
    this.faults.push({ kind, target, at: Date.now() });
  }
}

/**
 * Three nodes with a Redis and a store of their own, which may be killed. Redis forces its log to disk at every write
 * (`appendfsync always`): with `everysec` it may hold writes back for two seconds while its disk is busy, and an
 * acknowledged increment would go with it. Events, approvals and deployments live in the store.
 * @throws Error that says what to install
 */
export async function startFleet(wishes: FleetWishes = {}): Promise<Fleet> {
  const redis = await startOwnRedis('always');
  const mongo = await startOwnMongo().catch(async (error) => {
    await redis.stop();
    throw error;
  });
  const stop = async () => {
    await redis.stop();
    await mongo.stop();
  };
  try {
    const hubs = await startNodes({
      count: wishes.count ?? 3,
      mongoUrl: mongo.mongo.url,
      redisUrl: redis.redis.url,
      env: {
        OPERATOR_TOKEN: operatorToken,
        RATE_LIMIT_MAX_ATTEMPTS: '100000',
        DRAIN_SECONDS: String(wishes.drainSeconds ?? 3),
      },
    });
    return new Fleet(hubs.nodes, { redis: redis.redis, store: mongo.mongo }, async () => {
      // The servers go with their data: there is no database to drop first.
      await Promise.all(hubs.nodes.map((hub) => hub.remove()));
      await stop();
    });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** One embedded hub, for which kill -9 and restart are all the faults. */
export async function startEmbedded(): Promise<Fleet> {
  const hub = new HubProcess({
    OPERATOR_TOKEN: operatorToken,
    RATE_LIMIT_MAX_ATTEMPTS: '100000',
    LOG_LEVEL: 'warn',
  });
  await hub.start();
  return new Fleet([hub], {}, () => hub.remove());
}

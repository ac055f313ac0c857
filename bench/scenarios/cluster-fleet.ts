// The streams of a cluster: all agents open theirs on three nodes at one moment; what each costs the nodes, and what a
// deployment to them costs Redis.
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import { BundleDeployer } from '../suite/bundles.ts';
import { figureOf } from '../suite/figures.ts';
import { addedByEach, minus, processorMsOf, residentBytesOf, totalOf } from '../suite/machine.ts';
import type { BenchNodes } from '../suite/nodes.ts';
import type { Figure } from '../suite/results.ts';
import type { StreamClient } from '../suite/streams.ts';
import type { BareFleet } from './bare-fleet.ts';
import type { RunOptions } from './scenario.ts';

/** Work in this time after a deployment counts as its cost. Milliseconds. */
const settleMs = 1000;
/** A frame that a stream has not read by then is lost. */
export const lossMs = 30_000;
/**
 * Opened on each node and closed before, at most so many at once, so that what grows once has grown, and code is
 * compiled. As many for each size of a run: else a small one would predict the costs of cold nodes.
 */
const warmOpenings = 5000;
const maxWarmStreams = 1000;
/** Agents of these openings have numbers from here on: those that are measured are new. */
const warmAgents = 1_000_000;
/** Deployments to all streams before those that are measured. */
const warmDeployments = 5;
/** Times that all agents open their streams: as new agents, and as known ones. */
const maxOpenings = 2;
/** An idle phase is measured for as long at most. */
const maxIdleSeconds = 60;
/** An agent's `last_seen_at` is written once in as many seconds. */
const lastSeenSeconds = 30;
/** Milliseconds between two lines about streams that open. */
const progressMs = 5000;
/** First line of a frame with a document; the rest follows. */
const documentMarker = 'event: contract_update';

export interface Deployment {
  readonly entries: number;
  /** Bytes that Redis sent. */
  readonly redisBytes: number;
  readonly lastMs: number;
  readonly lost: number;
  /** The last delivery of as many bare loops with as many clients. */
  readonly bareLastMs: number;
}

/** Of all nodes together; null where the system cannot measure. */
export interface StreamCosts {
  /** Bytes of resident memory per idle stream. */
  readonly rssBytes: number | null;
  /** Microseconds of processor time per second and idle stream, with what idle nodes take. */
  readonly idleTime: number | null;
  /** The same, without what idle nodes take. */
  readonly streamTime: number | null;
  /** Microseconds of processor time per opening, each time that all open. */
  readonly openingTimes: readonly (number | null)[];
  /** Of each time that agents connect at one moment, those that warm up too. */
  readonly refusals: readonly number[];
  /** Writes of the database per second and idle stream, without those of idle nodes. */
  readonly databaseWrites: number | null;
}

/** Entries that Redis was given so far, in scripts too, and bytes that it sent, both counted by Redis itself. */
async function readRedis(redisUrl: string): Promise<{ readonly entries: number; readonly bytes: number }> {
  const redis = createClient({ url: redisUrl });
  await redis.connect();
  const commands = String(await redis.sendCommand(['INFO', 'commandstats']));
  const traffic = String(await redis.sendCommand(['INFO', 'stats']));
  redis.destroy();
  return {
    entries: Number(/cmdstat_xadd:calls=(\d+)/.exec(commands)?.[1] ?? 0),
    bytes: Number(/total_net_output_bytes:(\d+)/.exec(traffic)?.[1] ?? 0),
  };
}

/** Writes so far, counted by the database; null if it does not count them. */
async function readWrites(mongoUrl: string): Promise<number | null> {
  const client = new MongoClient(mongoUrl);
  try {
    const { opcounters } = await client.db().admin().serverStatus();
    const { insert, update, delete: removals } = (opcounters ?? {}) as { readonly [name: string]: unknown };
    const counts = [insert, update, removals].map(Number);
    return counts.every(Number.isFinite) ? counts.reduce((sum, count) => sum + count, 0) : null;
  } catch {
    return null;
  } finally {
    await client.close();
  }
}

interface FleetParts {
  readonly nodes: BenchNodes;
  readonly redisUrl: string;
  readonly mongoUrl: string;
  /** One for each node. */
  readonly streams: readonly StreamClient[];
  readonly bare: BareFleet;
  readonly key: string;
}

export interface FleetSizes {
  readonly agents: number;
  readonly rounds: number;
  readonly seconds: number;
  /** Bytes of a deployed frame. */
  readonly frame: number;
  readonly report: RunOptions['report'];
}

export class ClusterFleet {
  readonly #parts: FleetParts;
  readonly #sizes: FleetSizes;
  readonly #share: number;
  readonly #deployer: BundleDeployer;

  constructor(parts: FleetParts, sizes: FleetSizes) {
    this.#parts = parts;
    this.#sizes = sizes;
    this.#share = Math.ceil(sizes.agents / parts.streams.length);
    this.#deployer = new BundleDeployer(parts.nodes.admin, parts.key);
  }

  #read(value: (pid: number) => number | null): number | null {
    const pids = this.#parts.nodes.hubs.map(({ pid }) => pid);
    return totalOf(pids, value);
  }

  /** Runs `opening`, and reports the streams that are open and the rate of their openings. */
  async #withProgress<T>(what: string, count: number, opening: Promise<T>): Promise<T> {
    const { streams } = this.#parts;
    const began = performance.now();
    const timer = setInterval(async () => {
      const opened = await Promise.all(streams.map((client) => client.opened().catch(() => 0)));
      const open = opened.reduce((sum, each) => sum + each, 0);
      const rate = Math.round((open * 1000) / (performance.now() - began));
      this.#sizes.report(`${what}: ${open} of ${count * streams.length} streams are open, ${rate}/s`, 0);
    }, progressMs);
    try {
      return await opening;
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Opens as many streams on each node, all in one turn of each client.
   * @param what for progress
   * @param first number of the first agent
   * @returns refused openings
   */
  async #openAll(what: string, count: number, first = 0): Promise<number> {
    const { streams, nodes } = this.#parts;
    const request = this.#deployer.streamRequest({ isCurrent: false });
    const openings = streams.map((client, n) => {
      const port = nodes.hubs[n]?.port ?? 0;
      const from = first + n * count;
      return client.open({ port, count, request, from, atOnce: count, marker: documentMarker });
    });
    const opened = await this.#withProgress(what, count, Promise.all(openings));
    return opened.reduce((sum, { refused }) => sum + refused, 0);
  }

  async #closeAll(): Promise<void> {
    await Promise.all(this.#parts.streams.map((client) => client.close()));
    await this.#settle();
  }

  async #settle(): Promise<void> {
    await delay(settleMs);
    for (const hub of this.#parts.nodes.hubs) await hub.ask('collect');
  }

  /** Microseconds of processor time, and writes of the database, per second and stream. */
  async #spend(): Promise<{ readonly time: number | null; readonly writes: number | null }> {
    const seconds = Math.min(this.#sizes.seconds, maxIdleSeconds);
    const { mongoUrl, streams } = this.#parts;
    const writesBefore = await readWrites(mongoUrl);
    const before = this.#read(processorMsOf);
    await delay(seconds * 1000);
    const spent = minus(this.#read(processorMsOf), before);
    const writes = minus(await readWrites(mongoUrl), writesBefore);
    const streamSeconds = seconds * this.#share * streams.length;
    return {
      time: spent === null ? null : (spent * 1000) / streamSeconds,
      // In less time, some streams have no write yet.
      writes: writes === null || seconds < lastSeenSeconds ? null : writes / streamSeconds,
    };
  }

  /** Opens all streams, and leaves them open. */
  async open(): Promise<StreamCosts> {
    const { agents, frame, rounds, report } = this.#sizes;
    await this.#deployer.deploy(frame);
    const warmCount = Math.min(maxWarmStreams, this.#share);
    const refusals: number[] = [];
    for (let opened = 0; opened < warmOpenings; opened += warmCount) {
      refusals.push(await this.#openAll('warming up', warmCount, warmAgents));
      await this.#closeAll();
    }
    report('measuring nodes without streams', 0);
    const rest = await this.#spend();
    const empty = this.#read(residentBytesOf);
    const openingTimes: (number | null)[] = [];
    const openings = Math.min(rounds, maxOpenings);
    for (let n = 0; n < openings; n++) {
      if (n > 0) await this.#closeAll();
      const before = this.#read(processorMsOf);
      refusals.push(await this.#openAll(`opening ${n + 1} of ${openings}`, this.#share));
      const spent = minus(this.#read(processorMsOf), before);
      openingTimes.push(spent === null ? null : (spent * 1000) / agents);
      await this.#settle();
    }
    report('measuring idle streams', 0);
    const idle = await this.#spend();
    // Buffers of documents that all agents received at one moment are not those of idle streams.
    await this.#settle();
    const added = minus(this.#read(residentBytesOf), empty);
    report('opening as many streams of bare loops', 0);
    await this.#parts.bare.open(this.#share);
    for (let n = 0; n < warmDeployments; n++) await this.deploy();
    return {
      rssBytes: addedByEach(added, agents),
      idleTime: idle.time,
      streamTime: addedByEach(minus(idle.time, rest.time), 1),
      openingTimes,
      refusals,
      databaseWrites: addedByEach(minus(idle.writes, rest.writes), 1),
    };
  }

  async deploy(): Promise<Deployment> {
    const { redisUrl, streams, bare } = this.#parts;
    const { frame } = this.#sizes;
    const send = await this.#deployer.prepare(frame);
    await delay(settleMs);
    const awaits = await Promise.all(streams.map((client) => client.expectWithin(frame, lossMs)));
    const before = await readRedis(redisUrl);
    const began = process.hrtime.bigint();
    const lastDeliveries = Promise.all(awaits.map((awaitLast) => awaitLast()));
    const [deliveries] = await Promise.all([lastDeliveries, send()]);
    await delay(settleMs);
    const after = await readRedis(redisUrl);
    return {
      entries: after.entries - before.entries,
      redisBytes: after.bytes - before.bytes,
      lastMs: Math.max(...deliveries.map(({ at }) => Number(at - began) / 1e6)),
      lost: deliveries.reduce((sum, { lost }) => sum + lost, 0),
      bareLastMs: await bare.measure(frame),
    };
  }
}

/** Costs of streams have no targets: `bench scale --check` compares them with a run of fewer streams. */
export function fleetFigures(costs: StreamCosts, nodes: number): Figure[] {
  const where = `on ${nodes} nodes`;
  const forms: readonly (readonly [
    id: string,
    what: string,
    unit: string,
    rounds: readonly (number | null)[],
  ])[] = [
    ['stream_rss', `resident memory that idle streams ${where} add`, 'bytes per stream', [costs.rssBytes]],
    [
      'idle_time',
      `processor time of an idle stream ${where}, with that of idle nodes`,
      'µs/s',
      [costs.idleTime],
    ],
    [
      'stream_time',
      `processor time of an idle stream ${where}, without that of idle nodes`,
      'µs/s',
      [costs.streamTime],
    ],
    [
      'opening_time',
      `processor time of the nodes per opening, when all agents connect to ${nodes} nodes at one moment`,
      'µs',
      costs.openingTimes,
    ],
    [
      'database_writes',
      `writes of the database for an idle stream ${where}, without those of idle nodes`,
      '1/s',
      [costs.databaseWrites],
    ],
  ];
  return [
    ...forms.map(([id, what, unit, rounds]) =>
      figureOf({ id: `cluster.${id}`, what, unit, better: 'lower', rounds }),
    ),
    figureOf({
      id: 'cluster.refused',
      what: `openings ${where} that were refused and tried again, each time that agents connect at one moment`,
      unit: 'connections',
      better: 'lower',
      rounds: costs.refusals,
      target: { at_most: 0, of: 'value' },
    }),
  ];
}

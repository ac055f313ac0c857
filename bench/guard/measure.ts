// The guard's figures of one build: counts that hardly depend on the machine, from one run on a fresh hub.
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from '../admin.ts';
import { batchSize } from '../batch.ts';
import { BundleDeployer } from '../suite/bundles.ts';
import { CannotRun } from '../suite/failure.ts';
import { type Hub, makeTenants, startBenchHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { processorMsOf, residentBytesOf, startUsage, writeCallBytesOf } from '../suite/machine.ts';
import { StreamClient } from '../suite/streams.ts';
import { parseBeside } from './parsing.ts';

/** What a fresh hub carries while figures of it are measured. */
export type GuardLoad = 'events' | 'streams';

const allLoads: readonly GuardLoad[] = ['events', 'streams'];

export interface GuardFigure {
  readonly id: string;
  readonly load: GuardLoad;
  readonly what: string;
  readonly unit: string;
  /** Counts repeat; times and memory move with the machine. */
  readonly kind: 'count' | 'time';
}

const perEvents = 'per 1,000 events';

/** Lower is better for each. */
export const guardFigures = [
  {
    id: 'counts.statements',
    load: 'events',
    what: 'SQL statements, one connection',
    unit: perEvents,
    kind: 'count',
  },
  {
    id: 'counts.commits',
    load: 'events',
    what: 'commits, one connection',
    unit: perEvents,
    kind: 'count',
  },
  {
    id: 'counts.written_bytes',
    load: 'events',
    what: 'bytes in write calls, one connection',
    unit: perEvents,
    kind: 'count',
  },
  {
    id: 'counts.serialised_bytes',
    load: 'events',
    what: 'bytes from JSON.stringify, one connection',
    unit: perEvents,
    kind: 'count',
  },
  {
    id: 'counts.parsed_bytes',
    load: 'events',
    what: 'bytes into JSON.parse, one connection',
    unit: perEvents,
    kind: 'count',
  },
  {
    id: 'counts.deploy_encodings',
    load: 'streams',
    what: 'encodings of large texts',
    unit: 'per deploy',
    kind: 'count',
  },
  {
    id: 'counts.deploy_bytes',
    load: 'streams',
    what: 'bytes that a stream reads',
    unit: 'per deploy and stream',
    kind: 'count',
  },
  {
    id: 'counts.stream_heap',
    load: 'streams',
    what: 'JavaScript heap and buffers',
    unit: 'bytes per stream',
    kind: 'count',
  },
  {
    id: 'counts.stream_rss',
    load: 'streams',
    what: 'resident memory',
    unit: 'bytes per stream',
    kind: 'time',
  },
  {
    id: 'counts.ingest_time',
    load: 'events',
    what: "processor time of ingest ÷ JSON.parse's of the same bytes",
    unit: '×',
    kind: 'time',
  },
] as const satisfies readonly GuardFigure[];

export type GuardFigureId = (typeof guardFigures)[number]['id'];
/** A figure that a run leaves out is absent. */
export type GuardValues = { readonly [id in GuardFigureId]?: number };

export interface GuardRun {
  readonly values: GuardValues;
  /** Cores that other work on the machine used. */
  readonly otherCores: number | null;
}

/** Load of a run. Bands rest on whole runs; two builds in turns need less. */
export interface RunSizes {
  readonly warmBatches: number;
  readonly countedBatches: number;
}

const wholeSizes: RunSizes = { warmBatches: 60, countedBatches: 160 };
/** Many runs of them fit a job of a few minutes. */
export const shortSizes: RunSizes = { warmBatches: 30, countedBatches: 80 };
/** Batches by which V8 compiles the path of an event. */
const warmTimedBatches = 400;
/** Merges and checkpoints make 80 batches cost from 11 to 22 times their parsing, at the same places in each run. */
const timedBatches = 1080;
/** They share the reserves of the collector and of malloc, which move by 2 MB. */
const measuredStreams = 12_000;
const timedConnections = 8;
/** Derived tables are written up to a second after the answer. */
const settleMs = 1300;
const warmStreams = 1000;
const countedStreams = 200;
/** What the hub refreshes each second, a megabyte, is garbage in some of the collections. */
const heapReads = 3;
const heapRestMs = 150;
const frameBytes = 32_768;

type Counters = Readonly<Record<string, number>>;

interface Setup {
  readonly hub: Hub;
  readonly admin: Admin;
  readonly keys: readonly string[];
  readonly seed: number;
  readonly sizes: RunSizes;
}

async function readCounters(hub: Hub): Promise<Counters> {
  const counters = (await hub.ask('counters')) as Counters | null;
  if (!counters || !((counters.driver_threads ?? 0) > 0)) {
    throw new CannotRun(
      "No thread of the hub used the wrapped driver: bench/slow/count.mjs doesn't fit this build.",
    );
  }
  return counters;
}

function measured(value: number | null): number {
  if (value === null) throw new CannotRun('The counts need /proc, which this system does not have.');
  return value;
}

const oneConnection = ({ hub, keys }: Setup) =>
  ({ type: 'closed', origin: hub.url, keys: keys.slice(0, 1), connections: 1, seconds: 60 }) as const;

async function readSettled(hub: Hub): Promise<Counters> {
  await delay(settleMs);
  return { ...(await readCounters(hub)), written: measured(writeCallBytesOf(hub.pid)) };
}

/** @param n makes the call ids new @param before the counters as they are */
async function countEvents(setup: Setup, loader: Loader, n: number, before: Counters) {
  const order = { ...oneConnection(setup), seed: setup.seed + n, maxBatches: setup.sizes.countedBatches };
  const { events } = await loader.load(order);
  const after = await readSettled(setup.hub);
  const per = (name: string): number => (((after[name] ?? 0) - (before[name] ?? 0)) * 1000) / events;
  const values = {
    'counts.statements': per('statements'),
    'counts.commits': per('commits'),
    'counts.written_bytes': per('written'),
    'counts.serialised_bytes': per('serialised_bytes'),
    'counts.parsed_bytes': per('parsed_bytes'),
  };
  return { values, after };
}

async function measureTime({ hub, keys, seed }: Setup, loader: Loader): Promise<number> {
  const order = {
    type: 'closed',
    origin: hub.url,
    keys,
    connections: timedConnections,
    seconds: 60,
  } as const;
  await loader.load({ ...order, seed: seed + 50, maxBatches: warmTimedBatches });
  const before = measured(processorMsOf(hub.pid));
  const load = loader.load({ ...order, seed: seed + 51, maxBatches: timedBatches });
  const { result, batchMs } = await parseBeside(load);
  return ((measured(processorMsOf(hub.pid)) - before) * batchSize) / result.events / batchMs;
}

/** Right after the first collection, before V8 returns memory to the system. */
async function readMemory(hub: Hub) {
  const heaps: number[] = [];
  let rss: number | null = null;
  for (let n = 0; n < heapReads; n++) {
    if (n > 0) await delay(heapRestMs);
    await hub.ask('collect');
    rss ??= measured(residentBytesOf(hub.pid));
    heaps.push(Number(await hub.ask('memory')));
  }
  return { rss: measured(rss), heap: Math.min(...heaps) };
}

async function measureMemory(hub: Hub, client: StreamClient, deployer: BundleDeployer) {
  await deployer.deploy(frameBytes);
  await hub.ask('grow');
  const request = deployer.streamRequest();
  await client.open({ port: hub.port, count: warmStreams, request });
  const before = await readMemory(hub);
  await client.open({ port: hub.port, count: measuredStreams, request, from: warmStreams });
  const after = await readMemory(hub);
  return {
    'counts.stream_rss': (after.rss - before.rss) / measuredStreams,
    'counts.stream_heap': (after.heap - before.heap) / measuredStreams,
  };
}

async function countDeploy(hub: Hub, client: StreamClient, deployer: BundleDeployer, streams: number) {
  const send = await deployer.prepare(frameBytes);
  const before = await readCounters(hub);
  const awaitDelivery = await client.expect(frameBytes);
  await send();
  await awaitDelivery();
  await delay(200);
  const after = await readCounters(hub);
  return {
    'counts.deploy_encodings': (after.encodings ?? 0) - (before.encodings ?? 0),
    'counts.deploy_bytes': (await client.tally()) / streams,
  };
}

async function measureEvents(setup: Setup, loader: Loader): Promise<GuardValues> {
  await loader.load({ ...oneConnection(setup), seed: setup.seed, maxBatches: setup.sizes.warmBatches });
  const { values } = await countEvents(setup, loader, 1, await readSettled(setup.hub));
  return { ...values, 'counts.ingest_time': await measureTime(setup, loader) };
}

async function measureStreams({ hub, admin, keys }: Setup, client: StreamClient): Promise<GuardValues> {
  const deployer = new BundleDeployer(admin, keys[0] ?? '');
  const memory = await measureMemory(hub, client, deployer);
  const deploy = await countDeploy(hub, client, deployer, warmStreams + measuredStreams);
  return { ...deploy, ...memory };
}

/** The counts alone, which other work on the machine does not change. */
async function countRepeatedly(
  setup: Setup,
  loader: Loader,
  client: StreamClient,
  repeats: number,
): Promise<GuardRun[]> {
  const { hub, admin, keys } = setup;
  const deployer = new BundleDeployer(admin, keys[0] ?? '');
  await deployer.deploy(frameBytes);
  await client.open({ port: hub.port, count: countedStreams, request: deployer.streamRequest() });
  const deploys: GuardValues[] = [];
  for (let n = 0; n < repeats; n++) deploys.push(await countDeploy(hub, client, deployer, countedStreams));
  await loader.load({ ...oneConnection(setup), seed: setup.seed, maxBatches: setup.sizes.warmBatches });
  const runs: GuardRun[] = [];
  let before = await readSettled(hub);
  for (const [n, deploy] of deploys.entries()) {
    const { values, after } = await countEvents(setup, loader, n + 1, before);
    runs.push({ values: { ...values, ...deploy }, otherCores: null });
    before = after;
  }
  return runs;
}

export interface GuardOptions {
  /** A built checkout. */
  readonly folder: string;
  /** Modules in `bench/slow/`. */
  readonly slow: readonly string[];
  readonly seed: number;
  /** Default: those that bands rest on. */
  readonly sizes?: RunSizes;
  /** Loads whose figures are measured. Default: all */
  readonly loads?: readonly GuardLoad[];
}

interface Clients {
  readonly loader: Loader;
  readonly client: StreamClient;
}

async function withClients<Result>(run: (clients: Clients) => Promise<Result>): Promise<Result> {
  const clients = { loader: new Loader(), client: new StreamClient() };
  try {
    return await run(clients);
  } finally {
    for (const one of Object.values(clients)) one.stop();
  }
}

interface HubRun<Result> {
  readonly result: Result;
  readonly otherCores: number | null;
  readonly slowDowns: number;
}

interface HubOrder<Result> {
  readonly tenants: number;
  readonly clients: Clients;
  readonly run: (setup: Setup) => Promise<Result>;
}

async function withHub<Result>(
  { folder, slow, seed, sizes = wholeSizes }: GuardOptions,
  { tenants, clients, run }: HubOrder<Result>,
): Promise<HubRun<Result>> {
  const hub = await startBenchHub({ folder, preloads: ['count', ...slow] });
  try {
    const { admin, keys } = await makeTenants(hub, tenants);
    const endUsage = startUsage(hub.pid, [clients.loader.pid, clients.client.pid]);
    const result = await run({ hub, admin, keys, seed, sizes });
    const { otherMs, elapsedMs } = endUsage();
    const { slow_downs: slowDowns = 0 } = await readCounters(hub);
    return { result, otherCores: otherMs === null ? null : otherMs / elapsedMs, slowDowns };
  } finally {
    await hub.stop();
  }
}

function checkReached({ slow }: GuardOptions, slowDowns: number): void {
  if (slow.length > 0 && slowDowns === 0) throw new CannotRun(`The run never reached ${slow.join(', ')}.`);
}

/**
 * The figures of one run. Events and streams have a fresh hub each, because the ends of many streams would make events
 * dearer, and streams would take memory that events gave back.
 * @throws CannotRun also for a slow-down that a run with all loads never reached
 */
export const measureBuild = (options: GuardOptions): Promise<GuardRun> =>
  withClients(async (clients) => {
    const { loader, client } = clients;
    const { loads = allLoads } = options;
    const orders: { readonly [load in GuardLoad]: HubOrder<GuardValues> } = {
      events: { tenants: 4, clients, run: (setup) => measureEvents(setup, loader) },
      streams: { tenants: 1, clients, run: (setup) => measureStreams(setup, client) },
    };
    const runs: HubRun<GuardValues>[] = [];
    for (const load of loads) runs.push(await withHub(options, orders[load]));
    const slowDowns = runs.reduce((sum, run) => sum + run.slowDowns, 0);
    if (loads.length === allLoads.length) checkReached(options, slowDowns);
    const cores = runs.map(({ otherCores }) => otherCores).filter((value) => value !== null);
    return {
      values: Object.assign({}, ...runs.map(({ result }) => result)),
      otherCores: cores.length === runs.length ? Math.max(...cores) : null,
    };
  });

/** The counts of one hub, several times. @throws as `measureBuild` */
export const countBuild = (options: GuardOptions, repeats: number): Promise<readonly GuardRun[]> =>
  withClients(async (clients) => {
    const { loader, client } = clients;
    const run = (setup: Setup) => countRepeatedly(setup, loader, client, repeats);
    const { result, slowDowns } = await withHub(options, { tenants: 1, clients, run });
    checkReached(options, slowDowns);
    return result;
  });

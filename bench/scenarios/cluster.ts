// One to three hub processes as one cluster, over real MongoDB and Redis servers: ingest by the number of nodes, a
// decision across nodes, and what a deployment costs Redis.
import { setTimeout as delay } from 'node:timers/promises';
import { type BenchServices, startServices } from '../services.ts';
import { Approver } from '../suite/approver.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { coresOf, medianOrNull } from '../suite/load.ts';
import { Loader } from '../suite/loader.ts';
import { processTree, startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import { type BenchNodes, startNodes } from '../suite/nodes.ts';
import { callsOf } from '../suite/open-loop.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { StreamClient } from '../suite/streams.ts';
import { BareFleet, bareFleetText } from './bare-fleet.ts';
import { ClusterBounds, insertManyText, mongoHopText } from './cluster-bounds.ts';
import { ClusterFleet, type Deployment, fleetFigures, lossMs } from './cluster-fleet.ts';
import {
  latencyFigure,
  measureSample,
  type OpenRound,
  openScenario,
  runOpenRounds,
  secondsOfTail,
} from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

const maxNodes = 3;
const decisionsPerSecond = 5;
/** A key may request 600 approvals a minute. */
const approvalsOfKey = 400;
const connections = 8;
/** Ingest and its bound are measured for as long at most: long runs hold streams. */
const maxRateSeconds = 10;
/** So are decisions: all their approvals are requested before, and the store catches up with many for minutes. */
const maxDecisionSeconds = 30;

interface Clients {
  readonly loader: Loader;
  readonly approver: Approver;
  readonly bounds: ClusterBounds;
  readonly streams: readonly StreamClient[];
  /** The bound of deployments. */
  readonly bare: BareFleet;
}

/** Processes of the clients. */
const clientPids = ({ loader, approver, bounds, streams, bare }: Clients): readonly number[] => [
  ...[loader, approver, bounds, ...streams].map(({ pid }) => pid),
  ...bare.pids,
];

/** The nodes, and the database and Redis if the suite started them: all processes of the suite but these clients. */
function clusterPids(clients: readonly number[]): readonly number[] {
  return processTree(process.pid).filter((pid) => pid !== process.pid && !clients.includes(pid));
}

/** Other work was the limit. A database from the environment counts as other work, so then there is no such verdict. */
function haveOthers(usages: readonly Usage[]): boolean {
  if (process.env.MONGODB_URL) return false;
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  return others !== null && others > maxOtherCores;
}

/** Events per second into all nodes at once, and what hub, clients and others used. */
async function measureIngest(nodes: BenchNodes, clients: Clients, options: RunOptions, seed: number) {
  const key = await nodes.admin.newKey();
  const { loader } = clients;
  const loaders = nodes.hubs.map(({ url: origin }, n) =>
    n === 0 ? { loader, origin, isOwn: false } : { loader: new Loader(), origin, isOwn: true },
  );
  const pids = [...new Set([...clientPids(clients), ...loaders.map((one) => one.loader.pid)])];
  try {
    const endUsage = startUsage(clusterPids(pids), pids);
    const results = await Promise.all(
      loaders.map(({ loader: one, origin }, n) =>
        one.load({
          type: 'closed',
          origin,
          keys: [key],
          seed: seed + n * 101,
          connections: Math.ceil(connections / loaders.length),
          seconds: Math.min(options.seconds, maxRateSeconds),
        }),
      ),
    );
    const rate = results.reduce((sum, { events, elapsedMs }) => sum + (events * 1000) / elapsedMs, 0);
    return { rate, usage: endUsage() };
  } finally {
    for (const { loader: one, isOwn } of loaders) if (isOwn) one.stop();
  }
}

/** Rounds of ingest with one node, two and three, each in turns with the bound beside the same idle nodes. */
async function measureIngests(services: BenchServices, clients: Clients, options: RunOptions) {
  const figures: Figure[] = [];
  const usages: Usage[] = [];
  const seconds = Math.min(options.seconds, maxRateSeconds);
  for (let count = 1; count <= maxNodes; count++) {
    options.report(`ingest into ${count} of ${maxNodes} nodes`, 0);
    const nodes = await startNodes(options.hub, services, count, options);
    const rates: number[] = [];
    const bound: number[] = [];
    const measureBound = async (): Promise<void> => {
      bound.push(await clients.bounds.insertMany({ ...services, seconds, connections }));
    };
    try {
      for (let n = 0; n < options.rounds; n++) {
        await waitUntilQuiet(options.quiet);
        if (n % 2 === 1) await measureBound();
        const seed = options.seed + count * 10_007 + n * 977;
        const { rate, usage } = await measureIngest(nodes, clients, options, seed);
        rates.push(rate);
        usages.push(usage);
        if (n % 2 === 0) await measureBound();
      }
    } finally {
      await nodes.stop();
    }
    figures.push(
      figureOf({
        id: `cluster.ingest_rate_${count}`,
        what: `durable events into MongoDB through ${count} ${count === 1 ? 'node' : 'nodes'}`,
        unit: 'events/s',
        better: 'higher',
        rounds: rates,
        bound: { what: insertManyText, rounds: bound },
      }),
    );
  }
  return { figures, hasOthers: haveOthers(usages) };
}

/** A deployment, and what hub, clients and others used until its end. */
interface MeasuredDeployment extends Deployment {
  readonly usage: Usage;
}

export const clusterFigures = (
  rounds: readonly OpenRound[],
  deployments: readonly MeasuredDeployment[],
  agents: number,
): Figure[] => [
  latencyFigure(rounds, {
    id: 'cluster.decision_p99',
    what: 'decision on node A, owned by C → the agent on B',
    sample: 'decision',
    bound: { name: 'decision', what: mongoHopText },
    target: { at_most: 40, of: 'value' },
  }),
  figureOf({
    id: 'cluster.deploy_entries',
    what: `entries in Redis for a deployment to ${agents} agents on ${maxNodes} nodes`,
    unit: 'entries',
    better: 'lower',
    rounds: deployments.map(({ entries }) => entries),
    target: { at_most: 10, of: 'value' },
  }),
  figureOf({
    id: 'cluster.redis_bytes',
    what: `bytes that Redis sends for a deployment to ${maxNodes} nodes`,
    unit: 'bytes',
    better: 'lower',
    rounds: deployments.map(({ redisBytes }) => redisBytes),
  }),
  figureOf({
    id: 'cluster.deploy_last',
    what: `deploying call → last of ${agents} agents on ${maxNodes} nodes`,
    unit: 'ms',
    better: 'lower',
    rounds: deployments.map(({ lastMs }) => lastMs),
    bound: { what: bareFleetText, rounds: deployments.map(({ bareLastMs }) => bareLastMs) },
    target: { at_most: 2, of: 'ratio' },
    isDisturbed: haveOthers(deployments.map(({ usage }) => usage)),
  }),
  figureOf({
    id: 'cluster.lost',
    what: `frames that agents on ${maxNodes} nodes did not get within ${lossMs / 1000} s`,
    unit: 'frames',
    better: 'lower',
    rounds: deployments.map(({ lost }) => lost),
    target: { at_most: 0, of: 'value' },
  }),
];

async function runOn(services: BenchServices, nodes: BenchNodes, clients: Clients, options: RunOptions) {
  const { seconds, agents, report } = options;
  const [a, b, c] = nodes.hubs;
  if (!a || !b || !c) throw new Error('unreachable');
  const env = await nodes.ownedBy(2);
  const decisionSeconds = Math.min(secondsOfTail(decisionsPerSecond, seconds), maxDecisionSeconds);
  const loop = { perSecond: decisionsPerSecond, seconds: decisionSeconds };
  const keys: string[] = [];
  for (let n = 0; n < callsOf(loop) * (options.rounds + 1); n += approvalsOfKey)
    keys.push(await nodes.admin.newKey(env));
  const plan = {
    origins: { request: c.url, decide: a.url, stream: b.url },
    env,
    keys,
    cookie: nodes.admin.cookie(),
    ...loop,
  };
  const { redisUrl, mongoUrl } = services;
  const parts = { nodes, redisUrl, mongoUrl, streams: clients.streams, bare: clients.bare };
  const fleet = new ClusterFleet({ ...parts, key: await nodes.admin.newKey() }, options);
  report(`opening ${agents} streams`, 0);
  const costs = await fleet.open();
  await clients.approver.decisions({ ...plan, seconds: Math.min(1, seconds) });
  const deployments: MeasuredDeployment[] = [];
  const pids = clientPids(clients);
  const rounds = await runOpenRounds(options, {
    async measureHub() {
      const decision = await measureSample(clusterPids(pids), pids, () => clients.approver.decisions(plan));
      await delay(Math.max(0, seconds - loop.seconds) * 1000);
      const endUsage = startUsage(clusterPids(pids), pids);
      const deployment = await fleet.deploy();
      deployments.push({ ...deployment, usage: endUsage() });
      return { decision };
    },
    measureBound: async () => ({
      decision: await clients.bounds.hops({ mongoUrl, redisUrl, ...loop }),
    }),
  });
  return openScenario(options, rounds, {
    name: 'cluster',
    parameters: {
      nodes: maxNodes,
      agents,
      seconds,
      per_second: decisionsPerSecond,
      frame_bytes: options.frame,
    },
    figures: [...clusterFigures(rounds, deployments, agents), ...fleetFigures(costs, maxNodes)],
  });
}

export async function runCluster(options: RunOptions): Promise<Scenario> {
  options.report('starting MongoDB and Redis', 0);
  const services = await startServices();
  const clients: Clients = {
    loader: new Loader(),
    approver: new Approver(),
    bounds: new ClusterBounds(),
    streams: Array.from({ length: maxNodes }, () => new StreamClient()),
    bare: new BareFleet(maxNodes),
  };
  try {
    const ingest = await measureIngests(services, clients, options);
    // The module collects garbage before memory is measured.
    const nodes = await startNodes(options.hub, services, maxNodes, options, ['count']);
    try {
      const scenario = await runOn(services, nodes, clients, options);
      const limit = scenario.limited_by;
      return {
        ...scenario,
        limited_by: limit === 'none' && ingest.hasOthers ? 'others' : limit,
        figures: [...scenario.figures, ...ingest.figures],
      };
    } finally {
      await nodes.stop();
    }
  } finally {
    const { streams, ...others } = clients;
    for (const client of [...streams, ...Object.values(others)]) client.stop();
    await services.stop();
  }
}

// All at once: agents hold streams, send events and request approvals, bundles are deployed, people read, and three
// consoles follow. Each round continues on the same hub, so memory and descriptors that grow show.
import { setTimeout as delay } from 'node:timers/promises';
import { batchSize } from '../batch.ts';
import { Approver } from '../suite/approver.ts';
import { BundleDeployer } from '../suite/bundles.ts';
import { consoleRequest } from '../suite/console-request.ts';
import { figureOf } from '../suite/figures.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { startUsage } from '../suite/machine.ts';
import type { OpenLoopResult } from '../suite/open-loop.ts';
import { Requester } from '../suite/requester.ts';
import type { Scenario, Target } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';
import { WriteAndHop, writeAndHopText } from './approval-bound.ts';
import { type Growth, growthFigures, startGrowth } from './growth.ts';
import { latencyFigure, openScenario, runOpenRounds, samplesAreDisturbed } from './open-rounds.ts';
import type { RunOptions } from './scenario.ts';

const consoles = 3;
const batchesPerSecond = 20;
const readsPerSecond = 10;
const decisionsPerSecond = 2;
const deploysOfRound = 3;
const frameBytes = 4096;
const connections = 32;
/** Shorter rounds measure how a new hub fills its caches, and have no targets. */
const leastTargetSeconds = 60;
/** In a minute, a new hub grows by 40 MiB, which is no leak. */
const leastGrowthSeconds = 600;
/** Three times the median of three short rounds on a quiet machine, 14 ms. */
const maxNewestMs = 45;
/** The same rounds took 16 to 20 ms with 500 agents; the part of an agent is twice that of `fanout`. */
const maxDeployMs = (agents: number): number => 50 + agents * 0.02;
/** A long run is for the hub. */
const maxBoundSeconds = 120;

interface Clients {
  readonly streams: StreamClient;
  readonly consoles: StreamClient;
  readonly loader: Loader;
  readonly approver: Approver;
  readonly requester: Requester;
  readonly bound: WriteAndHop;
}

/** All of them: a client that is left out counts as other work. */
const clientPids = (clients: Clients): readonly number[] =>
  Object.values(clients).map(({ pid }: Clients[keyof Clients]) => pid);

class MixedRun {
  readonly #hub: Hub;
  readonly #clients: Clients;
  readonly #options: RunOptions;
  readonly #setup: Awaited<ReturnType<typeof makeTenants>>;
  readonly #deployer: BundleDeployer;
  readonly #approvalKeys: readonly string[];
  /** Of each round: milliseconds until the last delivery of its deployments. */
  readonly deliveries: number[] = [];
  readonly growths: Growth[] = [];
  /** Of each round: reads that the hub refused, and that were tried again. */
  readonly refusals: number[] = [];

  constructor(
    hub: Hub,
    clients: Clients,
    options: RunOptions,
    setup: Awaited<ReturnType<typeof makeTenants>>,
    approvalKeys: readonly string[],
  ) {
    this.#hub = hub;
    this.#clients = clients;
    this.#options = options;
    this.#setup = setup;
    this.#approvalKeys = approvalKeys;
    this.#deployer = new BundleDeployer(setup.admin, setup.keys[0] ?? '');
  }

  async open(): Promise<void> {
    const { agents, rows, seed } = this.#options;
    const { loader, streams, consoles: consoleClient } = this.#clients;
    const { url: origin, port } = this.#hub;
    const maxBatches = Math.max(1, Math.ceil(rows / batchSize));
    const { keys, admin } = this.#setup;
    await loader.load({ type: 'closed', origin, keys, seed, connections, seconds: 36_000, maxBatches });
    await this.#deployer.deploy(frameBytes);
    await streams.open({ port, count: agents, request: this.#deployer.streamRequest() });
    const request = consoleRequest(admin.cookie(), origin);
    await consoleClient.open({ port, count: consoles, request, marker: '\r\n\r\n' });
  }

  async #deploy(): Promise<void> {
    const { streams } = this.#clients;
    const times: number[] = [];
    for (let n = 0; n < deploysOfRound; n++) {
      await delay((this.#options.seconds * 1000) / (deploysOfRound + 1));
      const send = await this.#deployer.prepare(frameBytes);
      const awaitLast = await streams.expect(frameBytes);
      const began = process.hrtime.bigint();
      const [last] = await Promise.all([awaitLast(), send()]);
      times.push(Number(last - began) / 1e6);
    }
    this.deliveries.push(medianOf(times));
  }

  async measure(n: number) {
    const { loader, approver, requester } = this.#clients;
    const { pid, url: origin } = this.#hub;
    const { seconds, seed } = this.#options;
    const { keys, admin } = this.#setup;
    const order = { origin, seconds, seed: seed + 100 + n };
    const headers = { Cookie: admin.cookie() };
    const endUsage = startUsage(pid, clientPids(this.#clients));
    const endGrowth = startGrowth(this.#hub, seconds);
    const [answer, decision, newest] = await Promise.all([
      loader.load({ type: 'open', ...order, keys, batchesPerSecond }),
      approver.decisions({
        origins: { request: origin, decide: origin, stream: origin },
        env: 'production',
        keys: this.#approvalKeys,
        cookie: admin.cookie(),
        perSecond: decisionsPerSecond,
        seconds,
      }),
      requester.open({
        ...order,
        perSecond: readsPerSecond,
        calls: [{ method: 'GET', path: '/api/v1/events', headers }],
        onRefusal: 'retry',
      }),
      this.#deploy(),
    ]).finally(() => this.growths.push(endGrowth()));
    const usage = endUsage();
    this.refusals.push(newest.refused);
    const sampleOf = (result: OpenLoopResult) => ({ ...result, usage });
    return { answer: sampleOf(answer), decision: sampleOf(decision), newest: sampleOf(newest) };
  }
}

async function runOn(hub: Hub, clients: Clients, options: RunOptions) {
  const { seconds, agents, rows, report } = options;
  const setup = await makeTenants(hub, 1);
  const approvalKeys = [await setup.admin.newKey(), await setup.admin.newKey()];
  const run = new MixedRun(hub, clients, options, setup, approvalKeys);
  report(`storing ${rows} events, opening ${agents} streams`, 0);
  await run.open();
  const boundLoop = { perSecond: decisionsPerSecond, seconds: Math.min(seconds, maxBoundSeconds) };
  const rounds = await runOpenRounds(options, {
    measureHub: (n) => run.measure(n),
    measureBound: async () => ({
      decision: await clients.bound.measure({ ...boundLoop, writes: 1, folder: hub.dataFolder }),
    }),
  });
  const isDisturbed = samplesAreDisturbed(rounds);
  const events = batchesPerSecond * batchSize;
  const isLong = seconds >= leastTargetSeconds;
  const targetOf = (at_most: number): { readonly target?: Target } =>
    isLong ? { target: { at_most, of: 'value' } } : {};
  return openScenario(options, rounds, {
    name: 'mixed',
    parameters: { agents, rows, seconds, consoles, events_per_second: events, frame_bytes: frameBytes },
    figures: [
      latencyFigure(rounds, {
        id: 'mixed.answer_p99',
        what: `answers to ${events} events/s beside all other work`,
        sample: 'answer',
        ...targetOf(100),
      }),
      latencyFigure(rounds, {
        id: 'mixed.decision_p99',
        what: "decision → the agent's stream beside all other work",
        sample: 'decision',
        bound: { name: 'decision', what: writeAndHopText },
        ...targetOf(40),
      }),
      latencyFigure(rounds, {
        id: 'mixed.newest_p99',
        what: 'the newest 100 events beside all other work',
        sample: 'newest',
        ...targetOf(maxNewestMs),
      }),
      figureOf({
        id: 'mixed.deploy_last',
        what: `deploying call → last delivery to ${agents} agents beside all other work`,
        unit: 'ms',
        better: 'lower',
        rounds: run.deliveries,
        ...targetOf(maxDeployMs(agents)),
        isDisturbed,
      }),
      figureOf({
        id: 'mixed.refused',
        what: 'reads that were refused, because too many ran, and tried again',
        unit: 'requests',
        better: 'lower',
        rounds: run.refusals,
      }),
      ...growthFigures(run.growths, seconds >= leastGrowthSeconds),
    ],
  });
}

export async function runMixed(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const clients: Clients = {
    streams: new StreamClient(),
    consoles: new StreamClient(),
    loader: new Loader(),
    approver: new Approver(),
    requester: new Requester(),
    bound: new WriteAndHop(),
  };
  try {
    return await runOn(hub, clients, options);
  } finally {
    for (const client of Object.values(clients)) client.stop();
    await hub.stop();
  }
}

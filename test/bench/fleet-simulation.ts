// A fleet in one environment on a virtual clock: the real owner, registry, bus and announcer, with streams that only
// count. Each minute a deployment reaches all agents, all report it, and 5 % leave and come back. Needs --expose-gc:
// node --expose-gc --conditions=reeve-source --import tsx test/bench/fleet-simulation.ts AGENTS MINUTES
import { createHash, randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { hubKinds } from '../../actors/kinds.ts';
import type { ActorPorts } from '../../actors/ports.ts';
import { agentKey, environmentKey, type HubKinds } from '../../actors/protocol.ts';
import { createActors } from '../../actors/runtime/system.ts';
import { createLocalBroadcast } from '../../adapters/local/broadcast.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { RuleSets } from '../../src/agent/rules/assignment.ts';
import { consoleFrames } from '../../src/http/live/console-frames.ts';
import type { PlacedFrame } from '../../src/http/live/encoded.ts';
import { Feed, type Follower } from '../../src/http/live/feed.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import { agentsOf } from '../../src/shared/frame.ts';
import { plainDeploy } from '../actors/hub.ts';
import { ManualClock, settled } from '../clock.ts';
import { aBundle, t0 } from '../conformance/fixtures.ts';
import { consoleAnnouncer } from '../frames.ts';
import { silentLog } from '../log.ts';

const env = 'production';
const leavingShare = 0.05;
/** Fewer than an actor's mailbox holds. */
const atOnce = 500;
const reportsAtOnce = 50;
const bundleName = 'fleet';
const minuteMs = 60_000;

class CountingStream implements Follower<CountingStream> {
  readonly agentId: string;
  lastOrder = 0;
  index = -1;
  nextOfAgent: CountingStream | null = null;
  previousOfAgent: CountingStream | null = null;
  /** Deployments that it was sent since it opened. */
  deployments = 0;

  constructor(agentId: string) {
    this.agentId = agentId;
  }

  take(placed: PlacedFrame): void {
    if (this.lastOrder >= placed.order) return;
    this.lastOrder = placed.order;
    if (placed.frame.type === 'contract_update') this.deployments++;
  }
}

/** After each minute. */
export interface FleetMinute {
  readonly connected: number;
  readonly current: number;
  /** Streams that lack a deployment of their time. */
  readonly missed: number;
  /** JavaScript heap and buffers that an agent takes, bytes. */
  readonly bytesOfAgent: number;
  /** Processor time of the minute's deployment, its reports and the agents that left and came back, milliseconds. */
  readonly processorMs: number;
  /** Timers that wait; asks and mailboxes have one each while they wait. */
  readonly timers: number;
  readonly activations: number;
}

function usedBytes(): number {
  for (let n = 0; n < 3; n++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function openHub(clock: ManualClock, tenantId: string) {
  const store = await openSqliteInline(':memory:');
  const secrets = createSecrets('a master secret for a simulation, long enough', { cost: 1024 });
  const broadcast = createLocalBroadcast({ clock, log: silentLog });
  const registrar: ActorPorts['registrar'] = {
    noteSeen: async (source, agentId) =>
      (await store.agents.noteSeen(source.tenantId, agentId, source.env, clock.now(), randomUUID()))
        .registration,
  };
  const actors = createActors<HubKinds, ActorPorts>({
    definitions: hubKinds,
    ports: {
      store,
      secrets,
      registrar,
      ruleSets: new RuleSets(),
      isGone: () => false,
      meters: createMeters(),
    },
    clock,
    announcer: consoleAnnouncer(broadcast),
    broadcast,
    log: silentLog,
  });
  const { publicKey, seed } = secrets.newSigningKey();
  const sealedSeed = secrets.seal('signing-key', seed);
  await store.signing.create({
    id: randomUUID(),
    tenantId,
    publicKey,
    sealedSeed,
    active: true,
    createdAt: t0,
  });
  const audience = agentsOf(tenantId, env);
  const feed = new Feed<CountingStream>(audience, () => consoleFrames('hex').resync(audience));
  await feed.follow({
    async follow(followedAudience, deliver, lost) {
      return broadcast.follow(followedAudience, (placed) => void deliver(placed), lost);
    },
  });
  return { store, broadcast, actors, feed };
}

class Fleet {
  readonly #clock: ManualClock;
  readonly #tenantId: string;
  readonly #hub: Awaited<ReturnType<typeof openHub>>;
  readonly #streams = new Map<string, CountingStream>();
  #deployments = 0;
  #hash = '';

  constructor(clock: ManualClock, tenantId: string, hub: Awaited<ReturnType<typeof openHub>>) {
    this.#clock = clock;
    this.#tenantId = tenantId;
    this.#hub = hub;
  }

  get #key(): string {
    return environmentKey(this.#tenantId, env);
  }

  async connect(agentId: string): Promise<void> {
    const { actors, feed } = this.#hub;
    const [connectionId, connectedAt] = [`c-${agentId}`, this.#clock.now()];
    const identity = { connectionId, keyId: 'key-1', node: 'node-1' };
    const policyVersion = this.#hash || null;
    const on = { api: 'console', loadsAny: false } as const;
    const stream = new CountingStream(agentId);
    stream.deployments = this.#deployments;
    this.#streams.set(agentId, stream);
    feed.add(stream);
    const body = { ...identity, requested: null, policyVersion, tags: {}, at: connectedAt, on };
    const key = agentKey(this.#tenantId, env, agentId);
    const { bundleName: followed } = await actors.ask('agent', key, 'connect', body);
    const notice = { ...identity, agentId, bundleName: followed, pinned: false, connectedAt, policyVersion };
    await actors.ask('environment', this.#key, 'join', { ...notice, transport: 'sse', api: on.api });
  }

  async leave(agentId: string): Promise<void> {
    const { actors, feed } = this.#hub;
    const stream = this.#streams.get(agentId);
    if (stream) feed.remove(stream);
    this.#streams.delete(agentId);
    const connectionId = `c-${agentId}`;
    await actors.ask('agent', agentKey(this.#tenantId, env, agentId), 'disconnect', { connectionId });
    await actors.ask('environment', this.#key, 'leave', { agentId, connectionId });
  }

  /** Resolves when all streams have had their turn. */
  async deploy(): Promise<void> {
    const { actors, store } = this.#hub;
    const yaml = Buffer.from(`kind: ContractBundle\n# ${++this.#deployments}\n`);
    this.#hash = createHash('sha256').update(yaml).digest('hex');
    const { tenantId, hash: revisionHash } = { tenantId: this.#tenantId, hash: this.#hash };
    const bundle = aBundle({ tenantId, name: bundleName, revisionHash, yaml, createdAt: this.#clock.now() });
    const { version } = await store.bundles.upload(bundle);
    const body = { id: randomUUID(), bundleName, version, deployedBy: 'ann@example.org', ...plainDeploy };
    await actors.ask('environment', this.#key, 'deploy', body);
    // A feed serves 250 streams in a turn of the event loop.
    for (let n = 0; n <= this.#streams.size / 250 + 1; n++) await settled();
  }

  /** All agents, in batches as ingested events yield them. */
  async report(): Promise<void> {
    const at = this.#clock.now();
    const reports = [...this.#streams.keys()].map((agentId) => ({
      agentId,
      bundleName: null,
      policyVersion: this.#hash,
      at,
    }));
    for (let n = 0; n < reports.length; n += reportsAtOnce) {
      const batch = { reports: reports.slice(n, n + reportsAtOnce) };
      await this.#hub.actors.ask('environment', this.#key, 'reportVersions', batch);
    }
  }

  async measure(emptyBytes: number, processorMs: number): Promise<FleetMinute> {
    const { connected, current } = await this.#hub.actors.ask('environment', this.#key, 'fleet', null);
    let missed = 0;
    for (const stream of this.#streams.values()) if (stream.deployments < this.#deployments) missed++;
    return {
      connected,
      current,
      missed,
      bytesOfAgent: (usedBytes() - emptyBytes) / this.#streams.size,
      processorMs,
      timers: this.#clock.pending,
      activations: this.#hub.actors.size,
    };
  }

  async stop(): Promise<void> {
    await this.#hub.actors.stop();
    await this.#hub.broadcast.close();
    await this.#hub.store.close();
  }
}

async function inTurns(ids: readonly string[], act: (id: string) => Promise<void>): Promise<void> {
  for (let n = 0; n < ids.length; n += atOnce) await Promise.all(ids.slice(n, n + atOnce).map(act));
}

/** @returns the state after each minute */
export async function simulateFleet(agents: number, minutes: number): Promise<readonly FleetMinute[]> {
  const [clock, tenantId] = [new ManualClock(t0), randomUUID()];
  const fleet = new Fleet(clock, tenantId, await openHub(clock, tenantId));
  try {
    await fleet.deploy();
    const emptyBytes = usedBytes();
    const ids = Array.from({ length: agents }, (_, n) => `agent-${n}`);
    await inTurns(ids, (id) => fleet.connect(id));
    const leaving = Math.ceil(agents * leavingShare);
    const states: FleetMinute[] = [];
    for (let minute = 0; minute < minutes; minute++) {
      const began = process.cpuUsage();
      await fleet.deploy();
      await fleet.report();
      const from = (minute * leaving) % agents;
      const leavers = ids.slice(from, from + leaving);
      await inTurns(leavers, (id) => fleet.leave(id));
      await clock.advanceAsync(minuteMs / 2, 1000);
      await inTurns(leavers, (id) => fleet.connect(id));
      await clock.advanceAsync(minuteMs / 2, 1000);
      const { user, system } = process.cpuUsage(began);
      states.push(await fleet.measure(emptyBytes, (user + system) / 1000));
    }
    return states;
  } finally {
    await fleet.stop();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [agents, minutes] = process.argv.slice(2).map(Number);
  const states = await simulateFleet(agents ?? 5000, minutes ?? 5);
  for (const state of states) process.stdout.write(`${JSON.stringify(state)}\n`);
}
